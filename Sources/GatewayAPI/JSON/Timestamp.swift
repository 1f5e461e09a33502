import FoundationEssentials
import GatewayCore
import Bytes

/// Instants in the form of RFC 3339, in UTC.
enum Timestamp {
    /// Room for the text of any instant, in bytes.
    static let room = 40

    /// Formats an instant as `yyyy-MM-ddTHH:mm:ssZ`, with milliseconds unless they are zero. They are rounded down, so
    /// that what happened then is found from the time that is shown.
    static func text(of instant: Date) -> String {
        String(room: room) { append(instant, to: &$0) }
    }

    /// Appends the text of an instant. The output needs ``room`` bytes.
    static func append(_ instant: Date, to output: inout OutputSpan<UInt8>) {
        // A number of seconds is not exact; PostgreSQL's times have microseconds.
        let microseconds = Int((instant.timeIntervalSince1970 * 1_000_000).rounded())
        let (milliseconds, _) = divide(microseconds, by: 1000)
        let (day, time) = divide(milliseconds, by: 86_400_000)
        let date = CivilDate(dayNumber: day)
        let (second, fraction) = time.quotientAndRemainder(dividingBy: 1000)
        append(year: max(0, date.year), to: &output)
        output.append(UInt8(ascii: "-"))
        output.append(twoDigits: date.month)
        output.append(UInt8(ascii: "-"))
        output.append(twoDigits: date.day)
        output.append(UInt8(ascii: "T"))
        output.append(twoDigits: second / 3600)
        output.append(UInt8(ascii: ":"))
        output.append(twoDigits: second / 60 % 60)
        output.append(UInt8(ascii: ":"))
        output.append(twoDigits: second % 60)
        if fraction != 0 {
            output.append(UInt8(ascii: "."))
            output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: fraction / 100))
            output.append(twoDigits: fraction % 100)
        }
        output.append(UInt8(ascii: "Z"))
    }

    /// Parses `yyyy-MM-ddTHH:mm:ss[.fraction]Z` in the years 1970…9999; no other time zone than `Z` is accepted. Digits
    /// after the milliseconds are left out: two instants that are shown alike would not be the same.
    static func instant(from text: String) throws(GatewayError) -> Date {
        let bytes = Array(text.utf8)
        guard 20...30 ~= bytes.count, bytes.last == UInt8(ascii: "Z"), bytes[10] == UInt8(ascii: "T"),
            bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            year >= 1970, hour < 24, minute < 60, second < 60,
            let date = CivilDate(year: year, month: month, day: day),
            let fraction = fraction(bytes[19..<(bytes.count - 1)])
        else {
            throw .invalidArgument(
                field: "time",
                reason: "The time must be in RFC 3339 format in UTC, such as 2030-01-31T23:59:59Z.")
        }
        let seconds = date.dayNumber * 86_400 + hour * 3600 + minute * 60 + second
        return Date(timeIntervalSince1970: Double(seconds) + fraction)
    }

    private static func fraction(_ bytes: ArraySlice<UInt8>) -> Double? {
        guard let first = bytes.first else { return 0 }
        let digits = bytes.dropFirst()
        guard first == UInt8(ascii: "."), number(digits) != nil, let shown = number(digits.prefix(3)) else {
            return nil
        }
        return digits.prefix(3).reduce(Double(shown)) { value, _ in value / 10 }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard !digits.isEmpty, digits.allSatisfy(ByteSet.digits.contains) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Appends a year, in at least four digits.
    private static func append(year: Int, to output: inout OutputSpan<UInt8>) {
        if year < 10_000 {
            output.append(twoDigits: year / 100)
            output.append(twoDigits: year % 100)
        } else {
            output.append(decimal: Int64(year))
        }
    }

    private static func divide(_ value: Int, by divisor: Int) -> (Int, Int) {
        let quotient = (value - (value < 0 ? divisor - 1 : 0)) / divisor
        return (quotient, value - quotient * divisor)
    }
}

import Bytes

/// The instant of a signature, in whole seconds, and its formats in the schemes.
///
/// The calendar is the proleptic Gregorian one in UTC, without leap seconds, from 1970 to the end of year 9999.
public struct SigningInstant: Sendable, Hashable, Comparable {
    /// The instants whose year has four digits.
    static let validEpochSeconds: ClosedRange<Int64> = 0...253_402_300_799

    /// Seconds since 1970-01-01T00:00:00Z.
    public let epochSeconds: Int64

    /// Takes seconds since 1970; `nil` outside ``validEpochSeconds``.
    public init?(epochSeconds: Int64) {
        guard Self.validEpochSeconds.contains(epochSeconds) else { return nil }
        self.epochSeconds = epochSeconds
    }

    /// Takes seconds since 1970, limited to ``validEpochSeconds``.
    public init(clampingEpochSeconds seconds: Int64) {
        epochSeconds = min(max(seconds, Self.validEpochSeconds.lowerBound), Self.validEpochSeconds.upperBound)
    }

    /// Takes a UTC date and time of day; `nil` when the day or time does not exist or lies before 1970.
    public init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard (1970...9999).contains(year), let date = CivilDate(year: year, month: month, day: day),
            (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second)
        else { return nil }
        epochSeconds = Int64(((date.dayNumber * 24 + hour) * 60 + minute) * 60 + second)
    }

    /// Reads `YYYYMMDDTHHMMSSZ`; `nil` for anything else.
    public init?(basic text: String) {
        self.init(text, pattern: "YYYYMMDDThhmmssZ")
    }

    /// Reads `YYYY-MM-DDTHH:MM:SSZ`; `nil` for anything else.
    public init?(extended text: String) {
        self.init(text, pattern: "YYYY-MM-DDThh:mm:ssZ")
    }

    /// `YYYYMMDDTHHMMSSZ`.
    public var basic: String { text(dateSeparator: "", timeSeparator: "") }

    /// `YYYY-MM-DDTHH:MM:SSZ`.
    public var extended: String { text(dateSeparator: "-", timeSeparator: ":") }

    private func text(dateSeparator: StaticString, timeSeparator: StaticString) -> String {
        let date = CivilDate(dayNumber: dayNumber)
        let second = Int(epochSeconds % 86_400)
        return String(room: 20) { output in
            func append(_ number: Int, _ end: StaticString) {
                output.append(UInt8(ascii: "0") + UInt8(number / 10))
                output.append(UInt8(ascii: "0") + UInt8(number % 10))
                output.append(copying: end)
            }
            append(date.year / 100, "")
            append(date.year % 100, dateSeparator)
            append(date.month, dateSeparator)
            append(date.day, "T")
            append(second / 3600, timeSeparator)
            append(second / 60 % 60, timeSeparator)
            append(second % 60, "Z")
        }
    }

    /// `YYYYMMDD`.
    public var day: String {
        String(basic.prefix(8))
    }

    /// Days since 1970-01-01.
    public var dayNumber: Int {
        Int(epochSeconds / 86_400)
    }

    /// The instant that many seconds later, or earlier for a negative number; `nil` outside ``validEpochSeconds``.
    public func advanced(bySeconds seconds: Int) -> SigningInstant? {
        let (sum, overflow) = epochSeconds.addingReportingOverflow(Int64(seconds))
        return overflow ? nil : SigningInstant(epochSeconds: sum)
    }

    /// Orders by time.
    public static func < (left: SigningInstant, right: SigningInstant) -> Bool {
        left.epochSeconds < right.epochSeconds
    }

    /// Number of bytes of ``time``.
    static let timeByteCount = 7

    /// The basic format after its `T`: `HHMMSSZ`.
    var time: [UInt8] {
        let second = Int(epochSeconds % 86_400)
        return [second / 3600, second / 60 % 60, second % 60].flatMap(Self.twoDigits) + "Z".utf8
    }

    private static func twoDigits(_ number: Int) -> [UInt8] {
        [UInt8(ascii: "0") + UInt8(number / 10), UInt8(ascii: "0") + UInt8(number % 10)]
    }

    private init?(_ text: String, pattern: StaticString) {
        let form = Array("\(pattern)".utf8)
        let bytes = Array(text.utf8)
        guard bytes.count == form.count else { return nil }
        var fields: [UInt8: Int] = [:]
        for (byte, place) in zip(bytes, form) {
            if "YMDhms".utf8.contains(place) {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                fields[place, default: 0] = fields[place, default: 0] * 10 + Int(byte - UInt8(ascii: "0"))
            } else if byte != place {
                return nil
            }
        }
        func field(_ letter: Unicode.Scalar) -> Int { fields[UInt8(ascii: letter), default: 0] }
        self.init(
            year: field("Y"), month: field("M"), day: field("D"),
            hour: field("h"), minute: field("m"), second: field("s")
        )
    }
}

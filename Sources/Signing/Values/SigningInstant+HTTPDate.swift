import Bytes

extension SigningInstant {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The date in HTTP's preferred format, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
    public var httpDate: String {
        let digits = Array(basic.utf8)
        func field(_ range: Range<Int>) -> String { String(decoding: digits[range], as: UTF8.self) }
        let month = Int(field(4..<6)).map { Self.months[$0 - 1] } ?? ""
        let time = "\(field(9..<11)):\(field(11..<13)):\(field(13..<15))"
        return "\(Self.weekdays[dayNumber % 7]), \(field(6..<8)) \(month) \(field(0..<4)) \(time) GMT"
    }

    /// Reads exactly what ``httpDate`` writes; `nil` for anything else, including a wrong weekday.
    public init?(httpDate text: String) {
        guard text.utf8.count == 29, text.utf8.suffix(4).elementsEqual(" GMT".utf8) else { return nil }
        self.init(localDate: text.utf8.dropLast(4))
    }

    /// Reads the same format with `GMT` at the end or, as old clients write it, the offset of a time zone: `+0900`. No
    /// zone is less than an hour off, and stores written in Go take `+0023` for the name of one that is not off at all.
    init?(zonedDate text: String) {
        if let instant = SigningInstant(httpDate: text) {
            self = instant
            return
        }
        let zone = Array(text.utf8.suffix(6))
        guard text.utf8.count == 31, zone[0] == UInt8(ascii: " "), "+-".utf8.contains(zone[1]),
            let hours = Self.number(zone[2..<4]), let minutes = Self.number(zone[4..<6]), hours <= 14, minutes < 60,
            hours > 0 || minutes == 0,
            let local = SigningInstant(localDate: text.utf8.dropLast(6)),
            case let offset = (hours * 60 + minutes) * 60,
            let instant = local.advanced(bySeconds: zone[1] == UInt8(ascii: "+") ? -offset : offset)
        else { return nil }
        self = instant
    }

    /// Reads `Sun, 06 Nov 1994 08:49:37`.
    private init?(localDate text: some Collection<UInt8>) {
        let bytes = Array(text)
        guard bytes.count == 25, bytes[3...4].elementsEqual(", ".utf8),
            [7, 11, 16].allSatisfy({ bytes[$0] == UInt8(ascii: " ") }),
            [19, 22].allSatisfy({ bytes[$0] == UInt8(ascii: ":") }),
            let day = Self.number(bytes[5..<7]), let year = Self.number(bytes[12..<16]),
            let hour = Self.number(bytes[17..<19]), let minute = Self.number(bytes[20..<22]),
            let second = Self.number(bytes[23..<25]),
            let month = Self.months.firstIndex(where: { $0.utf8.elementsEqual(bytes[8..<11]) }),
            let instant = SigningInstant(
                year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second),
            Self.weekdays[instant.dayNumber % 7].utf8.elementsEqual(bytes[0..<3])
        else { return nil }
        self = instant
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard digits.allSatisfy(ByteSet.digits.contains) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}

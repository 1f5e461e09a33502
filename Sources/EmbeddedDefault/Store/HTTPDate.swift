import Signing

/// Dates of HTTP in their one current form, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
enum HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Writes an instant.
    static func text(of instant: SigningInstant) -> String {
        let digits = Array(instant.basic)
        func field(_ range: Range<Int>) -> String { String(digits[range]) }
        let month = Int(field(4..<6)).map { months[$0 - 1] } ?? ""
        let weekday = weekdays[instant.dayNumber % 7]
        let time = "\(field(9..<11)):\(field(11..<13)):\(field(13..<15))"
        return "\(weekday), \(field(6..<8)) \(month) \(field(0..<4)) \(time) GMT"
    }

    /// Reads an instant; `nil` for any other form.
    static func instant(from text: String) -> SigningInstant? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])) else {
            return nil
        }
        let numbers = ([words[1], words[3]] + words[4].split(separator: ":")).compactMap { Int($0) }
        guard numbers.count == 5 else { return nil }
        return SigningInstant(
            year: numbers[1], month: month + 1, day: numbers[0], hour: numbers[2], minute: numbers[3],
            second: numbers[4])
    }
}

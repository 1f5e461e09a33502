import Foundation
import GatewayCore
import Testing

@testable import GatewayAPI

@Suite("RFC 3339 times")
struct TimestampTests {
    // Source: `date -u -d @N +%FT%TZ` of GNU coreutils.
    static let known: [(Double, String)] = [
        (0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"), (1_900_000_000, "2030-03-17T17:46:40Z"),
        (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"), (1_582_934_400, "2020-02-29T00:00:00Z"),
    ]

    @Test("are written and read in UTC", arguments: known)
    func roundTrip(seconds: Double, text: String) throws {
        #expect(Timestamp.text(of: Date(timeIntervalSince1970: seconds)) == text)
        #expect(try Timestamp.instant(from: text) == Date(timeIntervalSince1970: seconds))
    }

    @Test("keep milliseconds")
    func fractions() throws {
        #expect(Timestamp.text(of: Date(timeIntervalSince1970: 1.25)) == "1970-01-01T00:00:01.250Z")
        #expect(try Timestamp.instant(from: "1970-01-01T00:00:01.25Z") == Date(timeIntervalSince1970: 1.25))
        #expect(Timestamp.text(of: Date(timeIntervalSince1970: -1)) == "1969-12-31T23:59:59Z")
    }

    /// From the time that is shown, what happened then is found.
    @Test("show no time that has not come yet", arguments: [0.000_001, 0.000_4, 0.000_5, 0.000_999])
    func roundedDown(further: Double) {
        #expect(Timestamp.text(of: Date(timeIntervalSince1970: 1_900_000_000.25 + further)).hasSuffix(".250Z"))
        #expect(Timestamp.text(of: Date(timeIntervalSince1970: 1_900_000_000 + further)).hasSuffix(":40Z"))
    }

    /// Two instants that are shown alike are the same.
    @Test("leave out what is not shown", arguments: ["1231", "1239", "123999999", "123"])
    func microseconds(digits: String) throws {
        let instant = try Timestamp.instant(from: "2031-01-01T00:00:00.\(digits)Z")
        #expect(Timestamp.text(of: instant) == "2031-01-01T00:00:00.123Z")
        #expect(try instant == Timestamp.instant(from: "2031-01-01T00:00:00.123Z"))
    }

    @Test(
        "of another form or no day of the calendar are refused",
        arguments: [
            "", "2030-01-01", "2030-01-01T00:00:00", "2030-01-01T00:00:00+00:00", "2030-01-01t00:00:00Z",
            "2030-02-29T00:00:00Z", "2030-13-01T00:00:00Z", "2030-00-01T00:00:00Z", "2030-01-00T00:00:00Z",
            "2030-01-32T00:00:00Z", "2030-01-01T24:00:00Z", "2030-01-01T00:60:00Z", "2030-01-01T00:00:60Z",
            "2030-01-01T00:00:00.Z", "2030-01-01T00:00:00,5Z", "2030-01-01T00:00:00.1234567890123Z",
            "１９99-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2030-01-01 00:00:00Z", "-030-01-01T00:00:00Z",
        ]
    )
    func refused(text: String) {
        #expect(throws: GatewayError.self) { try Timestamp.instant(from: text) }
    }
}

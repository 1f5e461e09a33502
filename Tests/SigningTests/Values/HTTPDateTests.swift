import Testing

@testable import Signing

@Suite("Dates of HTTP")
struct HTTPDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ])
    func areWrittenAsTheyAreRead(text: String, epochSeconds: Int64) throws {
        let instant = try #require(SigningInstant(httpDate: text))
        #expect(instant.epochSeconds == epochSeconds)
        #expect(instant.httpDate == text)
    }

    @Test(arguments: [
        "", "Sun, 06 Nov 1994 08:49:37", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Mon, 06 Nov 1994 08:49:37 GMT", "sun, 06 nov 1994 08:49:37 gmt", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49:60 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov +994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37\u{A0}GMT", "Wed, 31 Dec 1969 23:59:59 GMT",
        "Sun Nov  6 08:49:37 1994",
    ])
    func noOtherDateIsRead(text: String) {
        #expect(SigningInstant(httpDate: text) == nil)
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sun, 06 Nov 1994 08:49:37 +0000", 784_111_777),
        ("Sun, 06 Nov 1994 17:49:37 +0900", 784_111_777), ("Sat, 05 Nov 1994 23:19:37 -0930", 784_111_777),
    ])
    func zonesOfOldClientsAreRead(text: String, epochSeconds: Int64) {
        #expect(SigningInstant(zonedDate: text)?.epochSeconds == epochSeconds)
    }

    @Test(arguments: [
        "", "Sun, 06 Nov 1994 08:49:37 0900", "Sun, 06 Nov 1994 08:49:37 +9900", "Sun, 06 Nov 1994 08:49:37 +0960",
        "Sun, 06 Nov 1994 08:49:37 +09:00", "Sun, 06 Nov 1994 08:49:37 +0a00", "Thu, 01 Jan 1970 00:00:00 +0100",
        "Sun, 06 Nov 1994 08:49:37 --000", "Sun, 06 Nov 1994 08:49:37 +0001", "Sun, 06 Nov 1994 08:49:37 -0023",
    ])
    func noOtherZoneIsRead(text: String) {
        #expect(SigningInstant(zonedDate: text) == nil)
    }
}

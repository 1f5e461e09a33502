import Foundation
import Signing
import TestSupport
import Testing

@Suite("Signing instant")
struct SigningInstantTests {
    @Test(arguments: [
        (0, "19700101T000000Z"), (951_782_399, "20000228T235959Z"), (951_782_400, "20000229T000000Z"),
        (951_868_800, "20000301T000000Z"), (1_369_353_600, "20130524T000000Z"), (1_709_164_800, "20240229T000000Z"),
        (4_107_542_399, "21000228T235959Z"), (4_107_542_400, "21000301T000000Z"),
        (253_402_300_799, "99991231T235959Z"),
    ])
    func writesAndReadsTheDate(epochSeconds: Int64, basic: String) throws {
        let instant = try #require(SigningInstant(epochSeconds: epochSeconds))
        #expect(instant.basic == basic)
        #expect(instant.day == basic.prefix(8))
        #expect(SigningInstant(basic: basic) == instant)
    }

    @Test func agreesWithFoundationOnEveryDay() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        var random = SeededGenerator(seed: 7)
        for day in stride(from: Int64(0), to: 2_932_896, by: 97) {
            let epochSeconds = day * 86_400 + Int64.random(in: 0..<86_400, using: &random)
            let parts = calendar.dateComponents(
                [.year, .month, .day, .hour, .minute, .second],
                from: Date(timeIntervalSince1970: TimeInterval(epochSeconds))
            )
            let instant = SigningInstant(
                year: parts.year ?? 0, month: parts.month ?? 0, day: parts.day ?? 0,
                hour: parts.hour ?? 0, minute: parts.minute ?? 0, second: parts.second ?? 0
            )
            try #require(instant?.epochSeconds == epochSeconds)
            try #require(SigningInstant(basic: instant?.basic ?? "") == instant)
        }
    }

    @Test func refusesInstantsThatFourDigitsCannotWrite() {
        #expect(SigningInstant(epochSeconds: -1) == nil)
        #expect(SigningInstant(epochSeconds: 253_402_300_800) == nil)
        let last = SigningInstant(epochSeconds: 253_402_300_799)
        #expect(last?.advanced(bySeconds: 1) == nil)
        #expect(last?.advanced(bySeconds: .max) == nil)
        #expect(last?.advanced(bySeconds: -1)?.basic == "99991231T235958Z")
    }

    @Test(arguments: [
        "20230229T000000Z", "21000229T000000Z", "20240431T000000Z", "20240001T000000Z", "20241301T000000Z",
        "20240100T000000Z", "20240101T240000Z", "20240101T006000Z", "20240101T000060Z", "19691231T235959Z",
        "20240101T000000", "20240101T000000z", "20240101 000000Z", "2024-0101T00000Z", "+0240101T000000Z", "",
        "2024010１T00000Z", "20240101T000000Z ",
    ])
    func refusesWhatIsNoTime(text: String) {
        #expect(SigningInstant(basic: text) == nil)
    }

    @Test func readsTheExtendedForm() {
        #expect(SigningInstant(extended: "2024-05-17T08:30:00Z")?.basic == "20240517T083000Z")
        for text in [
            "2024-05-17T08:30:00+00:00", "2024-05-17", "2024-05-17T08:30Z", "20240517T083000Z",
            "2024-05-17T08:30:00.0Z",
        ] {
            #expect(SigningInstant(extended: text) == nil)
        }
    }
}

import Foundation
import Testing

@testable import DevStack

/// Who comes, and when, in the demo's week.
@Suite struct WeekTests {
    private static let end = Date(timeIntervalSince1970: 1_900_000_000)

    private func visits(seed: UInt64, to end: Date = Self.end) -> [WeekVisit] {
        WeekVisit.all(from: end.addingTimeInterval(-7 * 86_400), to: end, by: Dice(seed: seed))
    }

    @Test func `the same seed gives the same week, and another one another`() {
        let first = visits(seed: 1)
        #expect(first.map(\.at) == visits(seed: 1).map(\.at))
        #expect(first.map(\.person.name) == visits(seed: 1).map(\.person.name))
        #expect(first.map(\.at) != visits(seed: 2).map(\.at))
        // Reference values of SplitMix64 for the seed 1234567.
        let dice = Dice(seed: 1_234_567)
        #expect(dice.next() == 6_457_827_717_110_365_317)
        #expect(dice.next() == 3_203_168_211_198_807_973)
    }

    @Test func `thirty people of six groups and some strangers come, by day more than by night, until the end`() {
        let visits = visits(seed: 1)
        #expect(zip(visits, visits.dropFirst()).allSatisfy { $0.at <= $1.at })
        #expect(visits.allSatisfy { $0.at < Self.end && $0.at >= Self.end.addingTimeInterval(-7 * 86_400) })
        let names = Set(visits.map(\.person.name))
        #expect(names.count == 32 && WeekPerson.all.count == 30)
        func count(_ hours: Range<Int>) -> Int {
            visits.count { hours.contains(Int($0.at.timeIntervalSince1970) % 86_400 / 3600) }
        }
        #expect(count(9..<12) > 10 * count(2..<5))
        let isSaturday: (WeekVisit) -> Bool = { Int($0.at.timeIntervalSince1970) / 86_400 % 7 == 2 }
        let editors = visits.filter { $0.person.group == .editors }
        #expect(editors.count(where: isSaturday) * 2 < editors.count / 6)
        #expect(visits.count { $0.at > Self.end.addingTimeInterval(-600) } >= 5)
    }

    @Test(arguments: [1, 30, 300]) func `the last visits are on the last day, however young it is`(seconds: Int) {
        let midnight = Date(timeIntervalSince1970: 21_990 * 86_400)
        let visits = visits(seed: 1, to: midnight.addingTimeInterval(TimeInterval(seconds)))
        let names = Set(visits.filter { $0.at >= midnight }.map(\.person.name))
        #expect(names.isSuperset(of: ["amara", "farah", "priya", "kofi", "rosa"]))
    }
}

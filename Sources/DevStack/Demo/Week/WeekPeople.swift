import FoundationEssentials
import GatewayCore

/// A group of people of the demo's week, who do the same work.
enum WeekGroup: String, CaseIterable, Sendable {
    case photographers, editors, analysts, mobile, partners, operations

    /// The group's principal.
    var principal: String { "group:\(rawValue)" }

    /// The names of its members.
    var members: [String] {
        switch self {
        case .photographers: ["amara", "bruno", "chiyo", "dmitri", "elif"]
        case .editors: ["farah", "gustav", "hana", "ines", "jonas"]
        case .analysts: ["kofi", "lena", "marek", "nadia", "oscar"]
        case .mobile: ["priya", "quentin", "rosa", "stefan", "tomas", "uma", "viktor", "wanda"]
        case .partners: ["acme-print", "northlight", "papyrus", "quarry"]
        case .operations: ["nightly-export", "xenia", "yusuf"]
        }
    }

    /// How often a member comes on a working day.
    var visitsPerDay: Double {
        switch self {
        case .photographers: 7
        case .editors: 15
        case .analysts: 8
        case .mobile: 12
        case .partners: 4
        case .operations: 1
        }
    }

    /// What remains of that on a Saturday or Sunday.
    var weekendShare: Double {
        switch self {
        case .mobile: 1.3
        case .operations: 1
        default: 0.3
        }
    }

    /// How the visits are spread over the hours of a day (UTC).
    var hours: [Double] {
        switch self {
        case .mobile:
            [2, 1, 0, 0, 0, 1, 3, 6, 7, 5, 4, 5, 7, 6, 4, 4, 5, 7, 10, 12, 13, 11, 7, 4]
        case .operations:
            [0, 0, 0, 0, 0, 0, 1, 5, 6, 2, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        default:
            [0.2, 0.1, 0.1, 0.1, 0.2, 0.5, 2, 5, 9, 12, 13, 11, 7, 9, 12, 11, 9, 6, 3, 2, 1, 0.7, 0.4, 0.3]
        }
    }
}

/// Somebody who asks the gateway for links in the demo's week.
struct WeekPerson: Sendable {
    let name: String
    /// `nil` for somebody who is in no group.
    let group: WeekGroup?
    /// How busy the person is, compared with the others of the group.
    let zeal: Double
    let address: IPAddress?

    /// The person as a principal.
    var principal: String { "user:\(name)" }

    /// Everybody in a group. The addresses are those that RFC 5737 sets aside for examples.
    static let all: [WeekPerson] = WeekGroup.allCases.flatMap { group in
        group.members.enumerated().map { place, name in
            let host = 10 * (WeekGroup.allCases.firstIndex(of: group) ?? 0) + place + 1
            return WeekPerson(
                name: name, group: group, zeal: [1.5, 0.9, 1.2, 0.6, 0.8][place % 5],
                address: IPAddress("\(group == .partners ? "198.51.100" : "203.0.113").\(host)"))
        }
    }

    /// People who may do nothing, and try.
    static let strangers = ["mallory", "old-laptop"].enumerated().map { place, name in
        WeekPerson(name: name, group: nil, zeal: 1, address: IPAddress("192.0.2.\(66 + place)"))
    }
}

/// When somebody comes.
struct WeekVisit: Sendable {
    let at: Date
    let person: WeekPerson

    /// Returns all visits between two instants, by time.
    static func all(from start: Date, to end: Date, by dice: Dice) -> [WeekVisit] {
        var visits: [WeekVisit] = []
        let day: TimeInterval = 86_400
        let first = (start.timeIntervalSince1970 / day).rounded(.down)
        let last = (end.timeIntervalSince1970 / day).rounded(.down)
        for number in stride(from: first, through: last, by: 1) {
            // Day 0 of Unix time was a Thursday.
            let isWeekend = [2, 3].contains(Int(number) % 7)
            for person in WeekPerson.all + WeekPerson.strangers {
                let share = isWeekend ? person.group?.weekendShare ?? 1 : 1
                let mean = person.name == "nightly-export" ? 0 : (person.group?.visitsPerDay ?? 4) * person.zeal * share
                let count = Int((mean * (0.7 + 0.6 * dice.fraction())).rounded())
                for _ in 0..<count {
                    let hour = dice.index(weights: (person.group ?? .mobile).hours)
                    let seconds = (Double(hour) + dice.fraction()) * 3600
                    visits.append(WeekVisit(at: Date(timeIntervalSince1970: number * day + seconds), person: person))
                }
                if person.name == "nightly-export" {
                    visits.append(WeekVisit(at: Date(timeIntervalSince1970: number * day + 7_500), person: person))
                }
            }
        }
        // Some links are still alive at the end, at whatever hour that is, and count for the day and month of the end.
        let dayOfEnd = Date(timeIntervalSince1970: last * day)
        for name in ["amara", "farah", "priya", "kofi", "rosa"] {
            let at = max(end.addingTimeInterval(-60 - 500 * dice.fraction()), dayOfEnd)
            visits += WeekPerson.all.filter { $0.name == name }.map { WeekVisit(at: at, person: $0) }
        }
        return visits.filter { $0.at >= start && $0.at < end }.sorted { $0.at < $1.at }
    }
}

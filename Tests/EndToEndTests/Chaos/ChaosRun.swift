import Foundation
import TestSupport

/// One run: a schedule is carried out on a world while clients ask, and the result is a history to judge.
enum ChaosRun {
    /// Seconds within which a gateway must answer, as set in its configuration.
    static let deadline = 5
    static var settings: [String: String] {
        AskingGround.settings.merging(["SLUICE_HTTP_ANSWER_DEADLINE": "\(deadline)"]) { $1 }
    }

    private static let clients = 12
    /// Minimum number of requests in a run, however slow the machine is, so that there is something to judge.
    private static let leastAsks = 300

    /// Carries out a schedule at a site with three gateways.
    static func history(of schedule: Schedule, at site: Deployment) async throws -> History {
        let world = try await World.make(at: site, limit: max(8, Int(schedule.seconds * 5)))
        let isOver = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await onThreads(clients) { try Client($0, of: schedule.seed, in: world).run(until: isOver) }
            }
            group.addTask {
                try await onThreads(World.admins) {
                    try Admin($0, of: schedule.seed, in: world).run(schedule.steps[$0], until: isOver)
                }
            }
            group.addTask {
                defer { isOver.raise() }
                try await world.befall(schedule.faults)
                try await Task.sleep(for: .seconds(max(0, schedule.seconds - world.recorder.now)))
                try await waitUntil("enough was asked") { world.recorder.askCount >= leastAsks }
                try await world.awaitRevival()
            }
            try await group.waitForAll()
        }
        var history = world.recorder.history
        history.deadline = Double(deadline)
        try await history.read(from: site)
        return history
    }

    /// The seed of a run: the one in the environment, or a random one.
    static var seed: UInt64 {
        let said = ProcessInfo.processInfo.environment["SLUICE_TEST_SEED"]
        return said.flatMap { UInt64($0) } ?? .random(in: 0..<1 << 32)
    }
}

extension History {
    /// Counts of what happened.
    var summary: String {
        let issued = asks.map(\.given.count).reduce(0, +)
        let refused = Dictionary(grouping: asks.flatMap(\.refusals)) { "\($0.status) \($0.code)" }.mapValues(\.count)
        let lost = asks.count { if case .lost = $0.reply { true } else { false } }
        let ways = Dictionary(grouping: asks) { $0.way }.mapValues { $0.map(\.given.count).reduce(0, +) }
        return """
            \(asks.count) asks, \(issued) issued, \(lost) lost, \(ledger.count) rows, \(changes.count) changes, \
            \(incidents.count) incidents; refused \(refused.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }); \
            issued \(ways.map { "\($0.value) \($0.key.rawValue)" }.sorted())
            """
    }
}

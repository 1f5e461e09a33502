import PostgresTesting
import Synchronization
import Testing

extension LoadTests {
    /// Three gateways on one database, with kills, stops, cuts and changes of policy drawn from a seed. The test
    /// compares what clients and admins saw with the final state of the database.
    @Suite struct ChaosTests {
        private static let seconds = Double(setting("SLUICE_TEST_CHAOS", default: 4))
        private static let isLong = seconds >= 30

        @Test func `every promise is kept through faults`() async throws {
            // Killing and restarting a database takes long.
            let kinds = Schedule.Kind.allCases.filter { Self.isLong || $0 != .database }
            let schedule = Schedule(seed: ChaosRun.seed, seconds: Self.seconds, kinds: kinds)
            try await Self.judge(schedule) { history, found in
                #expect(found.isEmpty, "SLUICE_TEST_SEED=\(schedule.seed) \(Self.excerpt(found)) \(history.summary)")
                #expect(history.asks.flatMap(\.given).count > 100, "\(history.summary)")
                print("\(found.count) flaws, SLUICE_TEST_SEED=\(schedule.seed) \(history.summary)")
            }
        }

        /// The number of violations of each rule, with the first few of each.
        private static func excerpt(_ found: [Checker.Violation]) -> String {
            Dictionary(grouping: found, by: \.rule).map { rule, found in
                "\(found.count) × \(rule.rawValue): \(found.prefix(4).map(\.text).joined(separator: "; "))"
            }.joined(separator: "; ")
        }

        /// A checker that never reports a violation proves nothing. What breaks only in a race may need another run.
        @Test func `a build that breaks promises is convicted of each`() async throws {
            var breaks: [Sabotage] = [.lock, .room, .row, .once]
            for attempt in 0..<3 where !breaks.isEmpty {
                let schedule = Schedule(seed: ChaosRun.seed &+ UInt64(attempt), seconds: 1.5, kinds: [])
                breaks = try await Self.unproved(breaks, in: schedule)
            }
            #expect(breaks.isEmpty, "SLUICE_TEST_SEED=\(ChaosRun.seed)")
        }

        /// Returns the breaks that a run does not prove.
        private static func unproved(_ breaks: [Sabotage], in schedule: Schedule) async throws -> [Sabotage] {
            let left = Mutex(breaks)
            try await judge(schedule, breaks) { _, found in
                for sabotage in breaks {
                    let proofs = found.filter { sabotage.isProved(by: $0) }
                    print("\(sabotage.rawValue): \(proofs.count) proofs, SLUICE_TEST_SEED=\(schedule.seed)")
                    if !proofs.isEmpty { left.withLock { $0.removeAll { $0 == sabotage } } }
                }
            }
            return left.withLock(\.self)
        }

        @Test(.enabled(if: isLong, "SLUICE_TEST_CHAOS has it run"), arguments: Sabotage.allCases)
        func `a build that is broken in one way is convicted of it`(sabotage: Sabotage) async throws {
            var schedule = Schedule(seed: ChaosRun.seed, seconds: 4, kinds: [])
            if sabotage == .commit {
                // Changes by admins are flushed to disk, together with everything before them.
                schedule.steps = schedule.steps.map { _ in [] }
                schedule.faults = [1, 2, 3, 4].map { .init(at: $0, event: .killDatabase(seconds: 0)) }
            }
            try await Self.judge(schedule, [sabotage]) { history, found in
                let proofs = found.filter { sabotage.isProved(by: $0) }
                #expect(!proofs.isEmpty, "SLUICE_TEST_SEED=\(schedule.seed) \(found.prefix(10)) \(history.summary)")
                print(
                    "\(sabotage): \(proofs.count) SLUICE_TEST_SEED=\(schedule.seed), first \(proofs.first?.text ?? "")")
            }
        }

        /// Runs a schedule at a site of its own, intact or sabotaged, and judges the history.
        private static func judge(
            _ schedule: Schedule, _ breaks: [Sabotage] = [],
            _ body: (History, [Checker.Violation]) throws -> Void
        ) async throws {
            var options = ClusterOptions()
            options.trackCommitTimestamp = true
            // Only a database that is killed needs durable commits.
            options.fsync = schedule.faults.contains { if case .killDatabase = $0.event { true } else { false } }
            let cluster = try await TestCluster(options)
            try await Deployment.with(
                cluster: cluster, gateways: Schedule.gateways, settings: ChaosRun.settings
            ) { site in
                for sabotage in breaks { try await sabotage.apply(at: site) }
            } _: { site in
                let history = try await ChaosRun.history(of: schedule, at: site)
                try body(history, Checker(history).violations())
            }
            try await cluster.stop()
        }
    }
}

import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Quotas that many clients charge at once.
@Suite struct QuotaTests {
    /// 64 tasks use three ledgers with several connections. Each request charges two quotas, one of them shared by all.
    @Test(.database(.migrated)) func isNeverExceededAndIsUsedUp() async throws {
        let database = try TestDatabase.current
        let limit: Int64 = 300
        let shared = Quota.sample(limit: limit, sharing: .shared)
        let each = Quota.sample(limit: 40)
        let connection = try PostgresConnection(testing: database.connectionString)
        let position = try await connection.position()
        let recorded = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    try await withLedger(
                        database.connectionString, limits: .init(connections: 3, maxBatch: 16, spillsAt: 8)
                    ) {
                        ledger, _ in
                        try await hammer(ledger, at: position, tasks: 64 / 3 + 1) { user in
                            [try each.charge(by: user), try shared.charge(by: user)]
                        }
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(recorded == Int(limit))
        #expect(try await connection.number("SELECT count(*) FROM issuances") == limit)
        #expect(try await connection.number("SELECT used FROM quota_usage WHERE shared") == limit)
        #expect(try await connection.number("SELECT sum(used) FROM quota_usage WHERE NOT shared") == limit)
        #expect(try await connection.number("SELECT max(used) FROM quota_usage WHERE NOT shared") <= 40)
        #expect(try !database.cluster.log(of: database.name).contains("deadlock detected"))
    }

    /// The same for proposals recorded one by one, each in a call of its own.
    @Test(.database(.migrated)) func isNeverExceededByCallsOfOne() async throws {
        let database = try TestDatabase.current
        let quota = Quota.sample(limit: 300, sharing: .shared)
        let connection = try PostgresConnection(testing: database.connectionString)
        let position = try await connection.position()
        let recorded = try await withThrowingTaskGroup(of: Int.self) { group in
            for writer in 0..<8 {
                let connection = try PostgresConnection(
                    testing: database.connectionString, settings: PostgresLedger.sessionSettings)
                group.addTask {
                    var recorded = 0
                    for _ in 0..<60 {
                        let proposal = try IssuanceProposal.sample(
                            at: position, principal: "user:\(writer)", charges: [quota.charge(7)])
                        let verdicts = try await connection.record([proposal], by: .one)
                        recorded += verdicts.count { $0.isRecorded }
                    }
                    return recorded
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(recorded == 300 / 7)
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 300 / 7)
        #expect(try await connection.number("SELECT used FROM quota_usage") == 294)
    }

    /// Ten users ask until they are refused; returns the number of issuances.
    private func hammer(
        _ ledger: PostgresLedger, at position: PolicyPosition, tasks: Int,
        charging charges: @Sendable @escaping (String) throws -> [QuotaCharge]
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    let user = "user:\(task % 10)"
                    var recorded = 0
                    for _ in 0..<40 {
                        let proposal = try IssuanceProposal.sample(
                            at: position, principal: user, charges: charges(user))
                        guard case .recorded = try await ledger.record(proposal, deadline: .soon) else { break }
                        recorded += 1
                    }
                    return recorded
                }
            }
            return try await group.reduce(0, +)
        }
    }

    /// Writers charge several counters in opposite orders. Meanwhile, reservations are settled, counters repaired and
    /// pruned, and quotas deleted. No deadlock may occur.
    @Test(.database(.migrated)) func nobodyWaitsInACircle() async throws {
        let database = try TestDatabase.current
        let quotas = (0..<8).map { index in
            Quota.sample(
                limit: .max / 4, principal: index < 4 ? .anyone : (try? Principal("group:staff")) ?? .anyone,
                metric: index.isMultiple(of: 2) ? .bytes : .urls,
                period: index % 4 < 2 ? .day : .month, sharing: index.isMultiple(of: 3) ? .shared : .each)
        }
        let connection = try PostgresConnection(testing: database.connectionString)
        for quota in quotas { try await connection.insert(quota) }
        try await connection.runScript(RevokeRaceTests.makeBucket)
        let position = try await connection.position()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                let connection = try PostgresConnection(
                    testing: database.connectionString, settings: PostgresLedger.sessionSettings)
                group.addTask {
                    for _ in 0..<60 {
                        let proposals = try (0..<6).map { item in
                            let user = "user:\((item * 7 + writer) % 5)"
                            return try IssuanceProposal.sample(
                                at: position, principal: user, scopes: ["bucket:demo"], action: .putObject,
                                charges: quotas.shuffled().prefix(4).map { try $0.charge(1, by: user) }, lifetime: -10)
                        }
                        _ = try await connection.record(proposals)
                        let user = "user:\(writer % 5)"
                        let one = try IssuanceProposal.sample(
                            at: position, principal: user, scopes: ["bucket:demo"], action: .putObject,
                            charges: quotas.shuffled().prefix(1).map { try $0.charge(1, by: user) }, lifetime: -10)
                        _ = try await connection.record([one], by: .one)
                    }
                }
            }
            group.addTask { try await disturb(database, quotas) }
            try await group.waitForAll()
        }
        #expect(try !database.cluster.log(of: database.name).contains("deadlock detected"))
        let auditor = QuotaAuditor(connection: connection)
        #expect(try await auditor.audit() == [])
    }

    private func disturb(_ database: TestDatabase, _ quotas: [Quota]) async throws {
        let connection = try PostgresConnection(testing: database.connectionString)
        let sweeper = ReservationSweeper(
            connection: connection, verifier: StubVerifier { _ in .nothing }, clock: .right,
            schedule: .init(grace: .zero, batch: 20), logger: .silent)
        let auditor = QuotaAuditor(connection: connection)
        let today = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 / 86_400).rounded(.down) * 86_400)
        for round in 0..<15 {
            await sweeper.runRound()
            for quota in quotas {
                try await auditor.repair(
                    .init(quotaID: quota.id, holder: "user:1", periodStart: today, used: 0, charged: 0))
            }
            _ = try await connection.execute(PartitionUpkeep.pruneCounters, (Date(), 100))
            if round == 10, let last = quotas.last {
                try await connection.withTransaction { transaction in
                    try transaction.perform(
                        Statement<UUID, Void>("DELETE FROM quotas WHERE id = $1") { [$0] }, last.id)
                    try transaction.perform(
                        Statement<[String], Void>("SELECT append_policy_log($1, 'test', '')") { [$0] }, ["user:none"])
                }
            }
        }
    }
}

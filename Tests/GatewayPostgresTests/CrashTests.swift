import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// The server is killed under load, repeatedly.
@Suite struct CrashTests {
    /// The answers that were given.
    private actor Answers {
        var recorded: [UUID] = []
        var refused = 0
        var failed = 0

        func note(_ id: UUID, _ result: Result<RecordVerdict, GatewayError>) {
            switch result {
            case .success(.recorded): recorded.append(id)
            case .success: refused += 1
            case .failure: failed += 1
            }
        }
    }

    @Test func everyRecordedAnswerHasItsRow() async throws {
        var options = ClusterOptions()
        options.fsync = true
        let cluster = try await TestCluster(options)
        let name = try await cluster.createDatabase(template: .migrated)
        try await withLedger(cluster.connectionString(database: name)) { ledger, connection in
            let settings = try await connection.number(
                "SELECT (current_setting('fsync') = 'on' AND current_setting('synchronous_commit') = 'on')::integer")
            #expect(settings == 1)
            let position = try await connection.position()
            let answers = Answers()
            for _ in 0..<3 {
                let before = await answers.recorded.count
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<32 {
                        group.addTask {
                            while !Task.isCancelled {
                                let proposal = try IssuanceProposal.sample(at: position, principal: "user:\(task)")
                                let result = await ledger.recordCatching(proposal)
                                await answers.note(proposal.id, result)
                                if case .failure = result { await Task.yield() }
                            }
                        }
                    }
                    while await answers.recorded.count < before + 500 { await Task.yield() }
                    try await cluster.kill()
                    let failed = await answers.failed
                    while await answers.failed <= failed { await Task.yield() }
                    try await cluster.start()
                    let restarted = await answers.recorded.count
                    // The ledger recovers without a restart of its own.
                    while await answers.recorded.count < restarted + 100 { await Task.yield() }
                    group.cancelAll()
                }
            }
            #expect(await answers.refused == 0)
            let recorded = await answers.recorded
            let present = try await connection.execute(Self.countPresent, recorded)
            #expect(present == [Int64(recorded.count)])
        }
        try await cluster.stop()
    }

    private static let countPresent = Statement<[UUID], Int64>(
        "SELECT count(*) FROM issuances WHERE id IN (SELECT unnest($1::uuid[]))"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }
}

extension PostgresLedger {
    fileprivate func recordCatching(_ proposal: IssuanceProposal) async -> Result<RecordVerdict, GatewayError> {
        do throws(GatewayError) {
            return .success(try await record(proposal, deadline: .soon))
        } catch {
            return .failure(error)
        }
    }
}

import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Grants are revoked and given back while many writers record under them. The server's own commit times decide.
///
/// The check is shown to work: the same race on a function without the lock must leak.
@Suite(.serialized) struct RevokeRaceTests {
    @Test(arguments: RecordingFunction.allCases)
    func noIssuanceCommitsAfterTheRevokeOfItsGrant(_ function: RecordingFunction) async throws {
        try await withRaceDatabase { connectionString, cluster in
            try await dawdle(function, connectionString, withoutLock: false)
            let leaks = try await race(by: function, connectionString, revokes: 500)
            #expect(leaks == 0)
            #expect(try !cluster.log().contains("deadlock detected"))
        }
    }

    @Test(arguments: RecordingFunction.allCases)
    func theJudgeFindsTheLeaksOfAFunctionWithoutTheLock(_ function: RecordingFunction) async throws {
        try await withRaceDatabase { connectionString, _ in
            try await dawdle(function, connectionString, withoutLock: true)
            var leaks: Int64 = 0
            for _ in 0..<5 where leaks == 0 {
                leaks = try await race(by: function, connectionString, revokes: 100)
            }
            #expect(leaks > 0)
        }
    }

    /// Makes the function pause between proof and write, which must do no harm, and removes its lock on request.
    private func dawdle(
        _ function: RecordingFunction, _ connectionString: String, withoutLock: Bool
    ) async throws {
        try await function.replace(over: PostgresConnection(testing: connectionString)) { source in
            let lock = "v_lock := pg_advisory_xact_lock_shared(advisory_lock('policy'));"
            let writing = "v_now := clock_timestamp();"
            #expect(source.contains(lock) && source.contains(writing))
            source.replace(writing, with: "PERFORM pg_sleep(0.002); " + writing)
            if withoutLock {
                source.replace(lock, with: "")
            }
        }
    }

    /// Runs `body` with a migrated database, in which there is a bucket, of a cluster that keeps commit times.
    private func withRaceDatabase(_ body: (String, TestCluster) async throws -> Void) async throws {
        var options = ClusterOptions()
        options.trackCommitTimestamp = true
        let cluster = try await TestCluster(options)
        let name = try await cluster.createDatabase(template: .migrated)
        let connectionString = cluster.connectionString(database: name)
        try await PostgresConnection(testing: connectionString).runScript(Self.makeBucket)
        try await body(connectionString, cluster)
        try await cluster.stop()
    }

    /// Gives and revokes one grant after another for each of several users, while 32 writers record under the state
    /// that they last read. Returns the number of rows so far that were committed after the revoke of their grant.
    private func race(
        by function: RecordingFunction, _ connectionString: String, revokes: Int
    ) async throws -> Int64 {
        let judge = try PostgresConnection(testing: connectionString)
        let removed = "SELECT count(*) FROM grants WHERE removed_at IS NOT NULL"
        let before = try await judge.number(removed)
        let board = Board()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for user in 0..<4 {
                let connection = try PostgresConnection(testing: connectionString)
                group.addTask {
                    try await revokeInTurn(
                        user: "user:\(user)", times: revokes / 4, over: connection, board)
                }
            }
            for writer in 0..<32 {
                let connection = try PostgresConnection(
                    testing: connectionString, settings: PostgresLedger.sessionSettings)
                group.addTask { try await record(by: function, as: writer, over: connection, board) }
            }
            try await group.waitForAll()
        }
        #expect(try await judge.number(removed) == before + Int64(revokes))
        #expect(try await judge.number("SELECT count(*) FROM issuances") > 100)
        return try await judge.number(
            """
            SELECT count(*) FROM issuances i JOIN grants g ON g.id = i.grant_id
            WHERE g.removed_at IS NOT NULL AND pg_xact_commit_timestamp(i.xmin) > pg_xact_commit_timestamp(g.xmin)
            """)
    }

    /// What the revokers tell the writers: the grant in force, and the position of the log when it was read.
    private actor Board {
        var grants: [String: (grant: UUID, position: PolicyPosition)] = [:]
        var recorded: [UUID: Int] = [:]
        var revokers = 4

        func post(_ user: String, _ grant: UUID, _ position: PolicyPosition) {
            grants[user] = (grant, position)
        }

        func note(_ grant: UUID) {
            recorded[grant, default: 0] += 1
        }

        func leave() {
            revokers -= 1
        }
    }

    private func revokeInTurn(
        user: String, times: Int, over connection: PostgresConnection, _ board: Board
    ) async throws {
        for _ in 0..<times {
            let id = UUID()
            try await connection.withTransaction { transaction in
                try transaction.perform(Self.insertGrant, (id, user))
                try transaction.perform(Self.logGrant, (id, user))
            }
            await board.post(user, id, try await connection.position())
            // The writers are in the middle of issuing when the revoke arrives.
            while await board.recorded[id, default: 0] < 4 { await Task.yield() }
            try await connection.withTransaction { transaction in
                try transaction.perform(Self.removeGrant, (id, user))
                try transaction.perform(Self.logRemoval, (id, user))
            }
        }
        await board.leave()
    }

    private func record(
        by function: RecordingFunction, as writer: Int, over connection: PostgresConnection, _ board: Board
    ) async throws {
        let user = "user:\(writer % 4)"
        while await board.revokers > 0 {
            guard let (grant, position) = await board.grants[user] else { continue }
            let proposals = try (0..<4).map { _ in
                try IssuanceProposal.sample(at: position, principal: user, grantID: grant)
            }
            if try await connection.record(proposals, by: function).contains(where: \.isRecorded) {
                await board.note(grant)
            }
        }
    }

    static let makeBucket = """
        INSERT INTO storage_credentials (id, name, access_key_id, sealed, key_id)
        VALUES ('00000000-0000-0000-0000-000000000001', 'demo', 'AKIA', '', 'k1');
        INSERT INTO buckets (name, provider, endpoint, region, addressing, scheme, credential_id, default_ttl, max_ttl,
            allows_unenforced_size)
        VALUES ('demo', 's3', 'https://s3.example', 'eu-west-1', 'path', 'aws-v4',
            '00000000-0000-0000-0000-000000000001', 900, 604800, false);
        """

    private static let insertGrant = Statement<(UUID, String), Void>(
        """
        INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, created_by)
        VALUES ($1, $2, 'demo', '', false, '{GetObject}', 'allow', 'test')
        """
    ) { [$0.0, $0.1] }

    private static let logGrant = Statement<(UUID, String), Void>(
        "SELECT append_policy_log(ARRAY[$1], 'test', '')"
    ) { [$0.1] }

    private static let removeGrant = Statement<(UUID, String), Void>(
        """
        UPDATE grants SET removed_at = clock_timestamp(), removed_by = $2, removed_change = current_policy_change()
        WHERE id = $1 AND removed_at IS NULL
        """
    ) { [$0.0, $0.1] }

    private static let logRemoval = Statement<(UUID, String), Void>(
        "SELECT append_policy_log(ARRAY[$1], 'test', '')"
    ) { [$0.1] }
}

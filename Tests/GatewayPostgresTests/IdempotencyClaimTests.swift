import Foundation
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayCore
@testable import GatewayPostgres

/// Claims of idempotency keys: how long they last, and what happens to requests that have lost theirs.
extension IdempotencyTests {
    /// Seconds until a claim expires.
    private func secondsLeft(_ claim: IdempotencyClaim, _ world: World) async throws -> Double {
        let milliseconds = try await world.number(
            """
            SELECT 1000 * extract(epoch FROM claimed_until - clock_timestamp()) FROM idempotency_keys
            WHERE id = '\(claim.id)'
            """)
        return Double(milliseconds) / 1000
    }

    private func leave(_ seconds: Double, _ world: World) async throws {
        try await world.run(
            "UPDATE idempotency_keys SET claimed_until = clock_timestamp() + interval '\(seconds) seconds'")
    }

    @Test(.database(.migrated)) func `a claim lasts some seconds, longer only while its gateway says so`() async throws
    {
        let world = try World()
        let claim = try fresh(await world.store.begin(try request()))
        let answered = try fresh(await world.store.begin(try request(2)))
        try await world.store.finish(answered, answer: nil)
        #expect(try await 3...5 ~= secondsLeft(claim, world))
        try await leave(1, world)
        // A request that is answered at once is not worth a statement.
        await world.store.renewClaims()
        #expect(try await secondsLeft(claim, world) <= 1)
        await world.store.renewClaims()
        #expect(try await 3...5 ~= secondsLeft(claim, world))
        #expect(try await secondsLeft(answered, world) <= 1)
        // Somebody else holds the key by now.
        try await leave(-1, world)
        let other = try World()
        let taken = try fresh(await other.store.begin(try request()))
        try await leave(1, world)
        await world.store.renewClaims()
        #expect(try await secondsLeft(taken, world) <= 1)
        // A claim that has ended is not renewed.
        try await world.store.abandon(claim)
        await other.store.renewClaims()
        await other.store.renewClaims()
        #expect(try await 3...5 ~= secondsLeft(taken, world))
        await #expect(throws: GatewayError.idempotency(.inFlight(retryAfter: 1))) {
            try await world.store.begin(try request())
        }
    }

    @Test(.database(.migrated)) func `a claim that was given up is not renewed, also by a round that has begun`()
        async throws
    {
        let world = try World()
        let claim = try fresh(await world.store.begin(try request()))
        try await world.run("UPDATE idempotency_keys SET changed_at = clock_timestamp()")
        try await world.store.abandon(claim)
        // A round that listed the claim before.
        try await world.admin.connection.perform(IdempotencyKeyTable.renew, [claim])
        #expect(try await secondsLeft(claim, world) <= 0)
        guard case .interrupted = try await world.store.begin(try request()) else {
            Issue.record("the key is still in use")
            return
        }
    }

    /// Why a request gets no claim; `nil` if it gets one.
    private func refusal(of request: IdempotentRequest, _ world: World) async -> GatewayError? {
        do throws(GatewayError) {
            _ = try await world.store.begin(request)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        .database(.migrated), .timeLimit(.minutes(1)),
        arguments: [(4.9, 1), (4.2, 1), (3.5, 4), (1.5, 2), (0.3, 1)])
    func `a key in use says when its claim has run out if its gateway is dead`(left: Double, seconds: Int) async throws
    {
        let world = try World()
        let request = try request()
        _ = try fresh(await world.store.begin(request))
        // The answer may change once a whole number of seconds is left. What comes later than that shows nothing.
        let margin = Duration.seconds(left.truncatingRemainder(dividingBy: 1))
        var answer: GatewayError?
        var began: ContinuousClock.Instant
        repeat {
            began = ContinuousClock.now
            try await leave(left, world)
            answer = await refusal(of: request, world)
        } while ContinuousClock.now - began >= margin
        #expect(answer == GatewayError.idempotency(.inFlight(retryAfter: seconds)))
        try await leave(0, world)
        _ = try fresh(await world.store.begin(request))
    }

    /// As recordings do, so that nobody waits in a circle.
    @Test(.database(.migrated), .timeLimit(.minutes(1))) func `a reset locks its key before policy`() async throws {
        let world = try World()
        let quota = Quota.sample(limit: 10)
        try await world.admin.connection.insert(quota)
        var change = AdminWorld.change
        change.claim = try fresh(await world.store.begin(try request()))
        change.proof = CredentialProof(position: try await world.admin.connection.position(), scopes: [])
        let other = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await other.runScript("BEGIN; SELECT pg_advisory_xact_lock(advisory_lock('policy'))")
        let reset = Task { [change] in
            try await world.admin.stores.quotaCounters.reset(quota.id, of: .all, by: change)
        }
        try await world.admin.connection.waitForBlocked(on: "advisory")
        let free = "SELECT count(*) FROM (SELECT FROM idempotency_keys FOR UPDATE SKIP LOCKED) k"
        #expect(try await world.number(free) == 0)
        try await other.runScript("COMMIT")
        #expect(try await reset.value == QuotaReset(holders: 0, released: 0))
    }

    @Test(.database(.migrated)) func `an attempt that wakes up after another took over changes nothing`() async throws {
        let world = try World()
        let quota = Quota.sample(limit: 10, principal: try Principal("user:alice"))
        try await world.admin.connection.insert(quota)
        let position = try await world.admin.connection.position()
        let until = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 900).rounded(.down))
        func record(_ claim: IdempotencyClaim, at instant: Double) async throws -> Result<RecordVerdict, GatewayError> {
            let proposal = try proposal(
                claim, quota: quota, at: position, until: until,
                signedAt: Date(timeIntervalSince1970: until.timeIntervalSince1970 - 900 + instant))
            return await world.store.ledger(for: claim).record([proposal], deadline: .soon)[0]
        }
        let inUse = GatewayError.idempotency(.inFlight(retryAfter: 1))
        let slow = try fresh(await world.store.begin(try request()))
        try await leave(0, world)
        let second = try fresh(await world.store.begin(try request()))
        // The slow attempt changes nothing before the other has recorded,
        #expect(try await record(slow, at: 0) == .failure(inUse))
        var change = AdminWorld.change
        change.claim = slow
        await #expect(throws: inUse) {
            try await world.admin.stores.quotaCounters.reset(quota.id, of: .all, by: change)
        }
        #expect(try await world.number("SELECT count(*) FROM issuances") == 0)
        #expect(try await world.number("SELECT count(*) FROM admin_audit WHERE operation = 'reset'") == 0)
        // after it has recorded,
        guard case .success(.recorded) = try await record(second, at: 1) else {
            Issue.record("the second attempt records nothing")
            return
        }
        #expect(try await record(slow, at: 0) == .failure(inUse))
        // and after it has answered. Nor does it end the other's claim.
        try await world.store.finish(slow, answer: [1])
        #expect(try await world.number("SELECT count(*) FROM idempotency_keys WHERE answered_at IS NOT NULL") == 0)
        try await world.store.finish(second, answer: nil)
        #expect(try await record(slow, at: 0) == .failure(inUse))
        try await world.store.abandon(slow)
        guard case .answered(let third, answer: nil) = try await world.store.begin(try request()) else {
            Issue.record("the key is not answered")
            return
        }
        #expect(try await record(third, at: 1) == .success(.recorded(remaining: [])))
        #expect(try await world.number("SELECT count(*) FROM issuances") == 1)
        #expect(try await world.number("SELECT used FROM quota_usage") == 1)
        // An attempt whose key is gone gets a final refusal.
        try await world.run("DELETE FROM idempotency_keys")
        #expect(try await record(third, at: 1) == .failure(.idempotency(.answerGone)))
    }
}

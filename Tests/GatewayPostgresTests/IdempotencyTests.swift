import Foundation
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayCore
@testable import GatewayPostgres

/// Requests with idempotency keys: what is kept of them, and what prevents a second effect.
@Suite struct IdempotencyTests {
    struct World: Sendable {
        let admin: AdminWorld
        let store: PostgresIdempotency

        init() throws {
            admin = try AdminWorld()
            let settings = PostgresIdempotency.sessionSettings + [("role", "sluice_gateway")]
            let pool = PostgresPool(
                try TestDatabase.current.configuration(sessionSettings: settings), size: 4, logger: .silent)
            store = PostgresIdempotency(
                pool: pool, keys: admin.keys, clock: .right, logger: .silent, now: { Date() },
                recordingFailed: { _ in })
        }

        func run(_ sql: String) async throws {
            try await admin.connection.runScript(sql)
        }

        func number(_ sql: String) async throws -> Int64 {
            try await admin.connection.number(sql)
        }
    }

    struct NoLedger: IssuanceLedger {
        func record(
            _ proposals: [IssuanceProposal], deadline: ContinuousClock.Instant
        ) async -> [Result<RecordVerdict, GatewayError>] { [] }
    }

    func request(
        _ key: UInt8 = 1, body: UInt8 = 1, caller: String = "user:alice", route: String = "POST /a"
    ) throws -> IdempotentRequest {
        IdempotentRequest(
            caller: try Principal(caller), route: route, keyDigest: [UInt8](repeating: key, count: 32),
            bodyDigest: [UInt8](repeating: body, count: 32))
    }

    func fresh(_ state: IdempotencyState) throws -> IdempotencyClaim {
        guard case .fresh(let claim) = state else {
            Issue.record("not fresh: \(state)")
            throw CancellationError()
        }
        return claim
    }

    func expect(
        _ refusal: IdempotencyRefusal, _ world: World, _ request: IdempotentRequest,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        await #expect(throws: GatewayError.idempotency(refusal), sourceLocation: sourceLocation) {
            try await world.store.begin(request)
        }
    }

    @Test(.database(.migrated)) func aKeyIsOfOneCallerAndRouteAndOfOneBody() async throws {
        let world = try World()
        let claim = try fresh(await world.store.begin(try request()))
        await expect(.inFlight(retryAfter: 1), world, try request())
        await expect(.otherRequest, world, try request(body: 2))
        _ = try fresh(await world.store.begin(try request(caller: "user:bob")))
        _ = try fresh(await world.store.begin(try request(route: "POST /b")))
        _ = try fresh(await world.store.begin(try request(2)))
        try await world.store.finish(claim, answer: Array("the secret answer".utf8))
        guard case .answered(_, let answer) = try await world.store.begin(try request()) else {
            Issue.record("no answer")
            return
        }
        #expect(answer == Array("the secret answer".utf8))
        await expect(.otherRequest, world, try request(body: 2))
        #expect(
            try await world.number(
                "SELECT count(*) FROM idempotency_keys k WHERE k::text LIKE '%' || encode('secret', 'hex') || '%'") == 0
        )
    }

    /// Several repetitions of an answered request come at once; each reads the row while another has it locked.
    @Test(.database(.migrated)) func anAnswerIsReadAlsoWhileTheRowIsLocked() async throws {
        let world = try World()
        let claim = try fresh(await world.store.begin(try request()))
        try await world.store.finish(claim, answer: Array("done".utf8))
        let holder = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await holder.runScript("BEGIN; SELECT FROM idempotency_keys FOR UPDATE")
        guard case .answered(_, let answer) = try await world.store.begin(try request()) else {
            Issue.record("no answer")
            return
        }
        #expect(answer == Array("done".utf8))
        await expect(.otherRequest, world, try request(body: 2))
        try await holder.runScript("ROLLBACK")
    }

    @Test(.database(.migrated)) func oneOfManyAtOnceGetsTheKey() async throws {
        let world = try World()
        let request = try request()
        let outcomes = await withTaskGroup(of: String.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    do {
                        guard case .fresh = try await world.store.begin(request) else { return "else" }
                        return "fresh"
                    } catch {
                        return (error as? GatewayError)?.code ?? "error"
                    }
                }
            }
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == "fresh" } == 1)
        #expect(outcomes.count { $0 == "IdempotencyKeyInUse" } == 49, "\(outcomes)")
    }

    @Test(.database(.migrated)) func aClaimThatCameToNothingIsFreeAndOneThatDidNotIsInterrupted() async throws {
        let world = try World()
        let first = try fresh(await world.store.begin(try request()))
        try await world.store.abandon(first)
        let second = try fresh(await world.store.begin(try request()))
        // An attempt that was already abandoned frees nothing.
        try await world.store.abandon(first)
        await expect(.inFlight(retryAfter: 1), world, try request())
        try await world.run("UPDATE idempotency_keys SET claimed_until = now()")
        let third = try fresh(await world.store.begin(try request()))
        #expect(third.id == second.id && third.attempt != second.attempt)
        try await world.run("UPDATE idempotency_keys SET changed_at = now()")
        try await world.store.abandon(third)
        guard case .interrupted(let fourth) = try await world.store.begin(try request()) else {
            Issue.record("not interrupted")
            return
        }
        #expect(fourth.id == third.id)
        await expect(.inFlight(retryAfter: 1), world, try request())
    }

    @Test(.database(.migrated)) func aKeyIsForgottenAfterADay() async throws {
        let world = try World()
        let claim = try fresh(await world.store.begin(try request()))
        try await world.store.finish(claim, answer: [1])
        try await world.run("UPDATE idempotency_keys SET created_at = now() - interval '23 hours 59 minutes'")
        await expect(.otherRequest, world, try request(body: 2))
        try await world.run("UPDATE idempotency_keys SET created_at = now() - interval '24 hours 1 second'")
        let again = try fresh(await world.store.begin(try request(body: 2)))
        #expect(again.id != claim.id)
        try await world.run("UPDATE idempotency_keys SET created_at = now() - interval '25 hours'")
        _ = try fresh(await world.store.begin(try request(3)))
        let gateway = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: [("role", "sluice_gateway")])
        await PartitionUpkeep(connection: gateway, sums: gateway, clock: .right, logger: .silent).runRound()
        #expect(try await world.number("SELECT count(*) FROM idempotency_keys") == 1)
    }

    @Test(.database(.migrated)) func aSealedAnswerOpensForItsOwnRowAndKeyOnly() async throws {
        let world = try World()
        for key in 1...2 as ClosedRange<UInt8> {
            let claim = try fresh(await world.store.begin(try request(key)))
            try await world.store.finish(claim, answer: [key])
        }
        try await world.run(
            """
            UPDATE idempotency_keys k SET sealed = o.sealed FROM idempotency_keys o
            WHERE o.key_digest <> k.key_digest
            """)
        guard case .answered(_, nil) = try await world.store.begin(try request(1)) else {
            Issue.record("another row's answer was opened")
            return
        }
        try await world.run("UPDATE idempotency_keys SET key_id = 'gone'")
        guard case .answered(_, nil) = try await world.store.begin(try request(2)) else {
            Issue.record("an answer was opened without its key")
            return
        }
    }

    @Test(.database(.migrated)) func aChangeIsCommittedWithItsClaimOrNotAtAll() async throws {
        let world = try World()
        let quota = Quota.sample(limit: 1)
        let claim = try fresh(await world.store.begin(try request()))
        var change = AdminWorld.change
        change.claim = claim
        // The claim expired, and another attempt acts for the key: the slow one changes nothing.
        try await world.run("UPDATE idempotency_keys SET claimed_until = now()")
        let second = try fresh(await world.store.begin(try request()))
        await #expect(throws: GatewayError.idempotency(.inFlight(retryAfter: 1))) {
            try await world.admin.stores.quotas.create(quota, by: change)
        }
        #expect(try await world.number("SELECT count(*) FROM quotas") == 0)
        change.claim = second
        _ = try await world.admin.stores.quotas.create(quota, by: change)
        try await world.store.abandon(second)
        guard case .interrupted(let third) = try await world.store.begin(try request()) else {
            Issue.record("the change is not known")
            return
        }
        // A failed change leaves nothing behind.
        let other = try fresh(await world.store.begin(try request(2)))
        change.claim = other
        await #expect(throws: GatewayError.alreadyExists(.quota)) {
            try await world.admin.stores.quotas.create(quota, by: change)
        }
        try await world.store.abandon(other)
        _ = try fresh(await world.store.begin(try request(2)))
        change.claim = third
        _ = try await world.admin.stores.quotaCounters.reset(quota.id, of: .all, by: change)
    }

    /// Rows that changed meanwhile are a refusal, which the key does not keep.
    @Test(.database(.migrated)) func anOffboardingThatWasOvertakenLeavesItsKeyFree() async throws {
        let world = try World()
        let alice = try Principal("user:alice")
        try await world.admin.makeBucket()
        _ = try await world.admin.stores.grants.create(.sample("user:alice", "a/"), by: AdminWorld.change)
        let claim = try fresh(await world.store.begin(try request()))
        var change = AdminWorld.change
        change.claim = claim
        let offboarding = world.admin.stores.offboarding
        await #expect(throws: GatewayError.preconditionFailed) {
            try await offboarding.remove(allOf: alice, seenAs: "of other rows", by: change)
        }
        try await world.store.abandon(claim)
        change.claim = try fresh(await world.store.begin(try request()))
        let tag = try await offboarding.rows(of: alice).tag
        #expect(try await offboarding.remove(allOf: alice, seenAs: tag, by: change) == 1)
    }

    /// Issuances of a repeated request. Another `lifetime` makes another decision.
    func proposal(
        _ claim: IdempotencyClaim, place: Int = 0, quota: Quota, at position: PolicyPosition, until: Date,
        signedAt: Date
    ) throws -> IssuanceProposal {
        try IssuanceProposal.sample(at: position, charges: [quota.charge(1)]).with(
            id: RepeatableIssuing(claim, ledger: NoLedger()).issuance(at: place).id(at: signedAt),
            credentialID: quota.id, expiresAt: until)
    }

    /// A link for Google Cloud Storage binds the largest size that the deciding grant permits, and no row tells it.
    @Test(
        .database(.migrated),
        arguments: [
            (2000, 2000, true), (2000, 50, true), (2000, 2001, false), (2000, 5000, false), (0, 5000, false),
            (0, 0, true),
        ])
    func `what is signed again permits no more bytes than were counted`(
        counted: Int64, amount: Int64, isProved: Bool
    ) async throws {
        let world = try World()
        let quotas = [Quota.sample(limit: 10), Quota.sample(limit: 1_000_000, metric: .bytes)]
        for quota in quotas { try await world.admin.connection.insert(quota) }
        let until = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 900).rounded(.down))
        let position = try await world.admin.connection.position()
        func send(_ claim: IdempotencyClaim, bytes: Int64) async throws -> Result<RecordVerdict, GatewayError> {
            let proposal = try IssuanceProposal.sample(
                at: position, action: .putObject,
                charges: bytes > 0 ? [quotas[0].charge(1), quotas[1].charge(bytes)] : []
            ).with(
                id: RepeatableIssuing(claim, ledger: NoLedger()).issuance(at: 0).id(at: until - 900),
                credentialID: quotas[0].id, expiresAt: until)
            return await world.store.ledger(for: claim).record([proposal], deadline: .soon)[0]
        }
        let claim = try fresh(await world.store.begin(try request()))
        guard case .recorded = try await send(claim, bytes: counted).get() else {
            Issue.record("not recorded")
            return
        }
        let again = try await send(claim, bytes: amount)
        #expect(isProved == (again == .success(.recorded(remaining: []))), "\(again)")
        #expect(
            try await world.number("SELECT coalesce(sum(used), 0) FROM quota_usage WHERE quota_id = '\(quotas[1].id)'")
                == counted)
    }

    @Test(.database(.migrated)) func anIssuanceIsRecordedOnceAndProvedEachTime() async throws {
        let world = try World()
        let quota = Quota.sample(limit: 10, principal: try Principal("user:alice"))
        try await world.admin.connection.insert(quota)
        let until = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 900).rounded(.down))
        let claim = try fresh(await world.store.begin(try request()))
        let position = try await world.admin.connection.position()
        func send(_ claim: IdempotencyClaim, at position: PolicyPosition, until: Date, places: [Int] = [0]) async throws
            -> [Result<RecordVerdict, GatewayError>]
        {
            let proposals = try places.map {
                try proposal(claim, place: $0, quota: quota, at: position, until: until, signedAt: Date())
            }
            return await world.store.ledger(for: claim).record(proposals, deadline: .soon)
        }
        let first = try await send(claim, at: position, until: until)
        guard case .recorded(let remaining) = try first[0].get() else {
            Issue.record("not recorded")
            return
        }
        #expect(remaining.map(\.remaining) == [9])
        // The gateway died before it answered.
        try await world.run("UPDATE idempotency_keys SET claimed_until = now()")
        guard case .interrupted(let again) = try await world.store.begin(try request()) else {
            Issue.record("not interrupted")
            return
        }
        #expect(again.issuances.count == 1)
        #expect(try await send(again, at: position, until: until)[0].get() == .recorded(remaining: []))
        #expect(try await world.number("SELECT count(*) FROM issuances") == 1)
        #expect(try await world.number("SELECT used FROM quota_usage") == 1)
        // One more item is recorded beside the one already recorded.
        let both = try await send(again, at: position, until: until, places: [0, 1])
        #expect(try both[0].get() == .recorded(remaining: []))
        #expect(try await world.number("SELECT count(*) FROM issuances") == 2)
        // An issuance is not repeated if the decision would now be different.
        let longer = try await send(again, at: position, until: until.addingTimeInterval(1))
        #expect(throws: GatewayError.idempotency(.answerGone)) { try longer[0].get() }
        // The proof detects a policy change in one of the scopes.
        try await world.admin.connection.append(scopes: ["user:alice"])
        #expect(try await send(again, at: position, until: until)[0].get() == .stale)
        #expect(try await world.number("SELECT count(*) FROM issuances") == 2)
    }

    /// The row of an issuance names the bucket, whose store may be another one after each change.
    @Test(
        .database(.migrated),
        arguments: [
            (["bucket:demo"], false), (["all", "bucket:demo"], false), (["all", "buckets"], false),
            (["bucket:other", "bucket:demo2"], true), (["all", "bucket:other"], true), (["all"], true),
        ])
    func `what was issued is not signed again after its bucket was changed`(
        scopes: [String], isProved: Bool
    ) async throws {
        let world = try World()
        let quota = Quota.sample(limit: 10)
        try await world.admin.connection.insert(quota)
        let until = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 900).rounded(.down))
        func send(_ claim: IdempotencyClaim, places: [Int]) async throws -> [Result<RecordVerdict, GatewayError>] {
            let position = try await world.admin.connection.position()
            let proposals = try places.map {
                try proposal(claim, place: $0, quota: quota, at: position, until: until, signedAt: until - 900)
            }
            return await world.store.ledger(for: claim).record(proposals, deadline: .soon)
        }
        // A change before the first decision is part of it.
        try await world.admin.connection.append(scopes: scopes)
        let claim = try fresh(await world.store.begin(try request()))
        _ = try await send(claim, places: [0])
        #expect(try await send(claim, places: [0])[0].get() == .recorded(remaining: []))
        try await world.admin.connection.append(scopes: scopes)
        _ = try await send(claim, places: [1])
        let answers = try await send(claim, places: [0, 1])
        let first = Result<RecordVerdict, GatewayError>.success(.recorded(remaining: []))
        #expect(answers[0] == (isProved ? first : .failure(.idempotency(.answerGone))))
        #expect(try answers[1].get() == .recorded(remaining: []))
        #expect(try await world.number("SELECT count(*) FROM issuances") == 2)
    }

    @Test(.database(.migrated)) func manyAtOnceRecordOnce() async throws {
        let world = try World()
        let quota = Quota.sample(limit: 1000, principal: try Principal("user:alice"))
        try await world.admin.connection.insert(quota)
        let claim = try fresh(await world.store.begin(try request()))
        let position = try await world.admin.connection.position()
        let until = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 900).rounded(.down))
        let outcomes = await withTaskGroup(of: String.self) { group in
            for index in 0..<50 {
                group.addTask {
                    // Each signs at its own instant.
                    let signedAt = Date().addingTimeInterval(Double(index))
                    guard
                        let proposal = try? proposal(
                            claim, quota: quota, at: position, until: until, signedAt: signedAt)
                    else { return "none" }
                    switch await world.store.ledger(for: claim).record([proposal], deadline: .soon)[0] {
                    case .success(.recorded): return "recorded"
                    case .success: return "else"
                    case .failure(let error): return error.code
                    }
                }
            }
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == "recorded" } == 1, "\(outcomes)")
        #expect(outcomes.count { $0 == "IdempotencyKeyInUse" } == 49)
        #expect(try await world.number("SELECT count(*) FROM issuances") == 1)
        #expect(try await world.number("SELECT used FROM quota_usage") == 1)
    }
}

import Foundation
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayCore
@testable import GatewayPostgres

/// A primary whose commits wait for a standby that is gone. Whatever is answered as done must exist after the failover.
@Suite(.timeLimit(.minutes(2))) struct StandbyTests {
    /// Time after which the gateway asks to cancel: long enough for a statement, short enough for a test.
    private static let patience = Duration.milliseconds(200)

    private struct World: Sendable {
        let url: String
        let owner: PostgresConnection
        let stores: PostgresAdminStores
        /// The same stores, which ask to cancel after a second.
        let impatientStores: PostgresAdminStores
        let bulk: PostgresGrantBulk

        init(_ url: String) throws {
            self.url = url
            // The test's own statements wait for nobody.
            owner = try PostgresConnection(testing: url, settings: [("synchronous_commit", "local")])
            func stores(patience: Duration) throws -> PostgresAdminStores {
                let configuration = try PostgresConfiguration(
                    connectionString: url, applicationName: "gateway",
                    sessionSettings: PostgresAdminStores.sessionSettings + [("role", "sluice_gateway")],
                    responseTimeout: patience)
                return PostgresAdminStores(
                    pool: PostgresPool(configuration, size: 4, logger: .silent), keys: try .sample("k1"),
                    logger: .silent, now: { Date() })
            }
            self.stores = try stores(patience: .seconds(20))
            impatientStores = try stores(patience: .seconds(1))
            let configuration = try PostgresConfiguration(
                connectionString: url, applicationName: "gateway",
                sessionSettings: BulkConnections.sessionSettings + [("role", "sluice_gateway")])
            bulk = PostgresGrantBulk(
                connections: BulkConnections(configuration, limit: 1, logger: .silent), logger: .silent)
        }

        /// Grants that may be revoked.
        func makeGrants(_ count: Int) async throws -> [String] {
            let credential = try await stores.credentials.create(.sample(), by: AdminWorld.change).row
            _ = try await stores.buckets.create(.sample("demo", credential: credential.id), by: AdminWorld.change)
            var ids: [String] = []
            for number in 0..<count {
                let grant = try Grant.sample("user:alice", "team\(number)/")
                ids.append(try await stores.grants.create(grant, by: AdminWorld.change).row.id.lowercaseText)
            }
            return ids
        }

        /// Revokes a grant. Returns the reason why it could not be revoked; `nil` where it was.
        func revoke(_ grant: String, isPatient: Bool = true) async -> GatewayError? {
            do throws(GatewayError) {
                try await (isPatient ? stores : impatientStores).grants.delete(
                    grant, revision: nil, by: AdminWorld.change)
                return nil
            } catch {
                return error
            }
        }

        /// Deletes a quota, and then resets it. Returns the reasons why that could not be done.
        func deleteAndReset(_ quota: UUID) async -> [GatewayError?] {
            var refusals: [GatewayError?] = []
            do throws(GatewayError) {
                try await impatientStores.quotas.delete(quota.lowercaseText, revision: nil, by: AdminWorld.change)
                refusals.append(nil)
            } catch {
                refusals.append(error)
            }
            do throws(GatewayError) {
                _ = try await impatientStores.quotaCounters.reset(quota, of: .all, by: AdminWorld.change)
                refusals.append(nil)
            } catch {
                refusals.append(error)
            }
            return refusals
        }

        static func denial(of user: String) throws -> Grant {
            var grant = try Grant.plain(user)
            grant.effect = .deny
            return grant
        }

        /// Forbids something to a user. Returns the reason why it could not be forbidden.
        func forbid(_ user: String) async throws -> GatewayError? {
            let denial = try Self.denial(of: user)
            do throws(GatewayError) {
                _ = try await impatientStores.grants.create(denial, by: AdminWorld.change)
                return nil
            } catch {
                return error
            }
        }

        /// Runs `body` while everything that waits for the standby is cancelled, as a database admin may do.
        func cancelling<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result
        {
            try await withThrowingTaskGroup(of: Result?.self) { group in
                group.addTask { try await body() }
                group.addTask {
                    let cancel = Statement<Void, Bool>(
                        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                    ) { row throws(PostgresError) in try row.decode(0) }
                    while !Task.isCancelled {
                        _ = try? await owner.execute(cancel)
                        try? await Task.sleep(for: .milliseconds(10))
                    }
                    return nil
                }
                defer { group.cancelAll() }
                while let result = try await group.next() { if let result { return result } }
                throw CancellationError()
            }
        }
    }

    /// The requests and their answers.
    private struct Answers: Sendable {
        var count: Int { recorded.count + refusals.count }
        var recorded: [UUID] = []
        var refusals: [GatewayError] = []

        mutating func note(_ proposals: [IssuanceProposal], _ results: [Result<RecordVerdict, GatewayError>]) {
            for (proposal, result) in zip(proposals, results) {
                switch result {
                case .success(let verdict): if verdict.isRecorded { recorded.append(proposal.id) }
                case .failure(let error): refusals.append(error)
                }
            }
        }

        static func += (left: inout Answers, right: Answers) {
            left.recorded += right.recorded
            left.refusals += right.refusals
        }
    }

    @Test func `what is answered as done is on the survivor, whoever ends the wait for a standby that is gone`()
        async throws
    {
        let pair = try await SynchronousPair()
        let name = try await pair.primary.createDatabase(template: .migrated)
        let world = try World(pair.primary.connectionString(database: name))
        let grants = try await world.makeGrants(3)
        let position = try await world.owner.position()
        let quota = try await world.stores.quotas.create(.sample(limit: 5), by: AdminWorld.change).row.id
        let upload = try await reserveParts(at: world.url)
        var revokes = [await world.revoke(grants[0])]

        let (before, after) = try await withLedger(world.url) { ledger, _ in
            let before = try await Self.record(3, at: position, in: ledger, within: .seconds(20))
            try await pair.standby.stop()
            var after: [String: Answers] = [:]
            for _ in 0..<2 {
                after["one at a time", default: Answers()] += try await Self.record(
                    1, at: position, in: ledger, within: Self.patience)
            }
            after["a batch"] = try await Self.record(128, at: position, in: ledger, within: Self.patience)
            after["cancelled by an admin"] = try await world.cancelling {
                try await Self.record(7, at: position, in: ledger, within: .seconds(20))
            }
            return (before, after)
        }
        revokes.append(await world.revoke(grants[1], isPatient: false))
        revokes.append(await world.revoke(grants[1], isPatient: false))
        revokes.append(try await world.cancelling { await world.revoke(grants[2]) })
        // The second time, the grant is there, on this server alone.
        let denials = [try await world.forbid("user:mallory"), try await world.forbid("user:mallory")]
        #expect(denials.allSatisfy { $0.map(Self.mayBeAskedAgain) ?? false }, "\(denials)")
        // The quota is gone, from this server alone.
        let resets = await world.deleteAndReset(quota)
        #expect(resets.allSatisfy { $0.map(Self.mayBeAskedAgain) ?? false }, "\(resets)")

        try await pair.failOver()
        let survivor = try PostgresConnection(testing: pair.standby.connectionString(database: name))
        let recorded = Set(try await survivor.texts("SELECT id::text FROM issuances"))
        #expect(before.recorded.count == 3 && before.refusals.isEmpty)
        #expect(after.mapValues(\.count) == ["one at a time": 2, "a batch": 128, "cancelled by an admin": 7])
        #expect(after.values.allSatisfy { !$0.refusals.isEmpty }, "no commit waited for the standby")
        for (how, answers) in after.merging(["before": before], uniquingKeysWith: { $1 }) {
            let lost = answers.recorded.filter { !recorded.contains($0.lowercaseText) }
            #expect(lost.isEmpty, "\(how): \(lost.count) of \(answers.count) were answered as recorded and are lost")
            #expect(answers.refusals.allSatisfy(Self.mayBeAskedAgain))
        }
        #expect(revokes.first == .some(nil))
        #expect(revokes.dropFirst().allSatisfy { $0.map(Self.mayBeAskedAgain) ?? false }, "\(revokes)")
        // The commit of a reservation waited for nobody; the records after it did.
        #expect(try await survivor.number("SELECT count(*) FROM multipart_parts WHERE upload_id = '\(upload)'") == 9)
        #expect(try await survivor.number("SELECT count(*) FROM quotas") == 1)
        let live = try await survivor.texts("SELECT id::text FROM grants WHERE removed_at IS NULL")
        for (grant, answer) in zip([grants[0], grants[1], grants[1], grants[2]], revokes) where answer == nil {
            #expect(!live.contains(grant), "a revoke that was answered with success came back")
        }
        try await pair.standby.kill()
    }

    /// The commit of an import's tables waits for the standby, which goes only then.
    @Test func `an import does not tell of a grant that only this server has`() async throws {
        let pair = try await SynchronousPair()
        let name = try await pair.primary.createDatabase(template: .migrated)
        let world = try World(pair.primary.connectionString(database: name))
        _ = try await world.makeGrants(0)
        let refusal = try await world.cancelling { () async throws -> GatewayError? in
            let isOver = Mutex(false)
            do {
                _ = try await world.bulk.importGrants(
                    GrantImportOptions(scope: .init(), prunes: false, isDryRun: false), by: AdminWorld.change,
                    renewing: { AdminWorld.change }
                ) {
                    let isFirst = isOver.withLock { isOver in
                        defer { isOver = true }
                        return !isOver
                    }
                    guard isFirst else { return nil }
                    try await pair.standby.stop()
                    #expect(try await world.forbid("user:mallory").map(Self.mayBeAskedAgain) == true)
                    return [ProposedGrant(place: 1, id: UUID(), grant: try World.denial(of: "user:mallory"))]
                }
                return nil
            } catch {
                return error as? GatewayError
            }
        }
        #expect(refusal.map(Self.mayBeAskedAgain) == true, "\(String(describing: refusal))")
        try await pair.primary.kill()
    }

    /// Reserves nine parts of a new upload; returns its identifier.
    private func reserveParts(at url: String) async throws -> UUID {
        let pool = PostgresPool(
            try PostgresConfiguration(connectionString: url, applicationName: "tests"), size: 1, logger: .silent)
        let rows = PostgresMultipartUploads(pool: pool, logger: .silent) { Date() }
        let upload = MultipartUpload(
            id: .version7(at: Date(), randomBytes: []), principal: try .user("alice"), bucket: try BucketName("demo"),
            key: try ObjectKey("k"), contentType: try #require(MediaType("image/png")), contentLength: nil,
            state: .starting, createdAt: Date(), expiresAt: Date().addingTimeInterval(3600))
        try await rows.insert(upload)
        _ = try await rows.open(upload.id, as: "store-1")
        let parts = (1...9).map { ReservedPart(issuance: UUID(), number: $0, contentLength: 5) }
        #expect(try await rows.reserve(parts, of: upload.id) == .reserved(objectLength: 45))
        return upload.id
    }

    /// Whether an error is answered with 503 and `Retry-After`.
    private static func mayBeAskedAgain(_ error: GatewayError) -> Bool {
        error == .unavailable(retryAfter: 1) || error == .slowDown(retryAfter: 1)
    }

    private static func record(
        _ count: Int, at position: PolicyPosition, in ledger: any IssuanceLedger, within time: Duration
    ) async throws -> Answers {
        var answers = Answers()
        let proposals = try (0..<count).map {
            try IssuanceProposal.sample(at: position, principal: "user:u\($0)", scopes: ["user:nobody"])
        }
        answers.note(proposals, await ledger.record(proposals, deadline: .now + time))
        return answers
    }
}

import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayPostgres

/// The ledger's view of reservations for whose key the store shows no object, or an old one.
@Suite struct SettlingRuleTests {
    private struct World {
        let connection: PostgresConnection
        let quota = Quota.sample(limit: 1 << 40, metric: .bytes)
        let key = "users/alice/photo é.jpg"

        init() async throws {
            connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
            try await connection.runScript(RevokeRaceTests.makeBucket)
            try await connection.insert(quota)
        }

        /// Reserves 100 bytes for a URL that expired a minute ago.
        @discardableResult
        func reserve(_ delivery: Delivery = .presignedURL, amount: Int64 = 100) async throws -> UUID {
            let proposal = try IssuanceProposal.sample(
                at: await connection.position(), action: .putObject, charges: [quota.charge(amount)], lifetime: -60
            ).with(delivery: delivery)
            #expect(try await connection.record([proposal]).map(\.isRecorded) == [true])
            return proposal.id
        }

        func sweep(clock: LedgerClock = .right, _ look: StoreLook) async {
            await ReservationSweeper(
                connection: connection, verifier: StubVerifier { _ in look }, clock: clock,
                schedule: .init(grace: .zero), logger: .silent
            ).runRound()
        }

        var used: Int64 {
            get async throws { try await connection.number("SELECT sum(used) FROM quota_usage") }
        }

        var waiting: Int64 {
            get async throws { try await connection.number("SELECT count(*) FROM reservations") }
        }

        func run(_ sql: String) async throws {
            try await connection.runScript(sql)
        }
    }

    static let looks: [StoreLook] = [.nothing, .object(5, age: 60)]

    @Test(.database(.migrated), arguments: looks)
    func `What never arrived is given back`(_ look: StoreLook) async throws {
        let world = try await World()
        try await world.reserve()
        await world.sweep(look)
        #expect(try await [world.used, world.waiting] == [0, 0])
        #expect(try await QuotaAuditor(connection: world.connection).audit() == [])
    }

    /// An entry of the policy log, as a change of these scopes leaves it.
    private static func change(_ scopes: String) -> String {
        """
        INSERT INTO policy_log (seq, tag, scopes, actor, request_id)
        SELECT max(seq) + 1, gen_random_uuid(), \(scopes), 'test', '' FROM policy_log
        """
    }

    /// Cases in which bytes may have come and gone. The age of objects is counted from now.
    static var doubts: [(name: String, look: StoreLook, sql: String)] {
        [
            ("a newer object", .object(5), ""), ("an object in parts", .object(5, age: 60, etag: "a-2"), ""),
            ("a deletion that the store tells", StoreLook(object: nil, wasDeleted: true, clockDifference: 0), ""),
            ("others delete", .nothing, "UPDATE buckets SET external_deletions = true"),
            ("others delete", .object(5, age: 60), "UPDATE buckets SET external_deletions = true"),
            ("the bucket is gone", .nothing, "DELETE FROM buckets"),
            ("the bucket changed", .nothing, change("'{bucket:demo}'")),
            (
                "the credential changed", .nothing,
                change("(SELECT array_agg('credential:' || i.credential_id) FROM issuances i)")
            ),
            ("many buckets changed", .nothing, change("'{all,buckets}'")),
            ("many principals and the bucket changed", .nothing, change("'{all,bucket:demo}'")),
            (
                "an upload in parts", .object(5, age: 60),
                """
                INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at, check_at)
                VALUES (gen_random_uuid(), 'user:bob', 'demo', 'users/alice/photo é.jpg', 'a/b', 'completed',
                    now() + interval '1 day', now())
                """
            ),
            (
                "an upload in parts that was given up", .object(5, age: 60),
                """
                INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at,
                    check_at, may_be_complete)
                VALUES (gen_random_uuid(), 'user:bob', 'demo', 'users/alice/photo é.jpg', 'a/b', 'aborted',
                    now() - interval '25 days', now(), true)
                """
            ),
            (
                "an upload in parts by signatures", .object(5, age: 60),
                "SELECT begin_remote_upload('user:bob', 'demo', 'users/alice/photo é.jpg', 'a/b')"
            ),
        ]
    }

    /// A change of more than a thousand scopes, of which the last is the given one, and what is given back after it.
    @Test(.database(.migrated), arguments: [("user:x", 0), ("bucket:other", 0), ("bucket:demo", 100)])
    func `What a large change touches is told from what it does not`(scope: String, used: Int64) async throws {
        let world = try await World()
        try await world.reserve()
        try await world.connection.append(
            scopes: (1...1001).map { "user:u\($0)" } + [scope])
        #expect(
            try await world.connection.number(
                "SELECT count(*) FROM policy_log WHERE seq = (SELECT max(seq) FROM policy_log) AND scopes[1] = 'all'")
                == 1)
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [used, 0])
    }

    @Test(.database(.migrated)) func `More buckets than a line can name all count as changed`() async throws {
        let world = try await World()
        try await world.reserve()
        try await world.connection.append(scopes: (1...1001).map { "bucket:b\($0)" })
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [100, 0])
    }

    @Test(.database(.migrated)) func `Of several at once, each is judged by the changes since its own decision`()
        async throws
    {
        let world = try await World()
        try await world.reserve()
        try await world.connection.append(scopes: ["user:alice", "bucket:demo"])
        try await world.reserve(amount: 7)
        try await world.connection.append(scopes: ["bucket:other"])
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [100, 0])
    }

    /// A day of changes may have a hundred thousand lines, and a statement 30 seconds.
    @Test(.database(.migrated)) func `However many are settled at once, the lines of the log are read once`()
        async throws
    {
        let world = try await World()
        for _ in 0..<20 { try await world.reserve() }
        try await world.run(
            """
            INSERT INTO policy_log (seq, tag, scopes, actor, request_id)
            SELECT l.seq + n, gen_random_uuid(), ARRAY['user:' || n], 'test', ''
            FROM (SELECT max(seq) AS seq FROM policy_log) l, generate_series(1, 1000) n
            """)
        let lines = try await world.connection.rowsRead(of: "policy_log") {
            try await world.run(
                """
                SELECT settle_reservations(
                    array_agg(r.issuance_id), array_agg(r.quota_id), array_agg('absent'::text), array_agg(true), 60)
                FROM reservations r
                """)
        }
        #expect(lines >= 1000 && lines < 2000)
        #expect(try await [world.used, world.waiting] == [0, 0])
    }

    @Test(.database(.migrated), arguments: doubts.indices)
    func `What may have arrived stays counted`(_ place: Int) async throws {
        let world = try await World()
        try await world.reserve()
        let doubt = Self.doubts[place]
        if !doubt.sql.isEmpty {
            try await world.run("SET session_replication_role = replica; \(doubt.sql); RESET session_replication_role")
        }
        await world.sweep(doubt.look)
        #expect(try await [world.used, world.waiting] == [100, 0], "\(doubt.name)")
    }

    /// Credentials that permit deletion, by what they are for, and whether one of them may have deleted the object.
    static let deletions: [(name: String, key: String, delivery: Delivery, age: TimeInterval, mayConcern: Bool)] = [
        ("its own link", "users/alice/photo é.jpg", .presignedURL, 0, true),
        ("a signature", "users/alice/photo é.jpg", .remoteSignature, 0, true),
        ("a session on the folder", "users/alice/", .sts, 0, true),
        ("a session on the bucket", "", .sts, 0, true),
        ("a session on the key", "users/alice/photo é.jpg", .sts, 0, true),
        ("a link for another key", "users/alice/photo", .presignedURL, 0, false),
        ("a session on another folder", "users/al", .sts, 0, false),
        ("a link that was dead before", "users/alice/photo é.jpg", .presignedURL, 7200, false),
    ]

    @Test(.database(.migrated), arguments: deletions.indices, [false, true])
    func `What a credential may have deleted stays counted`(_ place: Int, inBatch: Bool) async throws {
        let world = try await World()
        try await world.reserve()
        let row = Self.deletions[place]
        let isSession = row.delivery == .sts
        let deletion = try IssuanceProposal.sample(
            at: await world.connection.position(), principal: "user:bob", lifetime: 10 - row.age
        ).with(
            delivery: row.delivery, action: isSession ? .putObject : .deleteObject,
            furtherActions: isSession ? [.deleteObject] : [], method: isSession ? "*" : "DELETE", key: row.key)
        let other = try IssuanceProposal.sample(at: await world.connection.position(), principal: "user:carol")
            .with(key: "elsewhere/a")
        let proposals = inBatch ? [other, deletion] : [deletion]
        #expect(try await world.connection.record(proposals).allSatisfy(\.isRecorded))
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [row.mayConcern ? 100 : 0, 0], "\(row.name)")
    }

    /// There, a symbolic link to nothing can take the place of an object, and answers as if there were none.
    @Test(.database(.migrated), arguments: ["s3", "oss"], [false, true])
    func `A session that only uploads may hide an object at Alibaba OSS`(provider: String, inBatch: Bool) async throws {
        let world = try await World()
        try await world.run(
            """
            SET session_replication_role = replica; UPDATE buckets SET provider = '\(provider)';
            RESET session_replication_role
            """)
        try await world.reserve()
        let position = try await world.connection.position()
        let session = try IssuanceProposal.sample(at: position, principal: "user:bob").with(
            delivery: .sts, action: .putObject, furtherActions: [.getObject], method: "*", key: "users/alice/")
        let other = try IssuanceProposal.sample(at: position, principal: "user:carol").with(key: "elsewhere/a")
        #expect(
            try await world.connection.record(inBatch ? [other, session] : [session]).allSatisfy(\.isRecorded))
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [provider == "oss" ? 100 : 0, 0])
    }

    @Test(.database(.migrated)) func `A link that only lists or reads gives no doubt`() async throws {
        let world = try await World()
        try await world.reserve()
        for action in [Action.listObjects, .getObject] {
            let proposal = try IssuanceProposal.sample(at: await world.connection.position(), action: action)
                .with(method: "GET")
            #expect(try await world.connection.record([proposal]).allSatisfy(\.isRecorded))
        }
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [0, 0])
    }

    @Test(.database(.migrated)) func `A refused deletion leaves no trace`() async throws {
        let world = try await World()
        let quota = Quota.sample(limit: 0)
        try await world.connection.insert(quota)
        for count in [1, 2] {
            let position = try await world.connection.position()
            let proposals = try (0..<count).map { _ in
                try IssuanceProposal.sample(at: position, action: .deleteObject, charges: [quota.charge()])
            }
            #expect(try await !world.connection.record(proposals).contains { $0.isRecorded })
        }
        #expect(try await world.connection.number("SELECT count(*) FROM deletions") == 0)
    }

    /// Uploads, deletions and settling at the same time: whatever arrived is counted, in every order.
    @Test(.database(.migrated)) func `In a race of uploads, deletions and settling, what arrived stays counted`()
        async throws
    {
        let world = try await World()
        let store = RacedStore()
        let (quota, position) = (world.quota, try await world.connection.position())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    let own = try PostgresConnection(testing: TestDatabase.current.connectionString)
                    let key = "users/alice/\(number)"
                    // Every third link is never used. Links are dead when they are recorded, so objects come before.
                    let isUsed = number % 3 > 0
                    if isUsed {
                        store.put(key, 100)
                    }
                    let upload = try IssuanceProposal.sample(
                        at: position, action: .putObject, charges: [quota.charge(100)], lifetime: -60
                    ).with(key: key)
                    #expect(try await own.record([upload]).allSatisfy(\.isRecorded))
                    if isUsed {
                        let link = try IssuanceProposal.sample(at: position, action: .deleteObject)
                            .with(method: "DELETE", key: key)
                        let deletion =
                            number % 2 > 0
                            ? link
                            : link.with(
                                delivery: .sts, action: .getObject, furtherActions: [.deleteObject], method: "*")
                        #expect(try await own.record([deletion]).allSatisfy(\.isRecorded))
                        store.delete(key)
                    }
                    await own.close()
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    let own = try PostgresConnection(testing: TestDatabase.current.connectionString)
                    for _ in 0..<30 {
                        await ReservationSweeper(
                            connection: own,
                            verifier: StubVerifier { key in
                                store.has(key.rawValue) ? .object(100) : .nothing
                            }, clock: .right, schedule: .init(grace: .zero, batch: 7), logger: .silent
                        ).runRound()
                    }
                    await own.close()
                }
            }
            try await group.waitForAll()
        }
        await world.sweep(.nothing)
        #expect(try await world.waiting == 0)
        let counted = try await world.used
        #expect(counted == store.arrived)
    }

    @Test(.database(.migrated)) func `What is known of deletions outlives every reservation that it concerns`()
        async throws
    {
        let world = try await World()
        try await world.run(
            """
            INSERT INTO deletions SELECT 'user:a', gen_random_uuid(), 'demo', 'k', now() - make_interval(days => d)
            FROM generate_series(0, 40) AS d
            """)
        #expect(try await world.connection.number("SELECT prune_deletions(now(), 1000)") == 8)
        #expect(
            try await world.connection.number(
                "SELECT count(*) FROM deletions WHERE dead_at > now() - interval '33 days'")
                == 33)
    }

    @Test(.database(.migrated)) func `A part by a signature of ours lies under no key, and stays counted`() async throws
    {
        let world = try await World()
        try await world.reserve(.remoteSignature)
        try await world.run("SELECT begin_remote_upload('user:alice', 'demo', '\(world.key)', 'a/b')")
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [100, 0])
        try await world.run("DELETE FROM remote_uploads")
        try await world.reserve(.remoteSignature)
        await world.sweep(.nothing)
        #expect(try await world.used == 100)
    }

    @Test(.database(.migrated)) func `A part without its record stays counted`() async throws {
        let world = try await World()
        try await world.reserve(.multipartPart)
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [100, 0])
    }

    @Test(.database(.migrated)) func `Another change, and another key's upload, are no doubt`() async throws {
        let world = try await World()
        try await world.reserve()
        try await world.run(
            """
            \(Self.change("'{user:alice,bucket:other}'"));
            SELECT begin_remote_upload('user:bob', 'demo', 'users/alice', 'a/b')
            """)
        await world.sweep(.object(5, age: 60))
        #expect(try await [world.used, world.waiting] == [0, 0])
    }

    @Test(.database(.migrated), arguments: [-60, 60.0])
    func `Nothing is settled while the clocks of gateway and database differ`(_ ahead: TimeInterval) async throws {
        let world = try await World()
        try await world.reserve()
        await world.sweep(clock: .ahead(ahead), .nothing)
        #expect(try await [world.used, world.waiting] == [100, 1])
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [0, 0])
    }

    @Test(.database(.migrated), arguments: [nil, 5.5, 86_400])
    func `Nothing is settled by a store whose clock differs, or is not known`(_ difference: TimeInterval?) async throws
    {
        let world = try await World()
        try await world.reserve()
        await world.sweep(StoreLook(object: nil, clockDifference: difference))
        #expect(try await [world.used, world.waiting] == [100, 1])
        try await world.run("UPDATE reservations SET check_at = dead_at")
        await world.sweep(StoreLook(object: nil, clockDifference: 5))
        #expect(try await [world.used, world.waiting] == [0, 0])
    }

    @Test(.database(.migrated)) func `A large upload has its time before anybody looks`() async throws {
        let world = try await World()
        // At 64 KiB a second, this takes an hour from the expiry of the URL.
        try await world.reserve(amount: 3600 * 65_536)
        await world.sweep(.nothing)
        #expect(try await world.waiting == 1)
        let wait = "SELECT extract(epoch FROM check_at - dead_at) FROM reservations"
        #expect(try await world.connection.number(wait) == 3600)
        try await world.run(
            """
            UPDATE reservations SET dead_at = dead_at - interval '1 hour', check_at = check_at - interval '1 hour'
            """)
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [0, 0])
    }

    /// An open upload of three parts of 100 bytes, whose links are dead.
    private func openUpload(
        in world: World
    ) async throws -> (rows: PostgresMultipartUploads, upload: MultipartUpload) {
        let pool = PostgresPool(try TestDatabase.current.configuration(), size: 1, logger: .silent)
        let rows = PostgresMultipartUploads(pool: pool, logger: .silent) { Date() }
        let upload = MultipartUpload(
            id: UUID(), principal: try Principal("user:alice"), bucket: try BucketName("demo"),
            key: try ObjectKey(world.key), contentType: try #require(MediaType("a/b")), contentLength: nil,
            state: .starting, createdAt: Date(), expiresAt: Date().addingTimeInterval(60))
        try await rows.insert(upload)
        _ = try await rows.open(upload.id, as: "store-1")
        for number in [1, 2, 3] {
            let id = try await world.reserve(.multipartPart)
            try await world.run(
                "INSERT INTO multipart_parts VALUES ('\(id)', '\(upload.id)', \(number), 100)")
        }
        return (rows, upload)
    }

    @Test(.database(.migrated), arguments: [false, true])
    func `Discarded parts are given back, but not where somebody else may have completed the upload`(
        isUnknown: Bool
    ) async throws {
        let world = try await World()
        let (rows, upload) = try await openUpload(in: world)
        #expect(try await rows.move(upload.id, from: [.open], to: .aborting))
        #expect(
            try await rows.move(upload.id, from: [.aborting], to: .aborted(as: "store-1", mayBeComplete: isUnknown)))
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [isUnknown ? 300 : 0, 0])
    }

    /// An upload of three parts that is recorded as completed from two of them, perhaps after an abort at which the
    /// store did not know it any more.
    @Test(.database(.migrated), arguments: [(false, false), (true, false), (true, true)])
    func `Parts that an upload was completed without are given back, but not where somebody else may have completed it`(
        isCertain: Bool, wasAborted: Bool
    ) async throws {
        let world = try await World()
        let (rows, upload) = try await openUpload(in: world)
        let parts = try [1, 2].map { try UploadedPart(number: $0, etag: "etag") }
        #expect(try await rows.move(upload.id, from: [.open], to: .completing(parts)))
        if wasAborted {
            #expect(try await rows.move(upload.id, from: [.completing], to: .aborting))
            #expect(try await rows.move(upload.id, from: [.aborting], to: .aborted(as: "store-1", mayBeComplete: true)))
        }
        #expect(
            try await rows.move(
                upload.id, from: [.completing, .aborted], to: .completed(parts, etag: "e-2", isCertain: isCertain)))
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [isCertain ? 200 : 300, 0])
    }

    /// The second sweep finds the links dead for longer than its patience, but the store told nothing of others either.
    /// In the third one the links are dead for as long as anybody waits, but the upload has only ended, and in the last
    /// one that is as long ago.
    @Test(.database(.migrated), arguments: [StoreFailure.unclear("403"), .silent("hangs"), .unasked("no way out")])
    func `Parts stay counted until the store has discarded their upload once more`(failure: StoreFailure) async throws {
        let world = try await World()
        let (rows, upload) = try await openUpload(in: world)
        #expect(try await rows.move(upload.id, from: [.open], to: .aborting))
        #expect(try await rows.move(upload.id, from: [.aborting], to: .aborted(as: "store-1", mayBeComplete: false)))
        func sweep(patience: Duration) async {
            await ReservationSweeper(
                connection: world.connection, verifier: StubVerifier { _ in .nothing }, clock: .right,
                schedule: .init(grace: .zero, patience: patience), logger: .silent
            ) { (_: UUID) async throws(StoreFailure) in
                throw failure
            }.runRound()
        }
        await sweep(patience: .seconds(3600))
        #expect(try await [world.used, world.waiting] == [300, 3])
        try await world.run("UPDATE reservations SET check_at = dead_at")
        await sweep(patience: .seconds(1))
        #expect(try await [world.used, world.waiting] == [300, 3])
        try await world.run(
            "UPDATE reservations SET dead_at = dead_at - interval '25 days', check_at = dead_at - interval '25 days'")
        await sweep(patience: .seconds(1))
        #expect(try await [world.used, world.waiting] == [300, 3])
        try await world.run(
            """
            UPDATE reservations SET check_at = dead_at;
            UPDATE multipart_uploads SET expires_at = expires_at - interval '25 days'
            """)
        await sweep(patience: .seconds(1))
        #expect(try await [world.used, world.waiting] == [300, 0])
    }

    /// How many days ago the link of a part died and its upload expired, and whether the store's answer is clear.
    struct Ending: Sendable, CustomTestStringConvertible {
        let dead: Int
        let expired: Int
        let isClear: Bool

        var testDescription: String { "dead \(dead), expired \(expired), \(isClear ? "clear" : "unclear")" }

        static let all = [(0, 0), (2, 0), (2, 2), (25, 0), (25, 2), (25, 25)].flatMap { dead, expired in
            [true, false].map { Ending(dead: dead, expired: expired, isClear: $0) }
        }
    }

    /// When a link died does not matter to its part, because the upload may have ended much later. The oracle is what
    /// the documents say: a store is asked for 24 days, and only for one if it tells something about others.
    @Test(.database(.migrated), arguments: Ending.all)
    func `The time in which a store is asked about a part begins when the upload expires`(_ ending: Ending) async throws
    {
        let world = try await World()
        let (rows, upload) = try await openUpload(in: world)
        #expect(try await rows.move(upload.id, from: [.open], to: .aborting))
        #expect(try await rows.move(upload.id, from: [.aborting], to: .aborted(as: "store-1", mayBeComplete: false)))
        // The store tells something about this one.
        try await world.reserve()
        try await world.run(
            """
            UPDATE reservations r
            SET issued_at = r.issued_at - interval '\(ending.dead) days', dead_at = r.dead_at - interval '\(ending.dead) days',
                check_at = r.dead_at - interval '\(ending.dead) days'
            WHERE r.delivery = 'multipart-part';
            UPDATE multipart_uploads SET expires_at = now() - interval '\(ending.expired) days'
            """)
        let questions = Mutex(0)
        await ReservationSweeper(
            connection: world.connection, verifier: StubVerifier { _ in .nothing }, clock: .right,
            schedule: .init(grace: .zero), logger: .silent
        ) { (_: UUID) async throws(StoreFailure) in
            questions.withLock { $0 += 1 }
            if !ending.isClear { throw .unclear("503") }
        }.runRound()
        let isAsked = ending.expired < 24
        #expect(questions.withLock { $0 } == (isAsked ? 1 : 0))
        let isWaiting = !ending.isClear && ending.expired < 1
        #expect(try await [world.used, world.waiting] == [isAsked && ending.isClear ? 0 : 300, isWaiting ? 3 : 0])
    }

    @Test(.database(.migrated), arguments: ["bucket:demo", "bucket:other"])
    func `Discarded parts stay counted if the bucket was changed meanwhile`(scope: String) async throws {
        let world = try await World()
        let (rows, upload) = try await openUpload(in: world)
        try await world.run(
            "SET session_replication_role = replica; \(Self.change("ARRAY['\(scope)']")); RESET session_replication_role"
        )
        #expect(try await rows.move(upload.id, from: [.open], to: .aborting))
        #expect(try await rows.move(upload.id, from: [.aborting], to: .aborted(as: "store-1", mayBeComplete: false)))
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [scope == "bucket:demo" ? 300 : 0, 0])
    }

    @Test(.database(.migrated)) func `An attempt to complete keeps its parts, also where it came to nothing`()
        async throws
    {
        let world = try await World()
        let (rows, upload) = try await openUpload(in: world)
        func parts(_ numbers: Int...) throws -> [UploadedPart] {
            try numbers.map { try UploadedPart(number: $0, etag: "etag") }
        }
        #expect(try await rows.move(upload.id, from: [.open, .completing], to: .completing(parts(1, 2))))
        // The store may have received the first call, and may still answer that it made an object of two parts.
        #expect(try await !rows.move(upload.id, from: [.open, .completing], to: .completing(parts(1))))
        #expect(try await rows.move(upload.id, from: [.open, .completing], to: .completing(parts(1, 2))))
        #expect(try await rows.move(upload.id, from: [.completing], to: .aborting))
        #expect(try await rows.move(upload.id, from: [.aborting], to: .aborted(as: "store-1", mayBeComplete: false)))
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [200, 0])
    }

    @Test(.database(.migrated)) func `Parts of an attempt that the store refused are in no object`() async throws {
        let world = try await World()
        let (rows, upload) = try await openUpload(in: world)
        let parts = try [UploadedPart(number: 1, etag: "etag")]
        #expect(try await rows.move(upload.id, from: [.open], to: .completing(parts)))
        #expect(try await rows.move(upload.id, from: [.completing], to: .refused(parts)))
        #expect(try await rows.move(upload.id, from: [.open], to: .aborting))
        #expect(try await rows.move(upload.id, from: [.aborting], to: .aborted(as: "store-1", mayBeComplete: false)))
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [0, 0])
    }

    @Test(.database(.migrated), arguments: [Int64(100), 5 << 30])
    func `A part of an aborted upload is counted while a slow client may still send it`(bytes: Int64) async throws {
        let world = try await World()
        let (rows, upload) = try await openUpload(in: world)
        try await world.run("UPDATE reservations SET amount = \(bytes); UPDATE quota_usage SET used = 3 * \(bytes)")
        #expect(try await rows.move(upload.id, from: [.open], to: .aborting))
        #expect(try await rows.move(upload.id, from: [.aborting], to: .aborted(as: "store-1", mayBeComplete: false)))
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == (bytes == 100 ? [0, 0] : [3 * bytes, 3]))
    }

    @Test(.database(.migrated)) func `Parts wait for the end of their upload, however long it takes`() async throws {
        let world = try await World()
        let (rows, upload) = try await openUpload(in: world)
        try await world.run(
            """
            UPDATE reservations SET issued_at = issued_at - interval '3 days', dead_at = dead_at - interval '3 days',
                check_at = check_at - interval '3 days'
            """)
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [300, 3])
        #expect(try await rows.move(upload.id, from: [.open], to: .aborting))
        #expect(try await rows.move(upload.id, from: [.aborting], to: .aborted(as: "store-1", mayBeComplete: false)))
        try await world.run("UPDATE reservations SET check_at = dead_at")
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [0, 0])
    }

    /// The store refuses to abort it, say.
    @Test(.database(.migrated), arguments: [0, 23, 25])
    func `Parts of an upload that never ends stay counted, and nobody waits longer than for others`(
        daysSinceExpiry: Int
    ) async throws {
        let world = try await World()
        _ = try await openUpload(in: world)
        try await world.run(
            """
            UPDATE reservations SET dead_at = dead_at - interval '40 days', check_at = check_at - interval '40 days';
            UPDATE multipart_uploads SET expires_at = now() - interval '\(daysSinceExpiry) days'
            """)
        await world.sweep(.nothing)
        #expect(try await [world.used, world.waiting] == [300, daysSinceExpiry < 24 ? 3 : 0])
    }
}

/// A store that several tasks use at the same time, with an account of the bytes that arrived.
private final class RacedStore: Sendable {
    private let state = Mutex<(keys: Set<String>, arrived: Int64)>(([], 0))

    var arrived: Int64 { state.withLock { $0.arrived } }

    func put(_ key: String, _ bytes: Int64) {
        state.withLock { state in
            state.keys.insert(key)
            state.arrived += bytes
        }
    }

    func delete(_ key: String) { state.withLock { _ = $0.keys.remove(key) } }

    func has(_ key: String) -> Bool { state.withLock { $0.keys.contains(key) } }
}

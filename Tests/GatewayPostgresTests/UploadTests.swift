import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// The state of uploads in a real database, as the gateway's role reads and writes it.
@Suite struct UploadTests {
    private let world: LedgerWorld
    private let uploads: PostgresUploads
    private let events: PostgresStoreEvents

    init() throws {
        world = try LedgerWorld()
        let database = try TestDatabase.current
        func pool(_ settings: [(name: String, value: String)]) throws -> PostgresPool {
            PostgresPool(
                try database.configuration(sessionSettings: settings + [("role", "sluice_gateway")]), size: 4,
                logger: .silent)
        }
        let writing = try pool([])
        uploads = PostgresUploads(
            pool: writing, ledgerPool: try pool(PostgresIssuances.sessionSettings), logger: .silent, now: { Date() })
        events = PostgresStoreEvents(pool: writing, lookUps: writing, logger: .silent, now: { Date() })
    }

    /// Writes an upload; by default it is alive and issued now.
    private func upload(
        _ key: String = "team/a.txt", at: Date = Date(), life: TimeInterval = 900, delivery: String = "presigned-url",
        principal: String = "user:alice", length: Int64? = 5
    ) async throws -> UUID {
        var row = LedgerWorld.Row(at: at, principal: principal)
        (row.action, row.delivery, row.key, row.life, row.length) = ("PutObject", delivery, key, life, length)
        return try await world.write([row])[0]
    }

    private func list(_ state: UploadState? = nil) async throws -> [UUID] {
        let query = UploadQuery(state: state, from: Date().addingTimeInterval(-3 * 86_400))
        return try await uploads.uploads(query).items.map(\.record.id)
    }

    @Test(.database(.migrated)) func anUploadIsIssuedThenExpiredWithoutARow() async throws {
        let alive = try await upload()
        let dead = try await upload(life: -1)
        var download = LedgerWorld.Row(at: Date())
        download.life = -1
        let other = try await world.write([download])[0]
        #expect(try await list(.issued) == [alive])
        #expect(try await list(.expired) == [dead])
        #expect(try await Set(list()) == [alive, dead])
        #expect(try await uploads.upload(alive)?.record.isDead == false)
        let record = try #require(try await uploads.upload(dead)).record
        #expect(record.isDead && record.key == "team/a.txt" && record.contentLength == 5)
        #expect(try await uploads.upload(dead)?.finding == nil)
        // Every issuance is found. An identifier that was not issued is not found, whatever time it contains.
        #expect(try await uploads.upload(other)?.record.action == "GetObject")
        for id in [UUID(), .version7(at: Date(), randomBytes: []), .version7(at: .distantFuture, randomBytes: [])] {
            #expect(try await uploads.upload(id) == nil)
        }
        #expect(try await world.connection.number("SELECT count(*) FROM landings") == 0)
    }

    @Test(.database(.migrated)) func whatLandedStaysSo() async throws {
        let id = try await upload(life: -1)
        let absent = try await uploads.note(UploadFinding(kind: .absent, source: .confirmation), on: id)
        #expect(absent.kind == .absent && absent.foundAt != nil)
        #expect(try await list(.expired) == [id])
        let other = UploadFinding(kind: .mismatched, mismatches: [.size, .type], source: .confirmation, size: 6)
        #expect(try await uploads.note(other, on: id).mismatches == [.size, .type])
        #expect(try await list(.mismatched) == [id])
        let landed = UploadFinding(
            kind: .landed, source: .confirmation, size: 5, etag: "e", contentType: "text/plain")
        _ = try await uploads.note(landed, on: id)
        #expect(try await uploads.note(other, on: id).kind == .landed)
        #expect(try await list(.landed) == [id])
        #expect(try await uploads.upload(id)?.finding?.etag == "e")
    }

    /// Whoever told that an upload landed: that the object is gone later does not take it back.
    @Test(.database(.migrated), arguments: ["settlement", "event", "completion", "sum"])
    func whatLandedStaysSoOnceItIsGone(_ source: String) async throws {
        let id = try await upload(life: -1, delivery: source == "completion" ? "multipart-start" : "presigned-url")
        #expect(try await list(.expired) == [id])
        let (bucket, key) = (try BucketName("demo"), try ObjectKey("team/a.txt"))
        switch source {
        case "settlement":
            _ = try await world.connection.execute(LandingTable.noteSettled, ([id], [5]))
        case "event":
            _ = try await events.note([MadeObject(key: key, madeAt: Date(), size: 5, etag: "e")], in: bucket)
        case "completion":
            try await world.connection.runScript(
                """
                INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, content_length, state,
                    expires_at, check_at, etag)
                VALUES ('\(id)', 'user:alice', 'demo', 'team/a.txt', 'text/plain', 5, 'completed', now(), now(), 'x-1')
                """)
        default: try await world.connection.runScript("INSERT INTO landed_uploads VALUES ('\(id)', 5)")
        }
        #expect(try await list(.landed) == [id])
        let before = try await uploads.upload(id)
        let confirmation = UploadConfirmation(records: uploads, objects: NoObjects())
        #expect(try await confirmation.confirm(id) == before)
        #expect(try await list(.landed) == [id])
        if source == "completion" {
            // Another object has replaced what the store completed.
            let other = UploadConfirmation(records: uploads, objects: OneObject(size: 9, etag: "y"))
            #expect(try await other.confirm(id) == before)
            #expect(try await list(.landed) == [id])
            let own = UploadConfirmation(records: uploads, objects: OneObject(size: 9, etag: "x-1"))
            #expect(try await own.confirm(id).finding?.mismatches == [.size])
        }
        // A look that began before does not take back what settling found either.
        guard source == "settlement" else { return }
        let absent = UploadFinding(kind: .absent, source: .confirmation)
        #expect(try await uploads.note(absent, on: id).kind == .landed)
        #expect(try await list(.landed) == [id])
        // What a confirmation finds counts more than what settling found.
        let other = UploadFinding(kind: .mismatched, mismatches: [.type], source: .confirmation, size: 5)
        #expect(try await uploads.note(other, on: id).kind == .mismatched)
    }

    @Test(.database(.migrated)) func confirmationsAtOnceAgree() async throws {
        let id = try await upload()
        let kinds: [UploadFinding.Kind] = (0..<40).map { $0 == 20 ? .landed : .absent }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for kind in kinds {
                group.addTask { _ = try await uploads.note(UploadFinding(kind: kind, source: .confirmation), on: id) }
            }
            try await group.waitForAll()
        }
        #expect(try await uploads.upload(id)?.finding?.kind == .landed)
        #expect(try await world.connection.number("SELECT count(*) FROM landings") == 1)
    }

    @Test(.database(.migrated)) func anEventInTheTimeOfTheUploadIsAHint() async throws {
        let now = Date()
        let early = try await upload(at: now.addingTimeInterval(-7200))
        let id = try await upload(at: now.addingTimeInterval(-1200), life: 600)
        let bucket = try BucketName("demo")
        func object(_ key: String, _ offset: TimeInterval) throws -> MadeObject {
            MadeObject(key: try ObjectKey(key), madeAt: now.addingTimeInterval(offset), size: 5, etag: "e")
        }
        #expect(try await events.note([object("team/b.txt", -1000)], in: bucket) == 1)
        #expect(try await list(.expired) == [id, early])
        // Out of order, repeated, and in separate messages.
        let made = try [object("team/a.txt", -1000), object("team/a.txt", -1100), object("team/a.txt", -1000)]
        #expect(try await events.note(made, in: bucket) == 2)
        #expect(try await events.note(made.reversed(), in: bucket) == 0)
        #expect(try await list(.landed) == [id])
        #expect(try await list(.expired) == [early])
        let page = try await uploads.uploads(UploadQuery(state: .landed, from: now.addingTimeInterval(-86_400)))
        #expect(page.items[0].finding?.source == .event && page.items[0].finding?.etag == "e")
        // The gateway's own observation takes precedence over a report.
        let other = UploadFinding(kind: .mismatched, mismatches: [.md5], source: .confirmation)
        _ = try await uploads.note(other, on: id)
        #expect(try await list(.mismatched) == [id])
    }

    @Test(.database(.migrated)) func aRepeatedCallbackIsNotNew() async throws {
        let bucket = try BucketName("demo")
        let now = Date()
        func callback(_ mark: String?, _ offset: TimeInterval, key: String = "team/a.txt") throws -> MadeObject {
            MadeObject(
                key: try ObjectKey(key), madeAt: now.addingTimeInterval(offset), size: 5, etag: "e", callbackID: mark)
        }
        #expect(try await events.note([callback("request:1", 0)], in: bucket) == 1)
        // A callback carries no time; the time of its arrival differs on each delivery.
        #expect(try await events.note([callback("request:1", 7)], in: bucket) == 0)
        #expect(try await events.note([callback("request:2", 8)], in: bucket) == 1)
        #expect(try await events.note([callback("request:1", 9, key: "team/b.txt")], in: bucket) == 1)
        #expect(try await events.note([callback(nil, 10), callback(nil, 11)], in: bucket) == 2)
    }

    @Test(.database(.migrated)) func whatNobodyCanKnowIsUnverified() async throws {
        let id = try await upload()
        let finding = UploadFinding(kind: .unverified, source: .confirmation, size: 5)
        #expect(try await uploads.note(finding, on: id).kind == .unverified)
        #expect(try await list(.unverified) == [id])
        // The store may answer when it is asked again.
        let other = UploadFinding(kind: .mismatched, mismatches: [.sha256], source: .confirmation)
        #expect(try await uploads.note(other, on: id).mismatches == [.sha256])
        _ = try await uploads.note(UploadFinding(kind: .landed, source: .confirmation), on: id)
        #expect(try await list(.landed) == [id])
    }

    @Test(.database(.migrated)) func messagesAboutTheSameObjectsNeverWaitInACircle() async throws {
        let bucket = try BucketName("demo")
        let now = Date()
        let made = try (0..<200).map {
            MadeObject(key: try ObjectKey("k\($0)"), madeAt: now, size: nil, etag: nil)
        }
        let new = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { try await events.note(made.shuffled(), in: bucket) } }
            return try await group.reduce(0, +)
        }
        #expect(new == 200)
    }

    @Test(.database(.migrated)) func anUploadInPartsLandsWhenItIsCompleted() async throws {
        let id = try await upload(life: -1, delivery: "multipart-start", length: nil)
        try await world.connection.runScript(
            """
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, content_length, state, expires_at,
                check_at)
            VALUES ('\(id)', 'user:alice', 'demo', 'team/a.txt', 'text/plain', 99, 'open', now() + interval '1 hour', now())
            """)
        // Ceph up to 16.2.10 reports each part as an object.
        let part = MadeObject(key: try ObjectKey("team/a.txt"), madeAt: Date(), size: 5, etag: "e")
        #expect(try await events.note([part], in: BucketName("demo")) == 1)
        #expect(try await list(.issued) == [id])
        #expect(try await uploads.upload(id)?.finding == nil)
        let record = try #require(try await uploads.upload(id)).record
        #expect(record.contentLength == 99 && record.expiresAt > Date() && !record.hasForgottenEnd)
        try await world.connection.runScript("UPDATE multipart_uploads SET state = 'completed', etag = 'x-2'")
        #expect(try await list(.landed) == [id])
        #expect(try await uploads.upload(id)?.record.completedETag == "x-2")
        try await world.connection.runScript("UPDATE multipart_uploads SET state = 'aborted'")
        #expect(try await list(.expired) == [id])
        try await world.connection.runScript("DELETE FROM multipart_uploads")
        let forgotten = try #require(try await uploads.upload(id)).record
        #expect(forgotten.expiresAt < Date() && forgotten.hasForgottenEnd)
        #expect(try await uploads.upload(upload())?.record.hasForgottenEnd == false)
    }

    /// The states of an upload in parts, whether parts were listed to complete it, whether somebody else may have done
    /// so, and whether an object under its key may be its own.
    static let stages = [
        ("starting", false, false, false), ("open", false, false, false), ("completing", true, false, true),
        ("completed", true, false, true), ("aborting", false, false, false), ("aborting", true, false, true),
        ("aborted", false, false, false), ("aborted", true, false, false), ("aborted", false, true, true),
    ]

    /// The object of another link for the key lies there.
    @Test(.database(.migrated), arguments: stages)
    func anUploadInPartsThatIsNotCompletedTakesNoOtherObject(
        state: String, isListed: Bool, mayBeComplete: Bool, isAsked: Bool
    ) async throws {
        let id = try await upload(delivery: "multipart-start")
        try await world.connection.runScript(
            """
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at, check_at,
                part_numbers, part_etags, may_be_complete)
            VALUES ('\(id)', 'user:alice', 'demo', 'team/a.txt', 'text/plain', '\(state)', now() + interval '1 hour', now(),
                '\(isListed ? "{1}" : "{}")', '\(isListed ? "{a}" : "{}")', \(mayBeComplete))
            """)
        let before = try await uploads.upload(id)
        let confirmation = UploadConfirmation(records: uploads, objects: OneObject(size: 5, etag: "e"))
        let after = try await confirmation.confirm(id)
        #expect((after == before) == !isAsked && (after.state == .landed) == isAsked)
        #expect(try await world.connection.number("SELECT count(*) FROM landings") == (isAsked ? 1 : 0))
    }

    @Test(.database(.migrated)) func pagesGoOnWhereTheLastOneEnded() async throws {
        var ids: [UUID] = []
        for number in 0..<7 {
            let at = Date().addingTimeInterval(TimeInterval(number) * 3600 - 2 * 86_400)
            ids.append(try await upload(at: at, principal: number == 3 ? "user:bob" : "user:alice"))
        }
        var query = UploadQuery(state: .expired, from: Date().addingTimeInterval(-3 * 86_400), pageSize: 2)
        var found: [UUID] = []
        repeat {
            let page = try await uploads.uploads(query)
            found += page.items.map(\.record.id)
            query.pageToken = page.nextPageToken
        } while query.pageToken != nil
        #expect(found == ids.reversed())
        let bob = UploadQuery(principal: try Principal("user:bob"), from: query.from)
        #expect(try await uploads.uploads(bob).items.map(\.record.id) == [ids[3]])
        let elsewhere = UploadQuery(bucket: try BucketName("other"), from: query.from)
        #expect(try await uploads.uploads(elsewhere).items.isEmpty)
        query.pageToken = "x"
        await #expect(throws: GatewayError.self) { try await uploads.uploads(query) }
    }

    /// The gateway's clock is a minute behind the database's. A link issued 50 seconds ago expired 10 seconds ago; by
    /// the gateway's own clock it has not yet begun to expire.
    @Test(.database(.migrated)) func anUploadIsDeadByTheLaterOfBothClocks() async throws {
        var row = LedgerWorld.Row(at: Date())
        (row.action, row.life, row.madeAt) = ("PutObject", -10, row.at.addingTimeInterval(-60))
        let alive = try await world.write([row])[0]
        row.at = row.at.addingTimeInterval(-100)
        row.madeAt = row.at.addingTimeInterval(-60)
        let dead = try await world.write([row])[0]
        #expect(try await list(.issued) == [alive])
        #expect(try await list(.expired) == [dead])
        #expect(try await uploads.upload(alive)?.record.isDead == false)
    }

    @Test(.database(.migrated)) func settlingTellsWhatItFound() async throws {
        let there = try await upload("a", life: -1)
        let larger = try await upload("b", life: -1)
        let gone = try await upload("c", life: -1)
        let confirmed = try await upload("d", life: -1)
        let empty = try await upload("e", life: -1, length: 0)
        _ = try await uploads.note(UploadFinding(kind: .landed, source: .confirmation, size: 5), on: confirmed)
        for id in [there, larger, gone, confirmed, empty] {
            try await world.connection.runScript(
                HeldBytes.ofLedger(
                    "5", quota: "gen_random_uuid()", deadAt: "now() - interval '1 minute'",
                    from: "issuances i WHERE i.id = '\(id)'"))
        }
        await ReservationSweeper(
            connection: world.connection,
            verifier: StubVerifier { key in
                switch key.rawValue {
                case "a": .object(5)
                case "b": .object(6)
                case "e": .object(0)
                default: .nothing
                }
            }, clock: .right, schedule: .init(grace: .zero), logger: .silent
        ).runRound()
        #expect(try await world.connection.number("SELECT count(*) FROM reservations") == 0)
        #expect(try await list(.landed) == [confirmed, empty, there].sorted { $0.uuidString > $1.uuidString })
        #expect(try await uploads.upload(empty)?.finding?.size == 0)
        #expect(try await list(.mismatched) == [larger])
        #expect(try await list(.expired) == [gone])
        #expect(try await uploads.upload(gone)?.finding?.source == .settlement)
    }

    /// An app may ask before its upload has ended.
    @Test(.database(.migrated)) func whatSettlingFindsReplacesALookThatFoundNothing() async throws {
        let id = try await upload(life: -1)
        _ = try await uploads.note(UploadFinding(kind: .absent, source: .confirmation), on: id)
        func settle(_ size: Int64?) async throws {
            try await world.connection.perform(LandingTable.noteSettled, ([id], [size]))
        }
        try await settle(nil)
        #expect(try await uploads.upload(id)?.finding?.source == .confirmation)
        try await world.connection.runScript("DELETE FROM landing_changes")
        try await settle(5)
        #expect(try await list(.landed) == [id])
        #expect(try await uploads.upload(id)?.finding?.source == .settlement)
        // Sums take it from here.
        #expect(try await world.connection.number("SELECT count(*) FROM landing_changes") == 1)
        for size in [nil, 6] as [Int64?] { try await settle(size) }
        #expect(try await uploads.upload(id)?.finding?.size == 5)
        #expect(try await list(.landed) == [id])
    }

    /// The store may have been silent for days after the end of a link.
    @Test(.database(.migrated), arguments: [0, 7, 11, 31])
    func whatSettlingFindsIsKeptHoweverOldTheLinkIs(days: Int) async throws {
        let id = try await upload(at: Date().addingTimeInterval(-Double(days) * 86_400), life: 7 * 86_400)
        try await world.connection.perform(LandingTable.noteSettled, ([id], [5]))
        #expect(try await uploads.upload(id)?.finding?.size == 5)
    }

    @Test(.database(.migrated)) func oldEventsAndFindingsGo() async throws {
        let old = try await upload("a", at: Date().addingTimeInterval(-40 * 86_400))
        let new = try await upload("b")
        for id in [old, new] { _ = try await uploads.note(UploadFinding(kind: .landed, source: .confirmation), on: id) }
        let now = Date()
        let made = [MadeObject(key: try ObjectKey("k"), madeAt: now, size: nil, etag: nil)]
        _ = try await events.note(made, in: BucketName("demo"))
        func prune(_ keepDays: Int32?) async throws -> Int32? {
            try await world.connection.execute(LandingTable.prune, (keepDays, Date(), 10)).first
        }
        #expect(try await prune(nil) == 0)
        try await world.connection.runScript("INSERT INTO landed_uploads VALUES ('\(old)', 5), ('\(new)', 5)")
        #expect(try await prune(1) == 0)
        for change in ["empty", "drop"] {
            try await world.connection.runScript(
                "SELECT \(change)_issuances_partition(day, 32, now()) FROM expired_issuances_days(32, now()) AS day")
        }
        #expect(try await prune(1) == 2)
        for table in ["landings", "landed_uploads"] {
            #expect(
                try await world.connection.texts("SELECT issuance_id::text FROM \(table)") == [new.lowercaseText])
        }
        try await world.connection.runScript("UPDATE store_events SET received_at = now() - interval '11 days'")
        #expect(try await prune(nil) == 1)
    }

    /// A day of the ledger is dropped when all of it is past retention, so its last links are a day older by then.
    @Test(.database(.migrated)) func noFindingGoesBeforeItsLink() async throws {
        let today = (Date().timeIntervalSince1970 / 86_400).rounded(.down)
        let firstKept = (today - 32) * 86_400
        let instants = [firstKept, firstKept + 1, firstKept + 43_200, firstKept - 1, firstKept - 43_200]
        for kind in [UploadFinding.Kind.landed, .mismatched, .unverified, .absent] {
            for instant in instants {
                let id = try await upload("\(Int(instant))/\(kind)", at: Date(timeIntervalSince1970: instant))
                let mismatches: [UploadFinding.Mismatch] = kind == .mismatched ? [.size] : []
                _ = try await uploads.note(
                    UploadFinding(kind: kind, mismatches: mismatches, source: .confirmation, size: 1), on: id)
            }
        }
        try await world.connection.runScript("INSERT INTO landed_uploads SELECT issuance_id, 1 FROM landings")
        let states = "SELECT concat_ws(' ', object_key, state, landed_bytes) FROM uploads ORDER BY object_key"
        let before = try await world.connection.texts(states)
        #expect(before.count == 4 * instants.count)
        _ = try await world.connection.execute(LandingTable.prune, (32, Date(), 100))
        let kept = try await world.connection.texts(
            """
            SELECT concat_ws(' ', u.object_key, u.state, u.landed_bytes) FROM uploads u
            WHERE (u.issued_at AT TIME ZONE 'UTC')::date NOT IN (SELECT expired_issuances_days(32, now()))
            ORDER BY u.object_key
            """)
        #expect(kept.count == 12 && Set(kept).isSubset(of: before), "\(Set(kept).subtracting(before))")
        // A day that could not be dropped keeps what was found of its links.
        try await world.connection.runScript("SELECT create_issuances_partition(current_date - 50)")
        let left = try await upload("left", at: Date().addingTimeInterval(-50 * 86_400))
        _ = try await uploads.note(UploadFinding(kind: .landed, source: .confirmation, size: 1), on: left)
        _ = try await world.connection.execute(LandingTable.prune, (32, Date(), 100))
        #expect(try await world.connection.texts(states).contains("left landed 1"))
    }

    @Test(.database(.migrated)) func secretsRotateAndGoWithTheirBucket() async throws {
        let admins = try AdminWorld()
        let bucket = try await admins.makeBucket()
        func secret(_ name: String) -> EventSecret {
            EventSecret(bucket: bucket.name, name: name, hash: [UInt8](repeating: 1, count: 32), createdAt: Date())
        }
        let change = AdminWorld.change
        await #expect(throws: GatewayError.notFound(.bucket)) {
            var other = secret("x")
            other.bucket = try BucketName("other")
            _ = try await events.rotate(other, overlap: 0, by: change)
        }
        _ = try await events.rotate(secret("first"), overlap: 0, by: change)
        #expect(try await events.secret(named: "first")?.bucket == bucket.name)
        let second = try await events.rotate(secret("second"), overlap: 60, by: change)
        #expect(second.previousUntil != nil)
        for name in ["first", "second"] { #expect(try await events.secret(named: name) != nil) }
        try await admins.connection.runScript("UPDATE event_secrets SET previous_until = now()")
        #expect(try await events.secret(named: "first") == nil)
        _ = try await events.rotate(secret("third"), overlap: 0, by: change)
        #expect(try await events.secret(named: "second") == nil)
        #expect(try await events.secret(of: bucket.name)?.previousUntil == nil)
        let audited =
            "SELECT operation || ' ' || (after->>'name') FROM admin_audit WHERE kind = 'EventSecret' ORDER BY id"
        #expect(
            try await admins.connection.texts(audited) == ["rotate first", "rotate second", "rotate third"])
        let credential = bucket.credentialID.lowercaseText
        try await admins.stores.buckets.delete("demo", by: change)
        #expect(try await events.secret(named: "third") == nil)
        try await admins.stores.credentials.delete(credential, by: change)
        #expect(try await events.removeSecret(of: bucket.name, by: change) == false)
    }

    @Test(.database(.migrated)) func theGatewayCannotTakeBackWhatItKnows() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript("SET ROLE sluice_gateway")
        for statement in ["DELETE FROM landings", "DELETE FROM store_events", "UPDATE store_events SET size = 1"] {
            await #expect(throws: PostgresError.self) { try await connection.runScript(statement) }
        }
    }
}

/// The column of an upload's digests.
@Suite struct ContentDigestsTests {
    @Test(arguments: [true, false], [(false, false), (true, false), (true, true), (false, true)])
    func digestsShareAColumn(hasMD5: Bool, sha256: (isThere: Bool, signsPayload: Bool)) throws {
        let proposal = try IssuanceProposal.sample(
            at: PolicyPosition(sequence: 1, tag: UUID()), action: hasMD5 ? .putObject : .getObject
        ).with(
            contentSHA256: sha256.isThere ? [UInt8](repeating: 9, count: 32) : nil, signsPayload: sha256.signsPayload)
        let read = ContentDigests(ContentDigests.column(of: proposal))
        #expect(read.md5 == proposal.contentMD5 && read.sha256 == proposal.contentSHA256)
        #expect(read.signsPayload == (sha256.isThere && sha256.signsPayload))
    }
}

/// A store in which nothing is left.
private struct NoObjects: StoredObjects {
    func object(
        _ key: ObjectKey, in bucket: BucketName, withSHA256: Bool
    ) async throws(GatewayError) -> StoredObject? { nil }
}

private struct OneObject: StoredObjects {
    let size: Int64
    let etag: String

    func object(
        _ key: ObjectKey, in bucket: BucketName, withSHA256: Bool
    ) async throws(GatewayError) -> StoredObject? {
        StoredObject(size: size, etag: etag, modifiedAt: Date())
    }
}

import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayPostgres

/// Multipart uploads, as the gateway's role stores them.
@Suite struct MultipartTests {
    private func rows() throws -> (PostgresMultipartUploads, PostgresConnection) {
        let role = [(name: "role", value: "sluice_gateway")]
        let database = try TestDatabase.current
        let pool = PostgresPool(try database.configuration(sessionSettings: role), size: 4, logger: .silent)
        let connection = try PostgresConnection(testing: database.connectionString, settings: role)
        return (PostgresMultipartUploads(pool: pool, logger: .silent, now: { Date() }), connection)
    }

    private func upload(
        _ number: Int = 1, of user: String = "alice", in bucket: String = "demo", contentLength: Int64? = nil,
        expiresIn: TimeInterval = 3600
    ) throws -> MultipartUpload {
        MultipartUpload(
            id: .version7(at: Date(timeIntervalSince1970: 1_900_000_000 + Double(number)), randomBytes: []),
            principal: try .user(user), bucket: try BucketName(bucket), key: try ObjectKey("a/large.bin"),
            contentType: try #require(MediaType("image/png")), contentLength: contentLength, state: .starting,
            createdAt: Date(), expiresAt: Date().addingTimeInterval(expiresIn))
    }

    private func part(_ number: Int, _ length: Int64?) -> ReservedPart {
        ReservedPart(issuance: UUID(), number: number, contentLength: length)
    }

    @Test(.database(.migrated)) func aRowIsReadAsItWasWritten() async throws {
        let (rows, _) = try rows()
        let upload = try upload(contentLength: 10)
        try await rows.insert(upload)
        let started = try #require(try await rows.find(upload.id))
        #expect(started.state == .starting && started.contentLength == 10 && started.key == upload.key)
        #expect(try await rows.open(upload.id, as: "store-1") == .open)
        let parts = try [UploadedPart(number: 2, etag: "\"b\""), UploadedPart(number: 7, etag: "c")]
        #expect(try await rows.move(upload.id, from: [.open], to: .completing(parts)))
        #expect(try await !rows.move(upload.id, from: [.open], to: .aborting))
        #expect(
            try await rows.move(upload.id, from: [.completing], to: .completed(parts, etag: "e-2", isCertain: true)))
        let completed = try #require(try await rows.find(upload.id))
        #expect(completed.state == .completed && completed.parts == parts && completed.etag == "e-2")
        #expect(completed.storeUploadID == "store-1")
        #expect(try await rows.find(UUID()) == nil)
    }

    /// What the store answered to one attempt is not taken for the end of another, and what it assembled stands.
    @Test(.database(.migrated)) func theEndOfAnAttemptToCompleteIsThatOfItsParts() async throws {
        let (rows, _) = try rows()
        let (wrong, right) = try (
            [UploadedPart(number: 1, etag: "x")],
            [UploadedPart(number: 1, etag: "a"), UploadedPart(number: 2, etag: "b")]
        )
        func begin(_ id: UUID, _ parts: [UploadedPart]) async throws -> Bool {
            try await rows.move(id, from: [.open, .completing], to: .completing(parts))
        }
        func refuse(_ id: UUID, _ parts: [UploadedPart]) async throws -> Bool {
            try await rows.move(id, from: [.completing], to: .refused(parts))
        }
        func complete(_ id: UUID, _ parts: [UploadedPart]) async throws {
            let all: Set<MultipartUpload.State> = [.open, .completing, .aborting, .aborted]
            #expect(try await rows.move(id, from: all, to: .completed(parts, etag: "e", isCertain: true)))
            let upload = try #require(try await rows.find(id))
            #expect(upload.state == .completed && upload.parts == parts && upload.etag == "e")
        }
        var uploads: [UUID] = []
        for number in 0..<3 {
            let upload = try upload(number)
            try await rows.insert(upload)
            _ = try await rows.open(upload.id, as: "store-\(number)")
            uploads.append(upload.id)
        }
        // Two attempts with wrong parts, the answer to the second of which comes late.
        #expect(try await begin(uploads[0], wrong))
        #expect(try await begin(uploads[0], wrong))
        #expect(try await refuse(uploads[0], wrong))
        #expect(try await begin(uploads[0], right))
        #expect(try await !refuse(uploads[0], wrong))
        #expect(try await !begin(uploads[0], wrong))
        try await complete(uploads[0], right)
        // The store refuses one of two equal attempts and does the other; a third one is made between.
        #expect(try await begin(uploads[1], right))
        #expect(try await begin(uploads[1], right))
        #expect(try await refuse(uploads[1], right))
        #expect(try await begin(uploads[1], wrong))
        try await complete(uploads[1], right)
        // An admin aborts while the store assembles.
        #expect(try await begin(uploads[2], right))
        #expect(try await rows.move(uploads[2], from: [.completing], to: .aborting))
        #expect(try await rows.move(uploads[2], from: [.aborting], to: .aborted(as: "store-2", mayBeComplete: false)))
        try await complete(uploads[2], right)
    }

    /// Two gateways abort at once: one is told that the store discarded the parts, the other that it does not know the
    /// upload any more.
    @Test(.database(.migrated), arguments: [false, true])
    func whatTheStoreDiscardedIsKnownToBeInNoObject(isDiscardedLast: Bool) async throws {
        let (rows, connection) = try rows()
        let upload = try upload()
        try await rows.insert(upload)
        _ = try await rows.open(upload.id, as: "store-1")
        #expect(try await rows.move(upload.id, from: [.open], to: .aborting))
        let answers: [(Set<MultipartUpload.State>, Bool)] = [([.aborting], true), ([.aborting, .aborted], false)]
        for (states, isUnknown) in isDiscardedLast ? answers : answers.reversed() {
            _ = try await rows.move(upload.id, from: states, to: .aborted(as: "store-1", mayBeComplete: isUnknown))
        }
        let doubts = "SELECT count(*) FROM multipart_uploads WHERE may_be_complete"
        #expect(try await connection.number(doubts) == 0)
        #expect(try await rows.find(upload.id)?.state == .aborted)
    }

    @Test(.database(.migrated)) func theAuditTellsOfAnAbortWithTheStateBeforeAndOfNothingElse() async throws {
        let (rows, _) = try rows()
        let world = try AdminWorld()
        let upload = try upload()
        try await rows.insert(upload)
        _ = try await rows.open(upload.id, as: "store-1")
        func abort(from state: MultipartUpload.State, to change: MultipartChange) async throws -> Bool {
            try await rows.abort(upload.id, from: state, to: change, by: AdminWorld.change)
        }
        #expect(try await !abort(from: .completing, to: .aborting))
        #expect(try await !abort(from: .open, to: .aborted(as: "store-2", mayBeComplete: true)))
        #expect(try await world.audit() == [])
        #expect(try await abort(from: .open, to: .aborting))
        #expect(try await !abort(from: .open, to: .aborting))
        #expect(try await rows.find(upload.id)?.state == .aborting)
        let lines = try await world.audit()
        #expect(lines.count == 1)
        let id = upload.id.uuidString.lowercased()
        #expect(lines.first?.hasPrefix("delete Upload \(id) user:root request-7 before {") == true)
        #expect(lines.first?.contains(#""state": "open""#) == true)
    }

    @Test(.database(.migrated)) func anIdentifierThatArrivesWhileAnUploadIsGivenUpIsNotForgotten() async throws {
        let (rows, _) = try rows()
        let upload = try upload()
        try await rows.insert(upload)
        #expect(try await rows.move(upload.id, from: [.starting], to: .aborting))
        #expect(try await rows.open(upload.id, as: "store-1") == .aborting)
        #expect(try await !rows.move(upload.id, from: [.aborting], to: .aborted(as: nil, mayBeComplete: false)))
        #expect(try await rows.move(upload.id, from: [.aborting], to: .aborted(as: "store-1", mayBeComplete: false)))
    }

    @Test(.database(.migrated)) func anUploadThatWasGivenUpMeanwhileIsNotOpenedButAborted() async throws {
        let (rows, _) = try rows()
        let upload = try upload()
        try await rows.insert(upload)
        #expect(try await rows.move(upload.id, from: [.starting], to: .aborted(as: nil, mayBeComplete: false)))
        #expect(try await rows.open(upload.id, as: "store-1") == .aborting)
    }

    @Test(.database(.migrated)) func theLongestOfEachPartCountsAndAllTogetherStayWithinTheLength() async throws {
        let (rows, connection) = try rows()
        let upload = try upload(contentLength: 100)
        try await rows.insert(upload)
        #expect(try await rows.reserve([part(1, 1)], of: upload.id) == .closed)
        _ = try await rows.open(upload.id, as: "store-1")
        #expect(try await rows.reserve([part(1, 40), part(2, 30)], of: upload.id) == .reserved(objectLength: 70))
        #expect(try await rows.reserve([part(1, 10), part(2, 50)], of: upload.id) == .reserved(objectLength: 90))
        #expect(try await rows.reserve([part(3, 11)], of: upload.id) == .tooLarge(maxBytes: 100))
        let last = part(3, 10)
        #expect(try await rows.reserve([last], of: upload.id) == .reserved(objectLength: 100))
        // The same part again, since its request was repeated.
        #expect(try await rows.reserve([last], of: upload.id) == .reserved(objectLength: 100))
        #expect(try await rows.reserve([part(4, nil)], of: upload.id) == .lengthRequired)
        await rows.release([last.issuance])
        #expect(try await rows.reserve([part(5, 10)], of: upload.id) == .reserved(objectLength: 100))
        #expect(try await connection.number("SELECT count(*) FROM multipart_parts") == 5)
    }

    @Test(.database(.migrated), .timeLimit(.minutes(1))) func anUploadThatIsLockedMakesNobodyElseWait() async throws {
        let (rows, _) = try rows()
        let uploads = try (1...5).map { try upload($0) }
        for upload in uploads {
            try await rows.insert(upload)
            _ = try await rows.open(upload.id, as: "store-1")
        }
        let holder = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await holder.runScript("BEGIN; SELECT FROM multipart_uploads WHERE id = '\(uploads[2].id)' FOR UPDATE")
        let wish = part(1, 5)
        async let locked = rows.reserve([wish], of: uploads[2].id)
        try await holder.waitForBlocked()
        // In one call, and while the other one waits.
        try await withThrowingTaskGroup(of: PartReservation.self) { group in
            for upload in uploads where upload.id != uploads[2].id {
                let own = part(1, 7)
                for _ in 0..<3 { group.addTask { try await rows.reserve([own], of: upload.id) } }
            }
            for try await answer in group { #expect(answer == .reserved(objectLength: 7)) }
        }
        try await holder.runScript("COMMIT")
        #expect(try await locked == .reserved(objectLength: 5))
        #expect(try await rows.reserve([], of: uploads[2].id) == .reserved(objectLength: 5))
    }

    @Test(.database(.migrated), .timeLimit(.minutes(1)))
    func aCallerWhoHangsUpFailsNobodyWhoWaitsForTheSameUpload() async throws {
        let (rows, _) = try rows()
        let upload = try upload()
        try await rows.insert(upload)
        _ = try await rows.open(upload.id, as: "store-1")
        let holder = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await holder.runScript("BEGIN; SELECT FROM multipart_uploads WHERE id = '\(upload.id)' FOR UPDATE")
        func ask(_ number: Int) -> Task<PartReservation, any Error> {
            let wish = part(number, 5)
            return Task { try await rows.reserve([wish], of: upload.id) }
        }
        // The first one waits for the lock, and the others for the first one. Then one of them asks for all.
        let first = ask(1)
        try await holder.waitForBlocked()
        let others = (2...9).map(ask)
        try await Task.sleep(for: .milliseconds(300))
        #expect(try await holder.blocked() == 1)
        for other in others.dropFirst() { other.cancel() }
        try await holder.runScript("COMMIT")
        for staying in [first, others[0]] {
            guard case .reserved = try await staying.value else {
                Issue.record("one who stayed is not answered")
                return
            }
        }
    }

    @Test(.database(.migrated)) func aCallerWhoHangsUpLeavesNoPartsBehind() async throws {
        let (rows, _) = try rows()
        let upload = try upload(contentLength: 10)
        try await rows.insert(upload)
        _ = try await rows.open(upload.id, as: "store-1")
        let wish = part(1, 10)
        #expect(try await rows.reserve([wish], of: upload.id) == .reserved(objectLength: 10))
        let caller = Task {
            while !Task.isCancelled { await Task.yield() }
            await rows.release([wish.issuance])
        }
        caller.cancel()
        await caller.value
        #expect(try await rows.reserve([part(2, 10)], of: upload.id) == .reserved(objectLength: 10))
    }

    /// So what was reserved for it is released at once, and not an hour later.
    @Test(arguments: [PostgresError.cancelled, .deadlineExceeded])
    func aRecordingThatWasCancelledIsCertainlyNotDone(error: PostgresError) {
        guard case .slowDown = error.asGatewayError else {
            Issue.record("\(error.asGatewayError)")
            return
        }
    }

    /// Their gateway was killed, say, before it recorded them.
    @Test(.database(.migrated)) func partsThatWereNeverIssuedAreForgottenAfterAnHour() async throws {
        let (rows, connection) = try rows()
        let upload = try upload(contentLength: 100)
        try await rows.insert(upload)
        _ = try await rows.open(upload.id, as: "store-1")
        func instant(minutesAgo: Double) -> Date { Date().addingTimeInterval(-60 * minutesAgo) }
        func reserve(_ number: Int, _ issuance: UUID) async throws {
            let part = ReservedPart(issuance: issuance, number: number, contentLength: 20)
            #expect(try await rows.reserve([part], of: upload.id) == .reserved(objectLength: Int64(20 * number)))
        }
        var row = LedgerWorld.Row(at: instant(minutesAgo: 61))
        (row.action, row.delivery) = ("PutObject", "multipart-part")
        let issued = try await LedgerWorld().write([row])
        try await reserve(1, issued[0])
        try await reserve(2, .version7(at: instant(minutesAgo: 61), randomBytes: []))
        try await reserve(3, .version7(at: instant(minutesAgo: 58), randomBytes: []))
        try await reserve(4, .version7(at: instant(minutesAgo: 60 * 23), randomBytes: []))
        let upkeep = MultipartUpkeep(connection: connection, clock: .right, logger: .silent) { _ in }
        for _ in 0..<2 {
            await upkeep.runRound()
            let left = "SELECT part_number::text FROM multipart_parts ORDER BY part_number"
            #expect(try await connection.texts(left) == ["1", "3"])
        }
        #expect(try await rows.reserve([part(5, 60)], of: upload.id) == .reserved(objectLength: 100))
    }

    /// A gateway looks at the parts of each minute once.
    @Test(.database(.migrated)) func whatIsForgottenOfPartsGoesOnWhereItEnded() async throws {
        let (_, connection) = try rows()
        let now = Date()
        /// Looks from some seconds before now on; returns up to how many, and whether there is more.
        func look(_ seconds: Double?) async throws -> String {
            let from = seconds.map { now.addingTimeInterval(-$0) }
            let looks = try await connection.execute(MultipartUploadTable.forgetUnissued, (from, now))
            let look = try #require(looks.first)
            return "\(now.timeIntervalSince(look.end).rounded()) \(look.hasMore)"
        }
        for seconds in [nil, 86_500, -60] as [Double?] {
            #expect(try await look(seconds) == "85800.0 true")
        }
        #expect(try await look(7200) == "6600.0 true")
        #expect(try await look(3660) == "3600.0 false")
        // The clock was set back a little.
        #expect(try await look(3000) == "3000.0 false")
    }

    @Test(.database(.migrated)) func manyAtOnceNeverTakeMoreThanTheLength() async throws {
        let upload = try upload(contentLength: 100)
        let (rows, connection) = try rows()
        try await rows.insert(upload)
        _ = try await rows.open(upload.id, as: "store-1")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                let (own, _) = try self.rows()
                group.addTask {
                    for number in 0..<20 {
                        _ = try await own.reserve([part(worker * 20 + number + 1, 7)], of: upload.id)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await connection.number("SELECT sum(content_length) FROM multipart_parts") == 98)
    }

    /// Two gateways, whose statements hold many requests each and lock the same uploads, answer as one would that takes
    /// request after request.
    @Test(.database(.migrated)) func requestsForManyUploadsAtOnceAreAnsweredEachByItself() async throws {
        let (gateways, connection) = ([try rows().0, try rows().0], try rows().1)
        let maxLength: Int64 = 100
        var uploads: [MultipartUpload] = []
        for number in 0..<6 {
            let upload = try upload(number, contentLength: number % 2 == 0 ? maxLength : nil)
            try await gateways[0].insert(upload)
            // One never opens.
            if number > 0 { _ = try await gateways[0].open(upload.id, as: "store-\(number)") }
            uploads.append(upload)
        }
        var generator = SystemRandomNumberGenerator()
        let requests = (0..<300).map { number in
            // Each part has one length wherever it is named, so that the order of requests does not matter.
            let numbers = Set(
                (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                    Int.random(in: 1...9, using: &generator)
                })
            return (
                upload: uploads[number % uploads.count],
                parts: numbers.sorted().map { part($0, $0 == 9 ? nil : Int64(5 * $0)) }
            )
        }
        let answers = try await withThrowingTaskGroup(of: (Int, PartReservation).self) { group in
            for (number, request) in requests.enumerated() {
                let gateway = gateways[number / 7 % 2]
                group.addTask { (number, try await gateway.reserve(request.parts, of: request.upload.id)) }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        var kept: Set<String> = []
        var longest: [Int: Int64] = [:]
        for (number, request) in requests.enumerated() {
            let answer = try #require(answers[number])
            switch answer {
            case .reserved(let length):
                kept.formUnion(request.parts.map(\.issuance.lowercaseText))
                if let length { longest[number % 6] = max(longest[number % 6] ?? 0, length) }
                #expect(number % 6 != 0)
            case .closed: #expect(number % 6 == 0)
            case .tooLarge(let maxBytes): #expect(maxBytes == maxLength && [2, 4].contains(number % 6))
            case .lengthRequired:
                #expect(request.upload.contentLength != nil && request.parts.contains { $0.contentLength == nil })
            }
        }
        #expect(Set(try await connection.texts("SELECT issuance_id::text FROM multipart_parts")) == kept)
        for number in [2, 4] {
            #expect(longest[number] ?? 0 <= maxLength && longest[number] ?? 0 > 0)
            #expect(answers.contains { $0.key % 6 == number && $0.value == .tooLarge(maxBytes: maxLength) })
        }
    }

    /// Two gateways reserve and release parts of the same uploads. The sums in the rows of the uploads are those that a
    /// look at all parts gives.
    @Test(.database(.migrated)) func theSumsOfUploadsAreThoseOfTheirParts() async throws {
        let (gateways, connection) = ([try rows().0, try rows().0], try rows().1)
        var uploads: [MultipartUpload] = []
        for number in 0..<4 {
            let upload = try upload(number, contentLength: number % 2 == 0 ? 200 : nil)
            try await gateways[0].insert(upload)
            _ = try await gateways[0].open(upload.id, as: "store-\(number)")
            uploads.append(upload)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                let (gateway, uploads) = (gateways[worker % 2], uploads)
                group.addTask {
                    var mine: [UUID] = []
                    for _ in 0..<40 {
                        let numbers = Set((0..<Int.random(in: 1...4)).map { _ in Int.random(in: 1...6) })
                        let parts = numbers.map { part($0, Bool.random() || $0 > 2 ? Int64.random(in: 0...60) : nil) }
                        let upload = try #require(uploads.randomElement())
                        if case .reserved = try await gateway.reserve(parts, of: upload.id) {
                            mine += parts.map(\.issuance)
                        }
                        // Parts of several uploads, some of them released before.
                        let some = mine.filter { _ in Int.random(in: 0..<12) == 0 }
                        if Bool.random() { await gateway.release(some) }
                    }
                }
            }
            try await group.waitForAll()
        }
        let differing = try await connection.texts(
            """
            SELECT format('%s: %s and %s, not %s and %s', u.store_upload_id, u.parts_length, u.parts_of_unknown_length,
                p.length, p.unknown)
            FROM multipart_uploads u
            CROSS JOIN LATERAL (
                SELECT coalesce(sum(n.longest), 0) AS length, count(*) FILTER (WHERE n.unknown > 0) AS unknown
                FROM (
                    SELECT max(m.content_length) AS longest, count(*) - count(m.content_length) AS unknown
                    FROM multipart_parts m WHERE m.upload_id = u.id GROUP BY m.part_number
                ) n
            ) p
            WHERE u.parts_length <> p.length OR u.parts_of_unknown_length <> p.unknown
            """)
        #expect(differing == [])
        #expect(try await connection.number("SELECT count(*) FROM multipart_parts") > 50)
        #expect(try await connection.number("SELECT max(parts_length) FROM multipart_uploads") > 0)
    }

    /// However many links an upload has, a further one reads a few rows.
    @Test(.database(.migrated)) func whatWasReservedBeforeIsNotReadAgain() async throws {
        let (rows, connection) = try rows()
        let upload = try upload()
        try await rows.insert(upload)
        _ = try await rows.open(upload.id, as: "store-1")
        // Thirty links of each of two hundred parts.
        for _ in 0..<30 { _ = try await rows.reserve((1...200).map { part($0, 7) }, of: upload.id) }
        try await PostgresConnection(testing: TestDatabase.current.connectionString)
            .runScript("ANALYZE multipart_parts")
        let reserve = "reserve_multipart_parts('{\(upload.id)}', '{1}', ARRAY[gen_random_uuid()], '{50}', '{9}', true)"
        let read = try await connection.rowsRead(of: "multipart_parts") { () async throws in
            #expect(try await connection.number("SELECT object_length FROM \(reserve)") == 1402)
        }
        #expect(read < 10)
    }

    @Test(.database(.migrated)) func aPartOfUnknownLengthMakesThatOfTheObjectUnknown() async throws {
        let (rows, _) = try rows()
        let upload = try upload()
        try await rows.insert(upload)
        _ = try await rows.open(upload.id, as: "store-1")
        #expect(try await rows.reserve([], of: upload.id) == .reserved(objectLength: 0))
        #expect(try await rows.reserve([part(1, 5), part(2, nil)], of: upload.id) == .reserved(objectLength: nil))
    }

    @Test(.database(.migrated)) func pagesAndFilters() async throws {
        let (rows, _) = try rows()
        for number in 1...5 { try await rows.insert(try upload(number, of: number == 3 ? "bob" : "alice")) }
        var seen: [UUID] = []
        var token: String?
        repeat {
            let page = try await rows.list(ListQuery(pageSize: 2, pageToken: token))
            #expect(page.items.count <= 2)
            seen += page.items.map(\.id)
            token = page.nextPageToken
        } while token != nil
        #expect(try seen == (1...5).reversed().map { try upload($0).id })
        #expect(try await rows.list(ListQuery(filters: ["principal": "user:bob"])).items.count == 1)
        #expect(try await rows.list(ListQuery(filters: ["state": "open"])).items.isEmpty)
        #expect(try await rows.list(ListQuery(filters: ["state": "starting", "bucket": "demo"])).items.count == 5)
        for query in [
            ListQuery(filters: ["state": "gone"]), ListQuery(filters: ["key": "a"]), ListQuery(pageToken: "x"),
            ListQuery(pageToken: PageToken(of: ResourceKind.multipartUpload.rawValue, filters: [:]).text(after: ["x"])),
        ] {
            await #expect(throws: GatewayError.self) { try await rows.list(query) }
        }
    }

    @Test(.database(.migrated)) func whatIsDueIsEndedOnceAndAgainWhereItFailed() async throws {
        let (rows, connection) = try rows()
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        for number in 1...3 { try await rows.insert(try upload(number, expiresIn: number == 3 ? 3600 : -1)) }
        let cleaned = Mutex<[UUID]>([])
        let upkeep = MultipartUpkeep(connection: connection, clock: .right, logger: .silent) {
            (upload: MultipartUpload) async throws(GatewayError) in
            let isFirst = cleaned.withLock {
                $0.append(upload.id); return $0.count == 1
            }
            if isFirst { throw .unavailable(retryAfter: 1) }
            _ = try await rows.move(upload.id, from: [.starting], to: .aborted(as: nil, mayBeComplete: false))
        }
        await upkeep.runRound()
        #expect(try cleaned.withLock { Set($0) } == [upload(1).id, upload(2).id])
        await upkeep.runRound()
        #expect(cleaned.withLock { $0.count } == 2)
        try await owner.runScript(
            "UPDATE multipart_uploads SET check_at = now() - interval '1 second' WHERE state = 'starting' AND expires_at < now()"
        )
        await upkeep.runRound()
        #expect(cleaned.withLock { $0.count } == 3)
        #expect(try await connection.number("SELECT count(*) FROM multipart_uploads WHERE state = 'aborted'") == 2)
        try await owner.runScript("UPDATE multipart_uploads SET expires_at = now() - interval '34 days'")
        await upkeep.runRound()
        #expect(try await connection.number("SELECT count(*) FROM multipart_uploads") == 1)
    }

    /// By the time a store has not answered about many uploads, the first of them are due again.
    @Test(.database(.migrated), .timeLimit(.minutes(1)))
    func `a store that hangs keeps no round from its end, nor others from their turn`() async throws {
        let (rows, connection) = try rows()
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        for number in 1...40 {
            let isSilent = number <= 30
            let upload = try upload(
                number, in: isSilent ? "silent" : "demo", expiresIn: isSilent ? -100 - Double(number) : -1)
            try await rows.insert(upload)
            _ = try await rows.open(upload.id, as: "store-\(number)")
        }
        let unissued = ReservedPart(
            issuance: .version7(at: Date().addingTimeInterval(-3660), randomBytes: []), number: 1, contentLength: 1)
        #expect(try await rows.reserve([unissued], of: upload(1).id) == .reserved(objectLength: 1))
        let asked = Mutex<[String: Int]>([:])
        let late = Mutex<Int64>(0)
        let upkeep = MultipartUpkeep(connection: connection, clock: .right, logger: .silent) {
            (upload: MultipartUpload) async throws(GatewayError) in
            asked.withLock { $0[upload.bucket.rawValue, default: 0] += 1 }
            // What costs no question to a store comes first.
            let parts = (try? await owner.number("SELECT count(*) FROM multipart_parts")) ?? 1
            late.withLock { $0 += parts }
            guard upload.bucket.rawValue == "demo" else {
                try? await owner.runScript(
                    "UPDATE multipart_uploads SET check_at = now() - interval '1 second' WHERE id = '\(upload.id)'")
                throw .unavailable(retryAfter: 1)
            }
            _ = try await rows.move(
                upload.id, from: [.open], to: .aborted(as: upload.storeUploadID, mayBeComplete: false))
        }
        await upkeep.runRound()
        let counts = asked.withLock { $0 }
        #expect(counts["demo"] == 10)
        // Three without an answer suffice; others were asked at the same time.
        #expect((3...10).contains(counts["silent"] ?? 0), "\(counts)")
        #expect(late.withLock { $0 } == 0)
        #expect(
            try await owner.texts("SELECT DISTINCT bucket || ' ' || state FROM multipart_uploads ORDER BY 1")
                == ["demo aborted", "silent open"])
    }

    /// As the bytes that its parts reserved.
    @Test(.database(.migrated)) func `an upload that its store never ends is given up after 24 days`() async throws {
        let (rows, connection) = try rows()
        for (number, days) in [(1, 23.9), (2, 24.1), (3, 24.1), (4, 24.1)] {
            let upload = try upload(number, expiresIn: -days * 86_400)
            try await rows.insert(upload)
            _ = try await rows.open(upload.id, as: "store-\(number)")
        }
        // Another gateway has taken this one and may be ending it.
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await owner.runScript(
            "UPDATE multipart_uploads SET check_at = now() + interval '200 seconds' WHERE store_upload_id = 'store-4'")
        let ended = try upload(3).id
        let upkeep = MultipartUpkeep(connection: connection, clock: .right, logger: .silent) {
            (upload: MultipartUpload) async throws(GatewayError) in
            guard upload.id == ended else { throw .storeRefused(status: 403, code: "AccessDenied") }
            _ = try await rows.move(upload.id, from: [.open], to: .aborted(as: "store-3", mayBeComplete: false))
        }
        await upkeep.runRound()
        #expect(
            try await connection.texts(
                "SELECT concat_ws(' ', store_upload_id, state, may_be_complete) FROM multipart_uploads ORDER BY 1")
                == ["store-1 open f", "store-2 aborted t", "store-3 aborted f", "store-4 open f"])
    }

    /// All gateways may have been stopped for long, and the first round asks about few uploads of a store that hangs.
    @Test(.database(.migrated)) func `an upload that nobody tried to end is not given up`() async throws {
        let (rows, connection) = try rows()
        for number in 1...30 {
            let upload = try upload(number, expiresIn: -25 * 86_400)
            try await rows.insert(upload)
            _ = try await rows.open(upload.id, as: "store-\(number)")
        }
        let asked = Mutex<Set<String>>([])
        let upkeep = MultipartUpkeep(connection: connection, clock: .right, logger: .silent) {
            (upload: MultipartUpload) async throws(GatewayError) in
            asked.withLock { _ = $0.insert(upload.storeUploadID ?? "") }
            throw .unavailable(retryAfter: 1)
        }
        await upkeep.runRound()
        let givenUp = try await connection.texts(
            "SELECT store_upload_id FROM multipart_uploads WHERE state = 'aborted'")
        #expect(givenUp.count < 25 && asked.withLock { $0 } == Set(givenUp))
    }

    @Test(.database(.migrated), arguments: ["open", "aborted", "completed"])
    func partsAreSettledByTheirUpload(state: String) async throws {
        let (rows, connection) = try rows()
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await owner.runScript(RevokeRaceTests.makeBucket)
        let quota = Quota.sample(limit: 1_000_000, metric: .bytes)
        try await owner.insert(quota)
        let upload = try upload()
        try await rows.insert(upload)
        _ = try await rows.open(upload.id, as: "store-1")
        let position = try await owner.position()
        var proposals: [IssuanceProposal] = []
        for number in [1, 2] {
            let proposal = try IssuanceProposal.sample(
                at: position, action: .putObject, charges: [quota.charge(100)], lifetime: -60
            ).with(delivery: .multipartPart)
            _ = try await rows.reserve(
                [ReservedPart(issuance: proposal.id, number: number, contentLength: 100)], of: upload.id)
            proposals.append(proposal)
        }
        _ = try await connection.record(proposals)
        if state == "completed" {
            let parts = [try UploadedPart(number: 2, etag: "b")]
            _ = try await rows.move(upload.id, from: [.open], to: .completing(parts))
            _ = try await rows.move(upload.id, from: [.completing], to: .completed(parts, etag: "e", isCertain: true))
        }
        if state == "aborted" {
            _ = try await rows.move(upload.id, from: [.open], to: .aborted(as: "store-1", mayBeComplete: false))
        }
        let discarded = Mutex<[UUID]>([])
        await ReservationSweeper(
            connection: connection,
            verifier: StubVerifier { _ in
                Issue.record("the key says nothing of a part")
                return .nothing
            }, clock: .right, schedule: .init(grace: .zero), logger: .silent
        ) { id in
            discarded.withLock { $0.append(id) }
        }.runRound()
        // Once for both parts.
        #expect(discarded.withLock { $0 } == (state == "aborted" ? [upload.id] : []))
        let used = try await owner.number("SELECT sum(used) FROM quota_usage")
        #expect(used == ["open": 200, "aborted": 0, "completed": 100][state])
        #expect(try await owner.number("SELECT count(*) FROM reservations") == (state == "open" ? 2 : 0))
        #expect(try await QuotaAuditor(connection: connection).audit() == [])
    }
}

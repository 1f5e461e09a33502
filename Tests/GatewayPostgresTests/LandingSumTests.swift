import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Bytes that landed, from sums, equal what the single uploads tell, however each landed.
@Suite struct LandingSumTests {
    private let world: LedgerWorld
    private let uploads: PostgresUploads
    private let events: PostgresStoreEvents
    private let bucket: BucketName

    init() throws {
        world = try LedgerWorld()
        bucket = try BucketName("demo")
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

    /// A way in which the gateway learns of an upload.
    private enum Way: CaseIterable {
        case confirmed, mismatched, unverified, settled, reported, calledBack, completed, absent, reportedLate, unknown
    }

    /// What makes one whole object, and what does not.
    private static let deliveries = [
        "presigned-url": true, "post-policy": true, "multipart-start": true, "remote-signature": true,
        "multipart-part": false, "multipart-complete": false, "redirect": false,
    ]

    private func upload(
        _ key: String, _ delivery: String = "presigned-url", at: Date = Date().addingTimeInterval(-3600),
        bucket: String = "demo"
    ) async throws -> UUID {
        var row = LedgerWorld.Row(at: at)
        (row.action, row.delivery, row.key, row.bucket, row.length) = ("PutObject", delivery, key, bucket, 1)
        return try await world.write([row])[0]
    }

    /// Lets an upload of a size land in one way, and returns how many bytes of it are to be counted.
    private func land(_ id: UUID, _ key: String, at: Date, _ size: Int64, _ way: Way, _ delivery: String) async throws
        -> Int64
    {
        func note(_ kind: UploadFinding.Kind, _ mismatches: [UploadFinding.Mismatch] = []) async throws {
            _ = try await uploads.note(
                UploadFinding(
                    kind: kind, mismatches: mismatches, source: .confirmation, size: kind == .absent ? nil : size),
                on: id)
        }
        func report(after seconds: TimeInterval, _ mark: String?) async throws {
            let object = MadeObject(
                key: try ObjectKey(key), madeAt: at.addingTimeInterval(seconds), size: size, etag: "e",
                callbackID: mark)
            #expect(try await events.note([object], in: bucket) == 1)
        }
        switch way {
        case .confirmed: try await note(.landed)
        case .mismatched: try await note(.mismatched, [.size])
        case .unverified: try await note(.unverified)
        case .settled: try await world.connection.perform(LandingTable.noteSettled, ([id], [size]))
        case .reported: try await report(after: 100, nil)
        case .calledBack: try await report(after: 100, "request:\(key)")
        case .completed:
            try await complete(id, key, at: at, parts: [size - 1, 1])
            return delivery == "multipart-start" ? size : 0
        case .absent: try await note(.absent)
        // The link has ended more than a quarter of an hour before.
        case .reportedLate: try await report(after: 900 + 901, nil)
        case .unknown: break
        }
        return [.absent, .reportedLate, .unknown].contains(way) ? 0 : size
    }

    /// Completes an upload in parts. The link of one more part was never used.
    private func complete(_ id: UUID, _ key: String, at: Date, parts: [Int64]) async throws {
        let rows = (parts + [1000]).enumerated().map { "(gen_random_uuid(), '\(id)', \($0 + 1), \($1))" }
        try await world.connection.runScript(
            """
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, created_at, expires_at, check_at)
            VALUES ('\(id)', 'user:alice', 'demo', '\(key)', 'text/plain', 'completing', now(), now() + interval '1 hour', now());
            INSERT INTO multipart_parts (issuance_id, upload_id, part_number, content_length)
            VALUES \(rows.joined(separator: ", "));
            UPDATE multipart_uploads SET state = 'completed', part_numbers = '{1,2}', part_etags = '{a,b}'
            WHERE id = '\(id)';
            """)
    }

    /// What landed stays so after the report of the store, or the upload in parts, was pruned, whatever somebody who
    /// looked too early, or the settlement of a quota after the object was deleted, did not find.
    @Test(.database(.migrated), arguments: [nil, 0, 70] as [Int64?])
    func whatLandedStaysWhenItsReportIsPruned(size: Int64?) async throws {
        let at = Date().addingTimeInterval(-3600)
        let reported = try await upload("reported", at: at)
        let completed = try await upload("completed", "multipart-start", at: at)
        let nothing = try await upload("nothing", at: at)
        for id in [reported, completed, nothing] {
            _ = try await uploads.note(UploadFinding(kind: .absent, source: .confirmation), on: id)
        }
        let object = MadeObject(
            key: try ObjectKey("reported"), madeAt: at.addingTimeInterval(100), size: size, etag: "e", callbackID: nil)
        #expect(try await events.note([object], in: bucket) == 1)
        try await complete(completed, "completed", at: at, parts: [40, 2])
        try await sumUp()
        let states = "SELECT id::text || state || coalesce(landed_bytes::text, '?') FROM uploads ORDER BY object_key"
        let before = try await world.connection.texts(states)
        let told = size.map { "\($0)" } ?? "?"
        #expect(
            before == [
                "\(completed.lowercaseText)landed42", "\(nothing.lowercaseText)expired?",
                "\(reported.lowercaseText)landed\(told)",
            ])
        func settle() async throws {
            try await world.connection.perform(
                LandingTable.noteSettled, ([reported, completed, nothing], [nil, nil, nil]))
        }
        try await settle()
        try await world.connection.runScript("DELETE FROM store_events; DELETE FROM multipart_uploads")
        #expect(try await world.connection.texts(states) == before)
        try await settle()
        #expect(try await world.connection.texts(states) == before)
        #expect(try await world.connection.texts("SELECT issuance_id::text FROM landings") == [nothing.lowercaseText])
        try await world.connection.runScript(
            "INSERT INTO landing_changes (issuance_id) SELECT id FROM issuances")
        try await sumUp()
        #expect(
            try await world.connection.number("SELECT sum(bytes)::bigint FROM landing_sums") == 42 + (size ?? 0))
    }

    private func sumUp(eventSeconds: Double = 0) async throws {
        let gateway = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: [("role", "sluice_gateway")])
        while try await gateway.execute(UsageUpkeep.sumLandings, (7, eventSeconds)) == [true] {}
        for _ in 0..<2 { while try await gateway.execute(UsageUpkeep.sum, 1) == [true] {} }
    }

    /// Counts in all ways, and expects that they agree. Without an end, today is a whole day, so that sums by day
    /// count.
    private func landed(
        _ dimensions: Set<UsageQuery.Dimension> = [], by step: UsageQuery.Step = .range, from: Date? = nil,
        to: Date? = nil, _ filter: IssuanceFilter = IssuanceFilter()
    ) async throws -> [Usage] {
        let request = UsageRequest(
            query: UsageQuery(filter, by: step, dimensions),
            from: PostgresTimestamp(from ?? Date().addingTimeInterval(-5 * 86_400)),
            to: PostgresTimestamp(to ?? Date().addingTimeInterval(2 * 86_400)), limit: 10_000)
        let summed = try await world.connection.execute(UsageRequest.summed, request)
        #expect(try await world.connection.execute(UsageRequest.counted, request) == summed)
        #expect(try await world.connection.execute(UsageRequest.summedByCaller, request) == summed)
        return summed
    }

    @Test(.database(.migrated)) func eachWayOfLandingCountsForEachDelivery() async throws {
        var expected: [String: Int64] = [:]
        var bit: Int64 = 2
        let at = Date().addingTimeInterval(-3600)
        for (delivery, isUpload) in Self.deliveries {
            for way in Way.allCases {
                let key = "\(delivery)/\(way)"
                let id = try await upload(key, delivery, at: at)
                // Each size is a power of two, so that a sum tells which were counted.
                let bytes = try await land(id, key, at: at, bit, way, delivery)
                expected[delivery, default: 0] += isUpload ? bytes : 0
                if isUpload, bytes > 0 { bit *= 2 }
            }
        }
        try await sumUp()
        let found = try await landed([.delivery])
        #expect(
            Dictionary(uniqueKeysWithValues: found.map { ($0.delivery ?? "", $0.bytesLanded) }) == expected)
        #expect(expected.values.filter { $0 > 0 }.count == 4)
        #expect(try await world.connection.number("SELECT count(*) FROM landing_changes") == 0)
        // The list of uploads tells the sizes of all but completed ones.
        var listed: Int64 = 0
        var query = UploadQuery(from: at.addingTimeInterval(-60))
        query.pageSize = 1000
        for upload in try await uploads.uploads(query).items where upload.finding?.kind != .absent {
            listed += upload.finding?.size ?? 0
        }
        let parts = try await world.connection.number(
            "SELECT sum(landed_bytes)::bigint FROM uploads WHERE multipart_state = 'completed'")
        #expect(listed + Int64(parts) == expected.values.reduce(0, +))
    }

    @Test(.database(.migrated)) func whatIsFoundLaterReplacesWhatWasFound() async throws {
        let id = try await upload("a")
        func note(_ finding: UploadFinding) async throws -> Int64? {
            _ = try await uploads.note(finding, on: id)
            try await sumUp()
            return try await landed().first?.bytesLanded
        }
        #expect(
            try await note(UploadFinding(kind: .mismatched, mismatches: [.md5], source: .confirmation, size: 9)) == 9)
        #expect(try await note(UploadFinding(kind: .absent, source: .confirmation)) == 0)
        #expect(try await note(UploadFinding(kind: .landed, source: .confirmation, size: 4)) == 4)
        // The gateway's own look takes precedence over a report, and nothing is counted twice.
        let made = MadeObject(
            key: try ObjectKey("a"), madeAt: Date().addingTimeInterval(-3500), size: 7, etag: "e", callbackID: nil)
        _ = try await events.note([made], in: bucket)
        _ = try await events.note([made], in: bucket)
        try await sumUp()
        #expect(try await landed().map(\.bytesLanded) == [4])
    }

    /// Two lengths were bound for one part: which of them arrived is unknown.
    @Test(.database(.migrated)) func ofPartsOnlyWhatIsCertainCounts() async throws {
        let id = try await upload("a", "multipart-start")
        try await complete(id, "a", at: Date(), parts: [5, 6])
        try await world.connection.runScript(
            "INSERT INTO multipart_parts VALUES (gen_random_uuid(), '\(id)', 2, 60)")
        try await sumUp()
        #expect(try await landed().map(\.bytesLanded) == [0])
    }

    /// Links for its key may make other objects, while it is open and after it was completed.
    @Test(.database(.migrated)) func anUploadInPartsTakesReportsWithItsTagAlone() async throws {
        let at = Date().addingTimeInterval(-3600)
        let id = try await upload("a", "multipart-start", at: at)
        // Recorded now, since what has been summed up takes no more rows.
        _ = try await upload("a", at: at.addingTimeInterval(1800))
        func report(_ size: Int64, _ etag: String, after seconds: TimeInterval) async throws -> [Int64] {
            let object = MadeObject(
                key: try ObjectKey("a"), madeAt: at.addingTimeInterval(seconds), size: size, etag: etag)
            #expect(try await events.note([object], in: bucket) == 1)
            try await sumUp()
            return try await landed().map(\.bytesLanded)
        }
        try await complete(id, "a", at: at, parts: [40, 2])
        try await world.connection.runScript("UPDATE multipart_uploads SET etag = 'c-2'")
        #expect(try await report(7, "before", after: 100) == [42])
        // Alibaba OSS writes tags in capitals. Where the store tells the size, it counts.
        #expect(try await report(43, "C-2", after: 120) == [43])
        #expect(try await report(1000, "after", after: 1900) == [1043])
    }

    /// An app asks for its next link once it has saved something, and may never use it.
    @Test(.database(.migrated)) func `what was reported before a link was issued is not the link's`() async throws {
        let now = Date()
        let used = try await upload("a", at: now.addingTimeInterval(-20))
        let made = MadeObject(
            key: try ObjectKey("a"), madeAt: now.addingTimeInterval(-1), size: 4, etag: "e", callbackID: nil)
        _ = try await events.note([made], in: bucket)
        let unused = try await upload("a", at: Date())
        // Another report of the same object changes nothing.
        #expect(try await events.note([made], in: bucket) == 0)
        try await sumUp()
        #expect(try await landed().map(\.bytesLanded) == [4])
        let states = "SELECT id::text || ' ' || state FROM uploads ORDER BY issued_at"
        let told = ["\(used.lowercaseText) landed", "\(unused.lowercaseText) issued"]
        #expect(try await world.connection.texts(states) == told)
    }

    @Test(.database(.migrated)) func eventsWaitForLinksThatAreBeingRecorded() async throws {
        let now = Date()
        let made = MadeObject(key: try ObjectKey("a"), madeAt: now, size: 7, etag: "e", callbackID: nil)
        _ = try await events.note([made], in: bucket)
        try await sumUp(eventSeconds: 60)
        // By the database's clock, the link was recorded after its object was made, and before that was reported.
        _ = try await upload("a", at: now.addingTimeInterval(20))
        try await world.connection.runScript(
            """
            UPDATE store_events SET received_at = received_at + interval '21 s';
            UPDATE landing_changes SET noted_at = noted_at - interval '121 s'
            """)
        try await sumUp(eventSeconds: 60)
        #expect(try await landed().map(\.bytesLanded) == [7])
    }

    /// An event that was noted while the clock was a day ahead does not hold up what was noted after it.
    @Test(.database(.migrated)) func eventsOfAClockThatWasAheadAreTaken() async throws {
        for key in ["a", "b"] {
            _ = try await upload(key)
            let made = MadeObject(
                key: try ObjectKey(key), madeAt: Date().addingTimeInterval(-3000), size: 7, etag: "e", callbackID: nil)
            _ = try await events.note([made], in: bucket)
        }
        try await world.connection.runScript(
            """
            UPDATE landing_changes
            SET noted_at = noted_at + CASE object_key WHEN 'a' THEN interval '1 day' ELSE interval '-121 s' END
            """)
        try await sumUp(eventSeconds: 60)
        #expect(try await landed().map(\.bytesLanded) == [14])
    }

    /// It may just have been noted: after the sum's look at the clock, or before a failover to a clock that is behind.
    @Test(.database(.migrated)) func eventsOfAClockThatWasSlightlyAheadWait() async throws {
        let now = Date()
        let made = MadeObject(key: try ObjectKey("a"), madeAt: now, size: 7, etag: "e", callbackID: nil)
        _ = try await events.note([made], in: bucket)
        try await world.connection.runScript(
            "UPDATE landing_changes SET noted_at = clock_timestamp() + interval '30 s'")
        try await sumUp(eventSeconds: 60)
        _ = try await upload("a", at: now.addingTimeInterval(20))
        try await world.connection.runScript(
            """
            UPDATE store_events SET received_at = received_at + interval '21 s';
            UPDATE landing_changes SET noted_at = noted_at - interval '151 s'
            """)
        try await sumUp(eventSeconds: 60)
        #expect(try await landed().map(\.bytesLanded) == [7])
    }

    @Test(.database(.migrated)) func sumsAreExactForAnyPeriodAndFilter() async throws {
        let noon = LedgerWorld.noon
        for number in 0..<60 {
            let at = noon.addingTimeInterval(Double(number) * 21.7 - 60)
            let id = try await upload(
                "k/\(number)", ["presigned-url", "post-policy"][number % 2], at: at, bucket: "b\(number % 3)")
            guard number % 5 > 0 else { continue }
            _ = try await uploads.note(
                UploadFinding(kind: .landed, source: .confirmation, size: 1 << Int64(number % 40)), on: id)
        }
        try await sumUp()
        let ranges: [(TimeInterval, TimeInterval)] = [
            (-3600, 7200), (0, 600), (30, 45), (59.5, 60.5), (59.9, 180.1), (61, 119), (60, 120), (600, 600.5),
        ]
        for (start, end) in ranges {
            let (from, to) = (noon.addingTimeInterval(start), noon.addingTimeInterval(end))
            for filter in [
                IssuanceFilter(), .with { $0.bucket = try? BucketName("b1") }, .with { $0.delivery = .postPolicy },
                .with { $0.action = .getObject }, .with { $0.credentialID = LedgerWorld.id(900) },
            ] {
                _ = try await landed([.bucket, .delivery], by: .hour, from: from, to: to, filter)
            }
        }
        // The oracle counts the rows alone.
        let rows = try await world.connection.number(
            "SELECT sum(size)::bigint FROM landings l JOIN issuances i ON i.id = l.issuance_id WHERE i.bucket = 'b1'")
        let summed = try await landed(
            [.bucket], from: noon.addingTimeInterval(-3600), to: noon.addingTimeInterval(7200))
        #expect(summed.first { $0.bucket == "b1" }?.bytesLanded == Int64(rows))
    }

    @Test(.database(.migrated)) func landingsAtOnceAreCountedOnce() async throws {
        var ids: [UUID] = []
        for number in 0..<40 { ids.append(try await upload("k/\(number)")) }
        let made = try (0..<40).map {
            MadeObject(
                key: try ObjectKey("k/\($0)"), madeAt: Date().addingTimeInterval(-3500), size: 3, etag: "e",
                callbackID: nil)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, id) in ids.enumerated() {
                group.addTask {
                    _ = try await events.note([made[number]], in: bucket)
                    _ = try await uploads.note(
                        UploadFinding(kind: .mismatched, mismatches: [.size], source: .confirmation, size: 100), on: id)
                    if number % 2 == 0 {
                        _ = try await uploads.note(UploadFinding(kind: .landed, source: .confirmation, size: 1), on: id)
                    }
                }
                if number % 4 == 0 { group.addTask { try await sumUp() } }
            }
            try await group.waitForAll()
        }
        try await sumUp()
        #expect(try await landed().map(\.bytesLanded) == [20 * 100 + 20])
        #expect(try await world.connection.number("SELECT sum(bytes)::bigint FROM landed_uploads") == 2020)
    }
}

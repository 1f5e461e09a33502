import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Who started which multipart upload.
@Suite struct RemoteUploadTests {
    private func store() throws -> PostgresRemoteUploads {
        let database = try TestDatabase.current
        let settings: [(name: String, value: String)] = [
            ("role", "sluice_gateway"), ("plan_cache_mode", "force_generic_plan"),
        ]
        return PostgresRemoteUploads(
            pool: PostgresPool(try database.configuration(sessionSettings: settings), size: 4, logger: .silent),
            logger: .silent)
    }

    private func upload(_ user: String = "alice", _ key: String = "team/a") throws -> RemoteUpload {
        RemoteUpload(principal: try Principal("user:" + user), bucket: try BucketName("demo"), key: try ObjectKey(key))
    }

    @Test(.database(.migrated)) func anIDBelongsToWhoStartedOneOfTheKeyAndCameFirst() async throws {
        let store = try store()
        #expect(try await store.contentTypes(ofUpload: "X", upload()) == nil)
        try await store.begin(upload(), contentType: "image/png")
        try await store.begin(upload("bob"), contentType: "text/plain")
        #expect(try await store.contentTypes(ofUpload: "X", upload("alice", "team/b")) == nil)
        #expect(try await store.contentTypes(ofUpload: "X", upload()) == ["image/png"])
        #expect(try await store.contentTypes(ofUpload: "X", upload()) == ["image/png"])
        #expect(try await store.contentTypes(ofUpload: "X", upload("bob")) == nil)
        #expect(try await store.contentTypes(ofUpload: "Y", upload()) == nil)
        #expect(try await store.contentTypes(ofUpload: "Y", upload("bob")) == ["text/plain"])
    }

    @Test(.database(.migrated)) func oneStartBindsOneIDHoweverManyCome() async throws {
        let store = try store()
        try await store.begin(upload(), contentType: "image/png")
        let bound = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<40 {
                group.addTask { try await store.contentTypes(ofUpload: "X\(number % 8)", upload()) != nil }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        #expect(try await connection.number("SELECT count(*) FROM remote_uploads WHERE upload_id IS NOT NULL") == 1)
        #expect(1...5 ~= bound)
    }

    /// The client alone knows which of its starts got the identifier.
    @Test(.database(.migrated)) func anUploadMayHaveTheTypeOfEachStart() async throws {
        let store = try store()
        try await store.begin(upload(), contentType: "text/html")
        #expect(try await store.contentTypes(ofUpload: "invented", upload()) == ["text/html"])
        try await store.begin(upload(), contentType: "image/png")
        try await store.begin(upload("bob"), contentType: "text/css")
        #expect(try await store.contentTypes(ofUpload: "X", upload()) == ["image/png", "text/html"])
        #expect(try await store.contentTypes(ofUpload: "invented", upload()) == ["text/html", "image/png"])
        #expect(try await store.contentTypes(ofUpload: "X", upload("bob")) == nil)
    }

    /// Each type is decided for each part, so many of them would keep a gateway busy.
    @Test(.database(.migrated)) func noMoreThan17TypesAreTold() async throws {
        let store = try store()
        for number in 10...30 {
            for _ in 1...2 { try await store.begin(upload(), contentType: "image/\(number)") }
            try await store.begin(upload("bob"), contentType: "image/99")
        }
        let found = try #require(await store.contentTypes(ofUpload: "X", upload()))
        #expect(found == ["image/30"] + (10...25).map { "image/\($0)" })
        #expect(try await store.contentTypes(ofUpload: "Y", upload("bob")) == ["image/99"])
    }

    /// Else a part could be signed so late that the row is gone when its bytes are settled.
    @Test(.database(.migrated)) func anUploadGetsSignaturesForSevenDays() async throws {
        let store = try store()
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await store.begin(upload(), contentType: "image/png")
        #expect(try await store.contentTypes(ofUpload: "X", upload()) == ["image/png"])
        for (days, type) in [(6, "image/png"), (8, nil)] {
            try await connection.runScript("UPDATE remote_uploads SET started_at = now() - interval '\(days) days'")
            #expect(try await store.contentTypes(ofUpload: "X", upload()) == type.map { [$0] })
        }
        // Nor does the identifier of the old upload take a new start of the same key.
        try await store.begin(upload(), contentType: "text/plain")
        #expect(try await store.contentTypes(ofUpload: "X", upload()) == nil)
    }

    /// The store may have given an identifier to an older start, whose type a grant may have permitted then, whether or
    /// not another identifier is bound to that start.
    @Test(.database(.migrated), arguments: [false, true])
    func anUploadMayAlsoHaveTheTypeOfAnOldStart(isBound: Bool) async throws {
        let store = try store()
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await store.begin(upload(), contentType: "text/html")
        if isBound { #expect(try await store.contentTypes(ofUpload: "Y", upload()) == ["text/html"]) }
        try await connection.runScript("UPDATE remote_uploads SET started_at = now() - interval '8 days'")
        #expect(try await store.contentTypes(ofUpload: "X", upload()) == nil)
        try await store.begin(upload(), contentType: "image/png")
        #expect(try await store.contentTypes(ofUpload: "X", upload()) == ["image/png", "text/html"])
    }

    @Test(.database(.migrated)) func oldStartsBindNothingAndAreForgotten() async throws {
        let store = try store()
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await store.begin(upload(), contentType: "image/png")
        try await connection.runScript("UPDATE remote_uploads SET started_at = now() - interval '8 days'")
        #expect(try await store.contentTypes(ofUpload: "X", upload()) == nil)
        try await connection.runScript("UPDATE remote_uploads SET started_at = now() - interval '47 days'")
        try await store.begin(upload("bob"), contentType: "image/png")
        #expect(try await connection.number("SELECT count(*) FROM remote_uploads") == 1)
    }

    /// Users ask for this, and starts are kept for weeks.
    @Test(.database(.migrated), arguments: ["auto", "force_generic_plan"])
    func `a start reads none of those that are kept`(planning: String) async throws {
        let database = try TestDatabase.current
        try await PostgresConnection(testing: database.connectionString).runScript(
            """
            INSERT INTO remote_uploads (principal, bucket, object_key, content_type, started_at)
            SELECT 'user:bob', 'demo', 'k' || n, 'a/b',
                now() - CASE WHEN n <= 30 THEN interval '47 days' ELSE interval '45 days' END
            FROM generate_series(1, 10000) n;
            ANALYZE remote_uploads
            """)
        let gateway = try PostgresConnection(
            testing: database.connectionString, settings: [("role", "sluice_gateway"), ("plan_cache_mode", planning)])
        for left: Int64 in [9981, 9972, 9973] {
            let read = try await gateway.rowsRead(of: "remote_uploads") {
                _ = try await gateway.execute(PostgresRemoteUploads.begin, (upload(), "image/png"))
            }
            #expect(read < 100)
            #expect(try await gateway.number("SELECT count(*) FROM remote_uploads") == left)
        }
    }

    @Test(.database(.migrated)) func theGatewayForgetsNothingByItself() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript("SET ROLE sluice_gateway")
        let error = await #expect(throws: PostgresError.self) {
            try await connection.runScript("DELETE FROM remote_uploads")
        }
        #expect(error?.sqlState == "42501")
    }
}

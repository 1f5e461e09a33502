import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

@Suite("POST /v1/multipart-uploads")
struct MultipartUploadTests {
    private static let path = "/v1/multipart-uploads/\(MemoryUploads.openID.lowercaseText)"
    private static let start = #"{"bucket":"photos","key":"uploads/a.png","contentType":"image/png"}"#

    @Test("tells a refusal of the store by its status and code, never by its text")
    func storeRefusal() async {
        let gateway = TestGateway()
        gateway.uploads.failure.withLock { $0 = .storeRefused(status: 403, code: "AccessDenied") }
        let answer = await gateway.send(.post, "/v1/multipart-uploads", token: "user-token", json: Self.start)
        #expect(answer.status == 502 && answer.string("code") == "StoreRefused")
        #expect(answer.number("storeStatus") == 403 && answer.string("storeCode") == "AccessDenied")
        gateway.uploads.failure.withLock { $0 = .unavailable(retryAfter: 5) }
        let down = await gateway.send(.post, "/v1/multipart-uploads", token: "user-token", json: Self.start)
        #expect(down.status == 503 && down.headers[.retryAfter] == "5")
        // The first upload has ended; nobody knows of the second.
        let states = gateway.uploads.rows.uploads.values.map(\.state)
        #expect(Set(states) == [.open, .aborted, .starting])
    }

    @Test("writes the upload down before it asks the store, and the URL before the upload")
    func recordBeforeAct() async {
        let gateway = TestGateway(ledger: StubLedger(failure: .unavailable(retryAfter: 1)))
        let answer = await gateway.send(.post, "/v1/multipart-uploads", token: "user-token", json: Self.start)
        #expect(answer.status == 503)
        #expect(gateway.uploads.rows.uploads.count == 1)
    }

    @Test("knows nobody else's upload", arguments: ["GET", "list", "DELETE", "/parts", ":complete"])
    func somebodyElses(what: String) async throws {
        let gateway = TestGateway()
        try gateway.uploads.rows.uploads[MemoryUploads.openID]?.principal = .user("mallory")
        let json =
            what == ":complete" ? #"{"parts":[{"partNumber":1,"etag":"a"}]}"# : #"{"parts":[{"partNumber":1}]}"#
        let answer =
            switch what {
            case "GET": await gateway.send(.get, Self.path, token: "user-token")
            case "list": await gateway.send(.get, Self.path + "/parts", token: "user-token")
            case "DELETE": await gateway.send(.delete, Self.path, token: "user-token")
            default: await gateway.send(.post, Self.path + what, token: "user-token", json: json)
            }
        #expect(answer.status == 404 && answer.string("code") == "NoSuchUpload")
        #expect(gateway.ledger.proposals.withLock { $0.isEmpty })
        #expect(await gateway.send(.get, "/v1/multipart-uploads/x", token: "user-token").status == 404)
    }

    @Test(
        "refuses bodies that make no sense",
        arguments: [
            ("/parts", #"{"parts":[{"partNumber":1},{"partNumber":1}]}"#, "parts"),
            ("/parts", #"{"parts":[{}]}"#, "parts[0].partNumber"),
            ("/parts", #"{"parts":[{"partNumber":1,"key":"x"}]}"#, "parts[0].key"),
            ("/parts", #"{"parts":[{"partNumber":1}],"uploadId":"x"}"#, "uploadId"),
            ("/parts", "{}", "parts"),
            (":complete", #"{"parts":[]}"#, "parts"),
            (":complete", #"{"parts":[{"partNumber":2,"etag":"a"},{"partNumber":1,"etag":"a"}]}"#, "parts"),
            (":complete", #"{"parts":[{"partNumber":1,"etag":"<a>"}]}"#, "parts[0].etag"),
            (":complete", #"{"parts":[{"partNumber":10001,"etag":"a"}]}"#, "parts[0].partNumber"),
        ])
    func badBodies(what: String, json: String, field: String) async {
        let answer = await TestGateway().send(.post, Self.path + what, token: "user-token", json: json)
        #expect(answer.status == 400 && answer.string("field") == field, "\(answer.text)")
    }

    @Test("refuses single parts for themselves")
    func badParts() async throws {
        let json = #"{"parts":[{"partNumber":0},{"partNumber":1},{"partNumber":2,"contentMD5":"x"}]}"#
        let answer = await TestGateway().send(.post, Self.path + "/parts", token: "user-token", json: json)
        let results = try #require(answer.json["results"] as? [[String: Any]])
        #expect(results.map { $0["field"] as? String } == ["partNumber", nil, "contentMD5"])
        #expect(results.map { $0["partNumber"] as? Int } == [nil, 1, nil])
        let url = try #require(results[1]["url"] as? String)
        #expect(url.contains("partNumber=1&") && url.contains("uploadId=store-1"))
        #expect(url.contains("/photos/uploads/large.png?"))
    }

    @Test("says that the start's length binds the parts, and which part lacks its own")
    func statedLength() async {
        let gateway = TestGateway()
        func ask(_ reservation: PartReservation) async -> TestAnswer {
            gateway.uploads.rows.reservation = reservation
            return await gateway.send(
                .post, Self.path + "/parts", token: "user-token",
                json: #"{"parts":[{"partNumber":1,"contentLength":6},{"partNumber":2}]}"#)
        }
        let unmeasured = await ask(.lengthRequired)
        #expect(unmeasured.status == 400, "\(unmeasured.text)")
        #expect(unmeasured.string("field") == "parts[1].contentLength", "\(unmeasured.text)")
        let long = await ask(.tooLarge(maxBytes: 10))
        #expect(long.status == 400 && long.string("field") == "parts", "\(long.text)")
        #expect(long.string("detail")?.contains("stated 10 bytes") == true, "\(long.text)")
    }

    @Test("tells the parts that the store has, page by page, to the owner while the grant is there")
    func storedParts() async throws {
        let gateway = TestGateway()
        let tag = "5eb63bbbe01eeed093cb22bb8f5acdc3"
        let parts = try (1...3).map {
            StoredPart(part: try UploadedPart(number: $0 * 2, etag: tag), size: 7, modifiedAt: TestGateway.now)
        }
        gateway.uploads.parts.withLock { $0 = parts }
        let path = Self.path + "/parts"
        let first = await gateway.send(.get, path + "?pageSize=2", token: "user-token")
        #expect(first.status == 200 && first.headers[.cacheControl] == "no-store", "\(first.text)")
        let items = try #require(first.json["items"] as? [[String: Any]])
        #expect(items.map { $0["partNumber"] as? Int } == [2, 4])
        #expect(items[0]["etag"] as? String == tag && items[0]["size"] as? Int == 7)
        #expect(items[0]["lastModifiedAt"] as? String == "2030-03-17T17:46:40Z")
        let token = try #require(first.string("nextPageToken"))
        let rest = await gateway.send(.get, path + "?pageSize=2&pageToken=" + token, token: "user-token")
        #expect((rest.json["items"] as? [[String: Any]])?.map { $0["partNumber"] as? Int } == [6])
        #expect(rest.json["nextPageToken"] == nil)
        #expect(gateway.ledger.proposals.withLock { $0.isEmpty })
        for query in ["?pageToken=x", "?pageToken=" + token + "A", "?pageSize=1001", "?partNumber=1"] {
            #expect(await gateway.send(.get, path + query, token: "user-token").status == 400, "\(query)")
        }
        gateway.uploads.failure.withLock { $0 = .storeRefused(status: 403, code: "AccessDenied") }
        #expect(await gateway.send(.get, path, token: "user-token").status == 502)
        let own = gateway.uploads.rows.uploads
        try gateway.uploads.rows.uploads[MemoryUploads.openID]?.key = ObjectKey("elsewhere/a")
        let ungranted = await gateway.send(.get, path, token: "user-token")
        #expect(ungranted.status == 403 && ungranted.string("code") == "AccessDenied")
        try gateway.uploads.rows.uploads[MemoryUploads.openID]?.principal = .user("mallory")
        #expect(await gateway.send(.get, path, token: "user-token").status == 404)
        // The store has dropped it: nobody needs to go on with it.
        gateway.uploads.rows.uploads = own
        gateway.uploads.failure.withLock { $0 = .notFound(.multipartUpload) }
        #expect(await gateway.send(.get, path, token: "user-token").status == 409)
        #expect(await gateway.send(.get, Self.path, token: "user-token").string("state") == "aborting")
    }

    @Test("completes when it is asked again with the same key after the store gave no answer")
    func completeAgain() async {
        let gateway = TestGateway()
        var headers = HeaderFields()
        headers[.idempotencyKey] = "complete-1"
        let json = #"{"parts":[{"partNumber":1,"etag":"a"}]}"#
        for (failure, status) in [(GatewayError.unavailable(retryAfter: 5), 503), (nil, 200), (nil, 200)]
            as [(GatewayError?, Int)]
        {
            gateway.uploads.failure.withLock { $0 = failure }
            let answer = await gateway.send(
                .post, Self.path + ":complete", token: "user-token", headers: headers, json: json)
            #expect(answer.status == status, "\(answer.text)")
        }
    }

    @Test("says that other parts may still make the object, and records nothing")
    func completeWithOtherParts() async {
        let gateway = TestGateway()
        func complete(_ etag: String) async -> TestAnswer {
            await gateway.send(
                .post, Self.path + ":complete", token: "user-token",
                json: #"{"parts":[{"partNumber":1,"etag":"\#(etag)"}]}"#)
        }
        gateway.uploads.failure.withLock { $0 = .unavailable(retryAfter: 5) }
        #expect(await complete("a").status == 503)
        gateway.uploads.failure.withLock { $0 = nil }
        let other = await complete("b")
        #expect(other.status == 409 && other.string("detail")?.contains("other parts") == true, "\(other.text)")
        #expect(gateway.ledger.proposals.withLock { $0.count } == 1)
        let same = await complete("a")
        #expect(same.status == 200 && same.string("state") == "completed", "\(same.text)")
    }

    @Test("starts when it is asked again with the same key after the store gave no answer, and then once")
    func startAgain() async throws {
        let gateway = TestGateway()
        var headers = HeaderFields()
        headers[.idempotencyKey] = "start-1"
        var ids: Set<String> = []
        for (failure, status) in [(GatewayError.unavailable(retryAfter: 5), 503), (nil, 201), (nil, 201)]
            as [(GatewayError?, Int)]
        {
            gateway.uploads.failure.withLock { $0 = failure }
            let answer = await gateway.send(
                .post, "/v1/multipart-uploads", token: "user-token", headers: headers, json: Self.start)
            #expect(answer.status == status, "\(answer.text)")
            if status == 201 { ids.insert(try #require(answer.string("id"))) }
        }
        #expect(ids.count == 1)
    }

    @Test("completes once, and says so as often as it is asked")
    func completeTwice() async {
        let gateway = TestGateway()
        let json = #"{"parts":[{"partNumber":1,"etag":"\"5eb63bbbe01eeed093cb22bb8f5acdc3\""}]}"#
        for _ in 0..<2 {
            let answer = await gateway.send(.post, Self.path + ":complete", token: "user-token", json: json)
            #expect(answer.status == 200 && answer.string("state") == "completed", "\(answer.text)")
        }
        #expect(gateway.ledger.proposals.withLock { $0.map(\.method) } == ["POST"])
        let other = await gateway.send(
            .post, Self.path + ":complete", token: "user-token", json: #"{"parts":[{"partNumber":1,"etag":"b"}]}"#)
        #expect(other.status == 409)
        #expect(await gateway.send(.delete, Self.path, token: "user-token").status == 409)
        let parts = await gateway.send(
            .post, Self.path + "/parts", token: "user-token", json: #"{"parts":[{"partNumber":1}]}"#)
        #expect(parts.status == 409)
    }

    @Test("is an upload that admins see with its owner, and end")
    func admins() async throws {
        let gateway = TestGateway()
        let list = await gateway.send(.get, "/admin/v1/multipart-uploads?state=open", token: "auditor-token")
        let items = try #require(list.json["items"] as? [[String: Any]])
        #expect(items.map { $0["principal"] as? String } == ["user:alice"])
        #expect(await gateway.send(.get, "/admin/v1/multipart-uploads", token: "user-token").status == 403)
        let path = "/admin" + Self.path
        #expect(await gateway.send(.delete, path, token: "auditor-token").status == 403)
        #expect(await gateway.send(.delete, path, token: "admin-token").status == 204)
        let read = await gateway.send(.get, path, token: "auditor-token")
        #expect(read.string("state") == "aborted")
        #expect(await gateway.send(.delete, path, token: "admin-token").status == 204)
    }
}

import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@Suite("POST /v1/issuances/{id}:confirm")
struct UploadTests {
    private func confirm(_ gateway: TestGateway, _ id: UUID) async -> TestAnswer {
        await gateway.send(.post, "/v1/issuances/\(id.lowercaseText):confirm", token: "user-token")
    }

    private func state(
        of object: StoredObject?, isDead: Bool = false, delivery: String = "presigned-url",
        _ change: (inout UploadRecord) -> Void = { _ in }
    ) async -> (state: String?, mismatches: [String]) {
        let gateway = TestGateway()
        gateway.objects.answer.withLock { $0 = .success(object) }
        let answer = await confirm(gateway, gateway.records.add(delivery: delivery, isDead: isDead, change))
        return (answer.string("state"), answer.json["mismatches"] as? [String] ?? [])
    }

    @Test("tells an object that fits from none, and from another")
    func states() async {
        #expect(await state(of: StubObjects.fitting()).state == "landed")
        #expect(await state(of: nil).state == "issued")
        #expect(await state(of: nil, isDead: true).state == "expired")
        let other = StubObjects.fitting {
            $0.size = 11
            $0.md5 = [UInt8](repeating: 8, count: 16)
            $0.contentType = "text/html"
        }
        let found = await state(of: other)
        #expect(found.state == "mismatched" && found.mismatches == ["size", "md5", "type"])
    }

    @Test("is unverified where a SHA-256 was asked for and nobody can know it")
    func unverified() async {
        let (digest, other) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
        func found(_ told: [UInt8]?, signsPayload: Bool = false) async -> (state: String?, mismatches: [String]) {
            await state(of: StubObjects.fitting { $0.sha256 = told }) {
                $0.contentSHA256 = digest
                $0.signsPayload = signsPayload
            }
        }
        #expect(await found(nil).state == "unverified")
        #expect(await found(digest).state == "landed")
        #expect(await found(other).mismatches == ["sha256"])
        // The store compared it when it received the bytes.
        #expect(await found(nil, signsPayload: true).state == "landed")
        #expect(await found(other, signsPayload: true).state == "mismatched")
        let wrong = await state(of: StubObjects.fitting { $0.size = 11 }) { $0.contentSHA256 = digest }
        #expect(wrong.state == "mismatched" && wrong.mismatches == ["size"])
    }

    @Test("compares what was bound, and nothing that was not or cannot be")
    func comparisons() async {
        #expect(await state(of: StubObjects.fitting { $0.md5 = nil }).state == "landed")
        #expect(await state(of: StubObjects.fitting { $0.contentType = "Image/PNG; charset=binary" }).state == "landed")
        let unbound = await state(of: StubObjects.fitting { $0.size = 99 }) { $0.contentLength = nil }
        #expect(unbound.state == "landed")
        // A form binds a maximum length, and may permit several types.
        let form = await state(of: StubObjects.fitting { $0.size = 3 }, delivery: "post-policy") {
            $0.contentType = "image/jpeg, image/png"
            $0.contentMD5 = nil
        }
        #expect(form.state == "landed")
        let large = await state(of: StubObjects.fitting { $0.size = 11 }, delivery: "post-policy")
        #expect(large.mismatches == ["size"])
        let parts = await state(of: StubObjects.fitting { $0.etag = "a-2" }, delivery: "multipart-start") {
            $0.completedETag = "b-2"
            $0.contentMD5 = nil
        }
        #expect(parts.mismatches == ["md5"])
    }

    @Test("does not ask about an upload in parts that is not completed", arguments: [false, true])
    func uncompleted(isDead: Bool) async {
        let gateway = TestGateway()
        gateway.objects.answer.withLock { $0 = .success(StubObjects.fitting()) }
        let id = gateway.records.add(delivery: "multipart-start", isDead: isDead) { $0.isUncompleted = true }
        let answer = await confirm(gateway, id)
        #expect(answer.status == 200 && answer.string("state") == (isDead ? "expired" : "issued"), "\(answer.text)")
        #expect(gateway.objects.asked.withLock { $0.isEmpty })
        gateway.records.rows.withLock { $0[id]?.record.isUncompleted = false }
        #expect(await confirm(gateway, id).string("state") == "landed")
    }

    @Test("does not take what lay there before for an upload")
    func older() async {
        #expect(
            await state(of: StubObjects.fitting { $0.modifiedAt = TestGateway.now.addingTimeInterval(-63) }).state
                == "issued")
        #expect(
            await state(of: StubObjects.fitting { $0.modifiedAt = TestGateway.now.addingTimeInterval(-61) }).state
                == "landed")
    }

    /// An object that was written a number of seconds after the link's end.
    private static func written(_ seconds: TimeInterval, size: Int64 = 10, etag: String = "tag") -> StoredObject {
        StubObjects.fitting {
            $0.modifiedAt = TestGateway.now.addingTimeInterval(840 + seconds)
            $0.size = size
            $0.etag = etag
        }
    }

    @Test("does not take what was put there long after the link's end for an upload, and tells nothing of it")
    func later() async {
        #expect(await state(of: Self.written(902)).state == "landed")
        #expect(await state(of: Self.written(903)).state == "issued")
        #expect(await state(of: Self.written(14 * 86_400, size: 99), isDead: true).state == "expired")
        let gateway = TestGateway()
        gateway.objects.answer.withLock { $0 = .success(Self.written(14 * 86_400)) }
        let answer = await confirm(gateway, gateway.records.add(isDead: true))
        #expect(answer.status == 200 && answer.string("state") == "expired", "\(answer.text)")
        for member in ["size", "etag", "mismatches"] { #expect(answer.json[member] == nil, "\(answer.text)") }
    }

    @Test("takes an upload for one that began in time, if its bytes may have needed until then")
    func slow() async {
        let size: Int64 = 600 * 65_536
        for bound in [size, nil] {
            #expect(await state(of: Self.written(1502, size: size)) { $0.contentLength = bound }.state == "landed")
            #expect(await state(of: Self.written(1503, size: size)) { $0.contentLength = bound }.state == "issued")
        }
        // More than was permitted needs no more time than that.
        #expect(await state(of: Self.written(903, size: size)).state == "issued")
    }

    @Test("knows an upload in parts by its tag however late it was completed, and until its end if that is forgotten")
    func lateParts() async {
        func found(_ seconds: TimeInterval, _ change: (inout UploadRecord) -> Void) async -> String? {
            await state(of: Self.written(seconds, etag: "a-2"), delivery: "multipart-start") {
                $0.contentMD5 = nil
                change(&$0)
            }.state
        }
        #expect(await found(14 * 86_400) { $0.completedETag = "a-2" } == "landed")
        #expect(await found(14 * 86_400) { $0.completedETag = "b-2" } == "issued")
        // 30 days after it began, 15 minutes before the link's end.
        let last: TimeInterval = 30 * 86_400 - 900
        #expect(await found(last + 902) { $0.hasForgottenEnd = true } == "landed")
        #expect(await found(last + 903) { $0.hasForgottenEnd = true } == "issued")
    }

    @Test("keeps to what was found once, though the object is overwritten or gone; asks again after anything else")
    func twice() async {
        let gateway = TestGateway()
        let id = gateway.records.add()
        #expect(await confirm(gateway, id).string("state") == "issued")
        gateway.objects.answer.withLock { $0 = .success(StubObjects.fitting { $0.size = 1 }) }
        #expect(await confirm(gateway, id).string("state") == "mismatched")
        gateway.objects.answer.withLock { $0 = .success(StubObjects.fitting()) }
        #expect(await confirm(gateway, id).string("state") == "landed")
        gateway.objects.answer.withLock { $0 = .success(nil) }
        let last = await confirm(gateway, id)
        #expect(
            last.string("state") == "landed" && last.number("size") == 10 && last.string("source") == "confirmation")
        #expect(gateway.objects.asked.withLock { $0.count } == 3)
    }

    @Test("knows nobody else's issuance, nor one that is none")
    func somebodyElses() async {
        let gateway = TestGateway()
        let other = await confirm(gateway, gateway.records.add(principal: "user:mallory"))
        let none = await confirm(gateway, UUID())
        for answer in [other, none] {
            #expect(answer.status == 404 && answer.string("code") == "NoSuchIssuance")
        }
        #expect(await gateway.send(.post, "/v1/issuances/x:confirm", token: "user-token").status == 404)
        #expect(gateway.objects.asked.withLock { $0.isEmpty })
        let admin = await gateway.send(
            .post, "/admin/v1/uploads/\(gateway.records.add(principal: "user:mallory").lowercaseText):confirm",
            token: "admin-token")
        #expect(admin.status == 200 && admin.string("principal") == "user:mallory")
    }

    @Test(
        "refuses what permits no one object, and says so",
        arguments: [
            ("presigned-url", "GetObject", "GET", "uploads/a.png"), ("redirect", "GetObject", "GET", "uploads/a.png"),
            ("multipart-part", "PutObject", "PUT", "uploads/a.png"),
            ("multipart-complete", "PutObject", "POST", "uploads/a.png"),
            ("sts", "PutObject,GetObject", "*", "uploads/"), ("sts", "PutObject", "*", "uploads/"),
            ("remote-signature", "PutObject", "POST", "uploads/a.png"),
            ("post-policy", "PutObject", "POST", "uploads/${filename}"),
        ])
    func refusals(delivery: String, action: String, method: String, key: String) async {
        let gateway = TestGateway()
        let id = gateway.records.add(delivery: delivery, action: action, method: method, key: key)
        let answer = await confirm(gateway, id)
        #expect(answer.status == 409 && answer.string("code") == "Conflict")
        #expect(answer.string("detail")?.isEmpty == false)
        #expect(gateway.objects.asked.withLock { $0.isEmpty })
    }

    @Test("tells a store that is down from one that refuses, and notes nothing then")
    func failures() async {
        let gateway = TestGateway()
        let id = gateway.records.add()
        gateway.objects.answer.withLock { $0 = .failure(.unavailable(retryAfter: 5)) }
        let down = await confirm(gateway, id)
        #expect(down.status == 503 && down.headers[.retryAfter] == "5")
        gateway.objects.answer.withLock { $0 = .failure(.storeRefused(status: 403, code: nil)) }
        let refused = await confirm(gateway, id)
        #expect(refused.status == 502 && refused.number("storeStatus") == 403)
        #expect(gateway.records.rows.withLock { $0[id]?.finding } == nil)
    }

    @Test("is listed for auditors, narrowed as asked")
    func list() async throws {
        let gateway = TestGateway()
        gateway.records.add()
        let path = "/admin/v1/uploads?state=expired&bucket=photos&principal=user:alice&from=2030-01-01T00:00:00Z"
        let answer = await gateway.send(.get, path, token: "auditor-token")
        #expect(answer.status == 200, "\(answer.text)")
        let items = try #require(answer.json["items"] as? [[String: Any]])
        #expect(items.map { $0["principal"] as? String } == ["user:alice"])
        let query = try #require(gateway.records.queries.withLock { $0.last })
        #expect(query.state == .expired && query.bucket?.rawValue == "photos" && query.from != nil)
        #expect(await gateway.send(.get, "/admin/v1/uploads?state=gone", token: "auditor-token").status == 400)
        #expect(await gateway.send(.get, "/admin/v1/uploads", token: "user-token").status == 403)
    }
}

import Bytes
import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

@Suite("Git LFS")
struct GitLFSTests {
    private static let mediaType = "application/vnd.git-lfs+json"
    private static let oid = DigestAlgorithm.sha256.digest(of: "an object").hex
    private static let key = "uploads/repo/\(oid.prefix(2))/\(oid.dropFirst(2).prefix(2))/\(oid)"

    private func basic(_ password: String, name: String = "alice") -> String {
        "Basic " + Base64.encode(Array("\(name):\(password)".utf8))
    }

    private func batch(_ operation: String, _ objects: [(oid: String, size: Int)], _ more: String = "") -> String {
        let items = objects.map { #"{"oid":"\#($0.oid)","size":\#($0.size)}"# }.joined(separator: ",")
        return
            #"{"operation":"\#(operation)","transfers":["lfs-standalone-file","basic"],"ref":{"name":"refs/heads/main"},"#
            + #""objects":[\#(items)]\#(more)}"#
    }

    private func send(
        _ gateway: TestGateway, _ body: String?, to path: String = "uploads/repo/objects/batch",
        authorization: String? = nil, method: HTTPRequest.Method = .post
    ) async -> TestAnswer {
        await gateway.send(
            method, "/lfs/photos/" + path,
            headers: [
                .authorization: authorization ?? basic("user-token"),
                .contentType: Self.mediaType + "; charset=utf-8", .accept: Self.mediaType,
            ], json: body)
    }

    private func objects(_ answer: TestAnswer) throws -> [[String: Any]] {
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.headers[.contentType] == Self.mediaType && answer.headers[.cacheControl] == "no-store")
        #expect(answer.string("transfer") == "basic")
        return try #require(answer.json["objects"] as? [[String: Any]])
    }

    private func action(_ name: String, _ object: [String: Any]) -> [String: Any]? {
        (object["actions"] as? [String: Any])?[name] as? [String: Any]
    }

    private func code(_ object: [String: Any]) -> Int? { (object["error"] as? [String: Any])?["code"] as? Int }

    /// A request has 15 seconds: the store's last answer takes five, recording five, and a second is left over.
    @Test(
        "a slow store is asked while links can still be recorded, and about the rest of the batch not at all",
        arguments: [(3.9, 20), (4.0, 16), (14.0, 16)])
    func slowStore(seconds: Double, asked: Int) async throws {
        let start = ContinuousClock.now
        let looks = Mutex(0)
        let gateway = TestGateway(
            policy: StubPolicy(protocols: [.gitLFS]),
            instant: {
                looks.withLock { looks in
                    looks += 1
                    return looks == 1 ? start : start + .seconds(seconds)
                }
            })
        gateway.objects.answer.withLock { $0 = .success(nil) }
        let names = (0..<20).map { DigestAlgorithm.sha256.digest(of: "object \($0)").hex }
        let answer = await send(gateway, batch("upload", names.map { ($0, 9) }))
        let results = try objects(answer)
        #expect(gateway.objects.asked.withLock(\.count) == asked)
        #expect(results.filter { action("upload", $0) != nil }.count == asked, "\(answer.text)")
        #expect(results.filter { code($0) == 503 }.count == 20 - asked, "\(answer.text)")
    }

    @Test("a store that may not tell what is missing gets it; other refusals are the object's own")
    func forbiddenLook() async throws {
        for (status, isGiven) in [(403, true), (401, false), (400, false), (500, false)] {
            let gateway = TestGateway(policy: StubPolicy(protocols: [.gitLFS]))
            gateway.objects.answer.withLock { $0 = .failure(.storeRefused(status: status, code: nil)) }
            let object = try objects(await send(gateway, batch("upload", [(Self.oid, 9)])))[0]
            #expect((action("upload", object) != nil) == isGiven, "\(status): \(object)")
            #expect(code(object) == (isGiven ? nil : 502), "\(status): \(object)")
        }
    }

    @Test("a busy gateway is asked again: clients give a push up with 503")
    func busy() async throws {
        let gateway = TestGateway(policy: StubPolicy(protocols: [.gitLFS], failure: .slowDown(retryAfter: 3)))
        let answer = await send(gateway, batch("upload", [(Self.oid, 9)]))
        #expect(answer.status == 429 && answer.headers[.retryAfter] == "3", "\(answer.text)")
        let broken = TestGateway(policy: StubPolicy(protocols: [.gitLFS], failure: .unavailable(retryAfter: 3)))
        #expect(await send(broken, batch("upload", [(Self.oid, 9)])).status == 503)
    }

    @Test("what the server itself refuses has the form of the protocol", arguments: ServerFailure.Shortage.allCases)
    func full(shortage: ServerFailure.Shortage) throws {
        let gateway = TestGateway()
        let head = RequestHead(
            method: .post, target: "/lfs/photos/uploads/repo/objects/batch", headerFields: [.accept: Self.mediaType])
        let request = RefusedRequest(head: head, context: gateway.responder.begin(head).context)
        func refusal(_ failure: ServerFailure) -> TestAnswer {
            TestAnswer(gateway.responder.response(to: failure, of: request))
        }
        let busy = refusal(.unavailable(retryAfter: 3, lacking: shortage))
        #expect(busy.status == 429 && busy.headers[.retryAfter] == "3", "\(busy.text)")
        let long = refusal(.contentTooLarge(maxBytes: 9))
        #expect(long.status == 413)
        for answer in [busy, long] {
            #expect(answer.headers[.contentType] == Self.mediaType && answer.string("message")?.isEmpty == false)
            #expect(answer.string("request_id") == answer.headers[.requestID] && answer.string("request_id") != nil)
        }
        #expect(gateway.logLines.contains("429"))
    }

    @Test("a download has a link, and its errors are its own")
    func downloads() async throws {
        let gateway = TestGateway(policy: StubPolicy(protocols: [.gitLFS]))
        let answer = await send(gateway, batch("download", [(Self.oid, 9), (Self.oid, 9)], #","later":{"x":1}"#))
        for object in try objects(answer) {
            let link = try #require(action("download", object))
            #expect((link["href"] as? String)?.hasPrefix("https://store.example/photos/\(Self.key)?") == true)
            #expect(link["expires_in"] as? Int == 900 && object["authenticated"] as? Bool == true)
            #expect(action("verify", object) == nil)
        }
        #expect(gateway.objects.asked.withLock { $0 }.isEmpty)
        #expect(gateway.ledger.proposals.withLock { $0 }.map(\.delivery) == [.presignedURL, .presignedURL])
        let elsewhere = await send(gateway, batch("download", [(Self.oid, 9)]), to: "other/objects/batch")
        #expect(code(try objects(elsewhere)[0]) == 403)
    }

    @Test("an upload binds digest, length, type and creation; what is there has no actions")
    func uploads() async throws {
        let gateway = TestGateway(
            APISettings(publicURL: "https://sluice.example"), policy: StubPolicy(protocols: [.gitLFS]))
        let object = try objects(await send(gateway, batch("upload", [(Self.oid, 9)])))[0]
        let link = try #require(action("upload", object))
        let digest = Base64.encode(try #require(Hex.decode(Self.oid)))
        #expect(
            link["header"] as? [String: String] == [
                "content-type": "application/octet-stream", "x-amz-checksum-sha256": digest, "if-none-match": "*",
            ])
        let href = try #require(link["href"] as? String)
        for name in ["content-length", "content-type", "if-none-match", "x-amz-checksum-sha256"] {
            #expect(href.contains(name), "\(href)")
        }
        let verify = try #require(action("verify", object))
        let id = try #require(gateway.ledger.proposals.withLock { $0.first }).id.uuidString.lowercased()
        #expect(
            verify["href"] as? String
                == "https://sluice.example/lfs/photos/uploads/repo/objects/verify?issuance=\(id)")
        #expect(verify["header"] as? [String: String] == ["Sluice-Authorization": basic("user-token")])
        #expect(verify["expires_in"] == nil && verify["expires_at"] == nil)
        #expect(gateway.objects.asked.withLock { $0 } == ["photos/" + Self.key])

        gateway.objects.answer.withLock { $0 = .success(StubObjects.fitting { $0.size = 9 }) }
        let there = try objects(await send(gateway, batch("upload", [(Self.oid, 9), (Self.oid, 8)])))
        #expect(there[0]["actions"] == nil && there[0]["error"] == nil)
        #expect(there[1]["actions"] == nil && code(there[1]) == 422)
        #expect(gateway.ledger.proposals.withLock { $0.count } == 1)

        gateway.objects.answer.withLock { $0 = .failure(.storeRefused(status: 500, code: nil)) }
        #expect(code(try objects(await send(gateway, batch("upload", [(Self.oid, 9)])))[0]) == 502)
        #expect(!gateway.logLines.contains("user-token") && !gateway.logLines.contains("X-Amz-Signature"))
    }

    @Test("who may not upload learns nothing of what is there")
    func secrecy() async throws {
        let gateway = TestGateway(policy: StubPolicy(protocols: [.gitLFS]))
        let refused = await send(gateway, batch("upload", [(Self.oid, 9)]), to: "other/objects/batch")
        #expect(code(try objects(refused)[0]) == 403)
        #expect(gateway.objects.asked.withLock { $0 }.isEmpty)
        let denied = TestGateway(policy: StubPolicy(effect: .deny, protocols: [.gitLFS]))
        #expect(code(try objects(await send(denied, batch("upload", [(Self.oid, 9)])))[0]) == 403)
        #expect(denied.objects.asked.withLock { $0 }.isEmpty)
    }

    @Test("a bucket that does not open the protocol answers as one that does not exist")
    func closed() async throws {
        for protocols in [[], [.awsRemoteSigning]] as [Set<ClientProtocol>] {
            let gateway = TestGateway(policy: StubPolicy(protocols: protocols))
            for operation in ["download", "upload"] {
                let here = try objects(await send(gateway, batch(operation, [(Self.oid, 9)])))
                let nowhere = await gateway.send(
                    .post, "/lfs/nowhere/uploads/objects/batch", token: "user-token",
                    headers: [.contentType: Self.mediaType], json: batch(operation, [(Self.oid, 9)]))
                #expect(code(here[0]) == 403)
                let there = try objects(nowhere)
                #expect(here[0]["error"] as? NSDictionary == there[0]["error"] as? NSDictionary)
            }
            #expect(gateway.ledger.proposals.withLock { $0.isEmpty } && gateway.objects.asked.withLock { $0.isEmpty })
        }
    }

    @Test("a store that cannot bind the digest is refused with advice, unless the bucket allows sizes alone")
    func weakStores() async throws {
        func object(
            _ protocols: Set<ClientProtocol>, publicURL: String? = "https://sluice.example",
            scheme: Bucket.Scheme = .ossV4, _ operation: String = "upload"
        ) async throws -> [String: Any] {
            let gateway = TestGateway(
                APISettings(publicURL: publicURL), policy: StubPolicy(protocols: protocols, scheme: scheme))
            return try objects(await send(gateway, batch(operation, [(Self.oid, 9)])))[0]
        }
        let strict = try await object([.gitLFS])
        #expect(code(strict) == 422 && "\(strict)".contains("git-lfs-verify") && "\(strict)".contains("aws-v4"))
        let weak = try await object([.gitLFSVerify])
        #expect(action("verify", weak) != nil)
        #expect(
            action("upload", weak)?["header"] as? [String: String] == [
                "content-type": "application/octet-stream", "x-oss-forbid-overwrite": "true",
            ])
        let unseen = try await object([.gitLFSVerify], publicURL: nil)
        #expect(code(unseen) == 422 && !"\(unseen)".contains("git-lfs-verify"))
        // The other protocol helps neither where a link may replace an object, nor a download.
        for protocols in [[.gitLFS], [.gitLFSVerify]] as [Set<ClientProtocol>] {
            let old = try await object(protocols, scheme: .awsV2)
            #expect(code(old) == 422 && "\(old)".contains("Give the bucket the scheme"), "\(old)")
            #expect("\(old)".contains("aws-v4") && !"\(old)".contains("git-lfs-verify"), "\(old)")
        }
        let download = try await object([.gitLFS], scheme: .gcsV2RSA, "download")
        #expect(code(download) == 422 && !"\(download)".contains("git-lfs-verify"), "\(download)")
        // A stranger learns neither.
        let gateway = TestGateway(policy: StubPolicy(protocols: [.gitLFSVerify], scheme: .ossV4))
        let refused = await send(gateway, batch("upload", [(Self.oid, 9)]), to: "other/objects/batch")
        #expect(code(try objects(refused)[0]) == 403)
    }

    @Test(
        "a quota has the status of its meaning",
        arguments: [
            (Quota.Metric.urls, Quota.Period.day, 429), (.bytes, .total, 507), (.bytes, .month, 509),
        ])
    func quotas(metric: Quota.Metric, period: Quota.Period, status: Int) async throws {
        let refusal = QuotaRefusal(
            quotaID: "q", metric: metric, period: period, limit: 1, remaining: 0, resetsIn: period == .total ? nil : 60)
        let gateway = TestGateway(
            ledger: StubLedger(verdict: .quotaExceeded(refusal)), policy: StubPolicy(protocols: [.gitLFS]))
        #expect(code(try objects(await send(gateway, batch("upload", [(Self.oid, 9)])))[0]) == status)
    }

    @Test("conditions of grants hold for objects of Git LFS")
    func conditions() async throws {
        for (conditions, status) in [
            (GrantConditions(maxBytes: 8), 413), (GrantConditions(contentTypes: ["image/*"]), 403),
            (GrantConditions(requireContentMD5: true), 403), (GrantConditions(sourceCIDRs: ["198.51.100.0/24"]), 403),
        ] {
            let gateway = TestGateway(policy: StubPolicy(conditions: conditions, protocols: [.gitLFS]))
            #expect(code(try objects(await send(gateway, batch("upload", [(Self.oid, 9)])))[0]) == status)
            #expect(gateway.objects.asked.withLock { $0 }.isEmpty)
        }
    }

    @Test("a verification compares what is at the store, and is for the caller's own upload")
    func verification() async throws {
        let gateway = TestGateway(policy: StubPolicy(protocols: [.gitLFS]))
        let id = gateway.records.add(key: Self.key) { record in
            record.contentMD5 = nil
            record.contentType = "application/octet-stream"
            record.contentLength = 10
        }
        func verify(_ size: Int, _ query: String? = nil, oid: String = Self.oid) async -> Int {
            await send(
                gateway, #"{"oid":"\#(oid)","size":\#(size)}"#,
                to: "uploads/repo/objects/verify" + (query ?? "?issuance=\(id.uuidString)")
            ).status
        }
        #expect(await verify(10) == 404)
        gateway.objects.answer.withLock {
            $0 = .success(StubObjects.fitting { $0.contentType = "application/octet-stream" })
        }
        #expect(await verify(10) == 200)
        #expect(gateway.records.rows.withLock { $0[id]?.finding?.kind } == .landed)
        #expect(await verify(11) == 409)
        #expect(await verify(10, oid: String(Self.oid.reversed())) == 404)
        #expect(await verify(10, "") == 404)
        #expect(await verify(10, "?issuance=\(gateway.records.add(principal: "user:bob", key: Self.key))") == 404)
    }

    @Test(
        "a push fails unless what was announced is at the store: a verification has a status that clients heed",
        arguments: [ClientProtocol.gitLFS, .gitLFSVerify])
    func verdicts(clientProtocol: ClientProtocol) async throws {
        let gateway = TestGateway(
            policy: StubPolicy(
                protocols: [clientProtocol], scheme: clientProtocol == .gitLFSVerify ? .ossV4 : .awsV4))
        func found(_ change: (inout StoredObject) -> Void = { _ in }) -> StoredObject {
            StubObjects.fitting { object in
                object.contentType = "application/octet-stream"
                change(&object)
            }
        }
        let cases: [(found: StoredObject?, status: Int)] = [
            (found(), 200), (nil, 404), (found { $0.size = 9 }, 409), (found { $0.size = 11 }, 409),
            (found { $0.contentType = "text/plain" }, 409),
        ]
        for (object, status) in cases {
            let id = gateway.records.add(key: Self.key) { record in
                record.contentMD5 = nil
                record.contentType = "application/octet-stream"
                record.contentLength = 10
            }
            gateway.objects.answer.withLock { $0 = .success(object) }
            let answer = await send(
                gateway, #"{"oid":"\#(Self.oid)","size":10}"#,
                to: "uploads/repo/objects/verify?issuance=\(id.uuidString)")
            #expect(answer.status == status, "\(answer.text)")
            #expect((answer.string("message") != nil) == (status != 200), "\(answer.text)")
        }
        // Clients pass over 422, and ask again after 401 and 429.
        for (path, body) in [
            ("uploads/repo/objects/verify", "{"), ("uploads/repo/objects/verify", #"{"oid":"x","size":1}"#),
            ("uploads/repo/objects/verify", #"{"oid":"\#(Self.oid)","size":-1}"#),
            ("uploads/repo/objects/verify?nosuch=1", #"{"oid":"\#(Self.oid)","size":10}"#),
            ("uploads%2Frepo/objects/verify", #"{"oid":"\#(Self.oid)","size":10}"#),
        ] {
            #expect(await send(gateway, body, to: path).status == 400, "\(path) \(body)")
        }
    }

    @Test("a verification has its credential in Authorization, or in the field that the batch named")
    func verificationSignIn() async throws {
        let gateway = TestGateway(policy: StubPolicy(protocols: [.gitLFS]))
        let id = gateway.records.add(key: Self.key) { record in
            record.contentMD5 = nil
            record.contentType = "application/octet-stream"
            record.contentLength = 10
        }
        gateway.objects.answer.withLock {
            $0 = .success(StubObjects.fitting { $0.contentType = "application/octet-stream" })
        }
        func status(_ operation: String, _ authorization: [String], _ own: [String]) async -> Int {
            var headers: HeaderFields = [.contentType: Self.mediaType]
            headers[values: .authorization] = authorization
            headers[values: .sluiceAuthorization] = own
            let body =
                operation == "batch" ? batch("download", [(Self.oid, 9)]) : #"{"oid":"\#(Self.oid)","size":10}"#
            let query = operation == "batch" ? "" : "?issuance=\(id.uuidString)"
            let answer = await gateway.send(
                .post, "/lfs/photos/uploads/repo/objects/\(operation)\(query)", headers: headers, json: body)
            return answer.status
        }
        let (right, bearer, wrong) = (basic("user-token"), "Bearer user-token", basic("wrong"))
        for authorization in [[right], [bearer]] {
            for own in [[], [right], [bearer], [wrong], [right, right]] {
                #expect(await status("verify", authorization, own) == 200, "\(own)")
                #expect(await status("batch", authorization, own) == 200, "\(own)")
            }
        }
        for own in [[right], [bearer]] {
            #expect(await status("verify", [], own) == 200)
            // Nothing but the answer to a batch names the field.
            #expect(await status("batch", [], own) == 401)
            #expect(await status("verify", [wrong], own) == 401)
        }
        for own in [[], [wrong], [right, right], ["user-token"]] {
            #expect(await status("verify", [], own) == 401, "\(own)")
        }
    }

    @Test("locks are answered 404, in the form of Git LFS", arguments: ["locks", "uploads/locks/verify", "x"])
    func locks(path: String) async {
        let gateway = TestGateway(policy: StubPolicy(protocols: [.gitLFS]))
        for method in [HTTPRequest.Method.get, .post] {
            let answer = await send(gateway, method == .get ? nil : "{}", to: path, method: method)
            #expect(answer.status == 404 && answer.headers[.contentType] == Self.mediaType)
            #expect(answer.string("message") != nil && answer.string("request_id") == answer.headers[.requestID])
        }
    }

    @Test("a password or a bearer token signs in, and nothing else")
    func signIn() async throws {
        let gateway = TestGateway(policy: StubPolicy(protocols: [.gitLFS]))
        let body = batch("download", [(Self.oid, 9)])
        for authorization in [
            basic("user-token"), basic("user-token", name: ""), basic("user-token", name: "a/b@c"), "Bearer user-token",
            "bAsIc " + basic("user-token").dropFirst(6),
        ] {
            #expect(await send(gateway, body, authorization: authorization).status == 200, "\(authorization)")
        }
        for authorization in [
            basic("wrong"), basic(""), basic("user-token\n"), basic("user-token", name: "a:b"), "Basic", "Basic x",
            "Basic " + Base64.encode(Array("user-token".utf8)), basic("user-token") + "=", "Digest x", "user-token",
            basic(String(repeating: "a", count: 9000)),
        ] {
            let answer = await send(gateway, body, authorization: authorization)
            #expect(answer.status == 401, "\(authorization)")
            #expect(answer.headers[.lfsAuthenticate] == #"Basic realm="sluice""#)
            #expect(answer.string("message")?.isEmpty == false)
        }
    }

    @Test("bodies that are no batch are refused in the form of Git LFS")
    func malformed() async throws {
        let gateway = TestGateway(policy: StubPolicy(protocols: [.gitLFS]))
        let many = batch("download", Array(repeating: (Self.oid, 9), count: 1001))
        for (body, status) in [
            ("{", 400), ("[]", 400), ("{}", 400), (batch("delete", []), 400), (many, 413),
            (batch("upload", [(String(Self.oid.dropLast()), 9)]), 400),
            (batch("upload", [(Self.oid.uppercased(), 9)]), 400),
            (batch("upload", [(Self.oid, -1)]), 400), (batch("upload", [], #","hash_algo":"sha1""#), 409),
            (batch("upload", []).replacing("\"basic\"", with: "\"ssh\""), 400),
        ] {
            let answer = await send(gateway, body)
            #expect(answer.status == status, "\(body.prefix(200)): \(answer.text)")
            #expect(answer.headers[.contentType] == Self.mediaType && answer.string("message") != nil)
        }
        let answer = await send(gateway, batch("download", Array(repeating: (Self.oid, 9), count: 1000)))
        #expect(try objects(answer).count == 1000)
        #expect(await send(gateway, many, to: "uploads%2Frepo/objects/batch").status == 400)
        // With what follows it, the slash is one character of Swift.
        let body = batch("download", [(Self.oid, 9)])
        #expect(await send(gateway, body, to: "uploads%2F%CC%81repo/objects/batch").status == 400)
    }

    /// Number of inputs for each parser. 10⁶ take minutes.
    private static let inputs = ProcessInfo.processInfo.environment["SLUICE_TEST_STRINGS"].flatMap { Int($0) } ?? 20_000

    @Test("credentials and batches that are changed at random are refused or read in one way")
    func mutations() throws {
        var random = SeededGenerator(seed: 18)
        let bytes = Array("\":{}[],\\ \n0aA=+/%:-.é".utf8)
        func mutated(_ text: String) -> [UInt8] {
            var text = Array(text.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text[place] = bytes.randomElement(using: &random) ?? 0
                case 1: text.insert(bytes.randomElement(using: &random) ?? 0, at: place)
                default: text.remove(at: place)
                }
            }
            return text
        }
        var accepted = 0
        for _ in 0..<Self.inputs {
            let value = String(decoding: mutated(basic("sluice_abc.def-ghi")), as: UTF8.self)
            var headers = HeaderFields()
            headers[.authorization] = value
            guard let token = try? BasicToken.token(in: headers) else { continue }
            accepted += 1
            // Read in another way: by Foundation's decoder, and the text after the first colon.
            let parts = (headers[.authorization] ?? "").split(separator: " ", maxSplits: 1)
            if parts[0].lowercased() == "basic" {
                let text = Data(base64Encoded: String(parts[1])).map { String(decoding: $0, as: UTF8.self) } ?? ""
                let password = text.firstIndex(of: ":").map { text[text.index(after: $0)...] } ?? ""
                #expect(token.reveal() == password, "\(value)")
            }
        }
        #expect(accepted > 0)
        accepted = 0
        let body = batch("upload", [(Self.oid, 9), (Self.oid, 12_345)])
        for _ in 0..<Self.inputs {
            let text = mutated(body)
            guard let json = try? JSONObject(JSONText.body(text)), let read = try? GitLFSBatch(json) else { continue }
            accepted += 1
            let other = try #require(try JSONSerialization.jsonObject(with: Data(text)) as? [String: Any])
            let items = try #require(other["objects"] as? [[String: Any]])
            #expect(read.operation.rawValue == other["operation"] as? String)
            #expect(read.objects.map(\.oid) == items.map { $0["oid"] as? String })
            #expect(read.objects.map(\.size) == items.map { ($0["size"] as? NSNumber)?.int64Value })
            #expect(read.objects.allSatisfy { $0.oid.wholeMatch(of: /[0-9a-f]{64}/) != nil && $0.size >= 0 })
        }
        #expect(accepted > 0)
    }
}

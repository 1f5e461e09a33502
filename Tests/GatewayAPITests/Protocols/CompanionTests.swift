import Bytes
import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

/// The requests of Uppy, as its clients of versions 5 and 6 send them: `S3Companion` and `RequestClient`.
@Suite("Uppy's requests")
struct CompanionTests {
    /// The two ways to reach the routes.
    enum Client: String, CaseIterable {
        /// Version 6 sends no header; the address holds a ticket.
        case version6
        /// Versions 4 and 5 send the headers of their option `headers`.
        case version5
    }

    private struct Bench {
        let gateway: TestGateway
        let base: String
        var headers: HeaderFields
        let ticket: String

        init(
            _ client: Client, prefix: String = "uploads/", actions: Set<Action> = [.putObject],
            ledger: StubLedger = StubLedger(),
            policy: StubPolicy = StubPolicy()
        ) throws {
            let (text, row) = try TicketTests.row()
            ticket = text
            var ticketRow = row
            (ticketRow.prefix, ticketRow.actions) = (ExactText(prefix), actions)
            switch client {
            case .version6:
                let fixture = IssuerFixture()
                fixture.policy.add(ticketRow)
                gateway = TestGateway(ledger: ledger, policy: policy, authenticator: fixture.authenticator)
                (base, headers) = ("/companion/\(text)", [:])
            case .version5:
                gateway = TestGateway(ledger: ledger, policy: policy)
                base = "/companion"
                headers = [.authorization: "Bearer user-token"]
                headers[.sluiceBucket] = "photos"
                headers[.sluicePrefix] = String(
                    decoding: PercentEncoding.encode(prefix, keeping: .unreservedAndSlash), as: UTF8.self)
            }
        }

        func send(_ method: HTTPRequest.Method, _ path: String, _ json: String? = nil) async -> TestAnswer {
            var headers = headers
            headers[.accept] = "application/json"
            if json != nil { headers[.contentType] = "application/json" }
            return await gateway.send(method, base + path, headers: headers, json: json)
        }
    }

    private static let file = "filename=Katze%20%F0%9F%90%88.PNG&type=image%2Fpng"

    @Test(arguments: Client.allCases)
    func `a form names the object itself and ends its URL with a slash`(client: Client) async throws {
        let bench = try Bench(client)
        let answer = await bench.send(
            .get,
            "/s3/params?\(Self.file)&metadata%5Bname%5D=Katze+%F0%9F%90%88.PNG&metadata%5BrelativePath%5D=null"
                + "&metadata%5Bcaption%5D=a+cat")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(Set(answer.json.keys) == ["method", "url", "fields", "expires"])
        #expect(answer.string("method") == "POST" && answer.string("url") == "https://store.example/photos/")
        #expect(answer.number("expires") == 900)
        let fields = try #require(answer.json["fields"] as? [String: String])
        let key = try #require(fields["key"])
        #expect(
            key.hasPrefix("uploads/") && key.hasSuffix(".PNG")
                && UUID(uuidString: String(key.dropFirst(8).dropLast(4))) != nil)
        #expect(fields["Content-Type"] == "image/png" && fields["success_action_status"] == "201")
        #expect(fields["x-amz-meta-caption"] == "a cat" && fields["x-amz-meta-relativepath"] == nil)
        #expect(fields["x-amz-meta-name"] == "=?UTF-8?B?\(Data("Katze 🐈.PNG".utf8).base64EncodedString())?=")
        let policy = try #require(fields["policy"].flatMap { Data(base64Encoded: $0) })
        #expect(String(decoding: policy, as: UTF8.self).contains("5368709120"))
        let proposal = try #require(bench.gateway.ledger.proposals.withLock { $0.first })
        #expect(proposal.delivery == .postPolicy && proposal.key.rawValue == key)
        let route = client == .version6 ? "/companion/{ticket}/s3/params" : "/companion/s3/params"
        #expect(bench.gateway.logLines.contains(route) && !bench.gateway.logLines.contains(bench.ticket))
        #expect(proposal.charges.contains { $0.quota.period == .total } == (client == .version6))
    }

    @Test(arguments: Client.allCases)
    func `an upload in parts goes from start to end`(client: Client) async throws {
        let bench = try Bench(client)
        let started = await bench.send(
            .post, "/s3/multipart",
            #"{"filename":"a.png","metadata":{"name":"a.png","relativePath":null},"type":"image/png"}"#)
        #expect(started.status == 200, "\(started.text)")
        #expect(Set(started.json.keys) == ["key", "uploadId", "bucket"] && started.string("bucket") == "photos")
        let id = try #require(started.string("uploadId"))
        let key = try #require(started.string("key"))
        #expect(key.hasPrefix("uploads/") && key.hasSuffix(".png") && !key.contains("a.png"))
        let query = "?key=" + key.replacing("/", with: "%2F")

        let part = await bench.send(.get, "/s3/multipart/\(id)/1\(query)")
        #expect(part.status == 200, "\(part.text)")
        #expect(Set(part.json.keys) == ["url", "expires"] && part.string("url")?.contains("partNumber=1&") == true)
        let batch = await bench.send(.get, "/s3/multipart/\(id)/batch\(query)&partNumbers=2,3")
        let links = try #require(batch.json["presignedUrls"] as? [String: String], "\(batch.text)")
        #expect(Set(links.keys) == ["2", "3"] && links["3"]?.contains("partNumber=3&") == true)
        #expect(Set(batch.json.keys) == ["presignedUrls"])
        #expect(part.headers[.rateLimit] != nil && batch.headers[.rateLimit] != nil)
        bench.gateway.uploads.parts.withLock {
            $0 =
                (try? [
                    StoredPart(part: UploadedPart(number: 1, etag: "\"e1\""), size: 5, modifiedAt: TestGateway.now)
                ]) ?? []
        }
        let list = await bench.send(.get, "/s3/multipart/\(id)\(query)")
        #expect(list.text == #"[{"PartNumber":1,"ETag":"\"e1\"","Size":5}]"#)
        let done = await bench.send(
            .post, "/s3/multipart/\(id)/complete\(query)",
            #"{"parts":[{"PartNumber":2,"ETag":"e2"},{"PartNumber":1,"ETag":"\"e1\"","Size":5}]}"#)
        #expect(done.status == 200, "\(done.text)")
        #expect(Set(done.json.keys) == ["location", "key", "bucket"] && done.string("key") == key)
        #expect(done.string("location") == "https://store.example/photos/\(key)")
        let deliveries = bench.gateway.ledger.proposals.withLock { $0.map(\.delivery) }
        #expect(
            deliveries == [.multipartStart, .multipartPart, .multipartPart, .multipartPart, .multipartComplete])
        let late = await bench.send(.delete, "/s3/multipart/\(id)\(query)")
        #expect(late.status == 409 && late.string("message") == "The upload is completed.")
    }

    @Test(arguments: Client.allCases)
    func `an upload is given up with an empty object`(client: Client) async throws {
        let bench = try Bench(client)
        let path = "/s3/multipart/\(MemoryUploads.openID.uuidString.lowercased())?key=uploads%2Flarge.png"
        let answer = await bench.send(.delete, path)
        #expect(answer.status == 200 && answer.text == "{}")
        #expect(bench.gateway.uploads.rows.state(of: MemoryUploads.openID) == .aborted)
    }

    @Test func `an upload under another key, of another user or outside the ticket does not exist`() async throws {
        let id = MemoryUploads.openID.uuidString.lowercased()
        for client in Client.allCases {
            let bench = try Bench(client)
            for path in [
                "/s3/multipart/\(id)?key=uploads%2Fother.png", "/s3/multipart/\(id)", "/s3/multipart/x?key=a",
                "/s3/multipart/\(id)/1?key=uploads%2Flarge", "/s3/multipart/\(UUID())?key=uploads%2Flarge.png",
            ] {
                let answer = await bench.send(.get, path)
                #expect(answer.status == 404 && answer.string("code") == "NoSuchUpload", "\(path): \(answer.text)")
            }
        }
        let narrow = try Bench(.version6, prefix: "uploads/a/")
        for method in [HTTPRequest.Method.get, .delete] {
            #expect(await narrow.send(method, "/s3/multipart/\(id)?key=uploads%2Flarge.png").status == 404)
        }
        let bench = try Bench(.version5)
        bench.gateway.uploads.rows.uploads[MemoryUploads.openID]?.principal = .bootstrapAdmin
        #expect(await bench.send(.get, "/s3/multipart/\(id)?key=uploads%2Flarge.png").status == 404)
    }

    @Test func `where bytes are limited, forms carry the range and uploads in parts are refused in words`() async throws
    {
        var policy = StubPolicy()
        policy.conditions = GrantConditions(maxBytes: 1000, allowResponseContentType: true)
        for client in Client.allCases {
            let bench = try Bench(client, policy: policy)
            let form = await bench.send(.get, "/s3/params?\(Self.file)")
            let fields = try #require(form.json["fields"] as? [String: String], "\(form.text)")
            let document = fields["policy"].flatMap { Data(base64Encoded: $0) } ?? Data()
            #expect(String(decoding: document, as: UTF8.self).contains(#"["content-length-range",0,1000]"#))
            let parts = await bench.send(.post, "/s3/multipart", #"{"filename":"a.png","type":"image/png"}"#)
            #expect(
                parts.status == 422 && parts.string("message")?.contains("limited in size") == true, "\(parts.text)")
        }
    }

    @Test func `where a quota counts bytes, a form needs a limit, and no upload in parts is begun`() async throws {
        var policy = StubPolicy()
        var quota = try StubPolicy.quota()
        (quota.metric, quota.action) = (.bytes, .putObject)
        policy.quota = quota
        for (limit, status) in [(nil, 422), (Int64(70), 200)] {
            policy.conditions = GrantConditions(maxBytes: limit)
            for client in Client.allCases {
                let bench = try Bench(client, policy: policy)
                let form = await bench.send(.get, "/s3/params?\(Self.file)")
                #expect(form.status == status, "\(form.text)")
                #expect(limit != nil || form.string("message")?.contains("'maxBytes'") == true)
                let parts = await bench.send(.post, "/s3/multipart", #"{"filename":"a.png","type":"image/png"}"#)
                #expect(parts.status == 422 && parts.string("message")?.contains("limited in size") == true)
                let charged = bench.gateway.ledger.proposals.withLock { $0 }.flatMap(\.charges)
                    .filter { $0.quota.metric == .bytes }
                #expect(charged.map(\.amount) == (limit.map { [$0] } ?? []))
            }
        }
    }

    @Test func `where uploads must state their MD5, no upload in parts is begun`() async throws {
        var policy = StubPolicy()
        policy.conditions = GrantConditions(requireContentMD5: true)
        for client in Client.allCases {
            let bench = try Bench(client, policy: policy)
            let parts = await bench.send(.post, "/s3/multipart", #"{"filename":"a.png","type":"image/png"}"#)
            #expect(parts.status == 422 && parts.string("message")?.contains("MD5") == true, "\(parts.text)")
        }
    }

    @Test func `where each part must state its SHA-256, no upload in parts is begun`() async throws {
        var policy = StubPolicy()
        policy.honoursUnsignedHeaders = true
        for client in Client.allCases {
            let bench = try Bench(client, policy: policy)
            let parts = await bench.send(.post, "/s3/multipart", #"{"filename":"a.png","type":"image/png"}"#)
            #expect(parts.status == 422 && parts.string("message")?.contains("file whole") == true, "\(parts.text)")
            #expect(bench.gateway.ledger.proposals.withLock { $0.isEmpty })
        }
    }

    @Test func `after the protocol is closed, an upload can be given up, and nothing else`() async throws {
        let id = MemoryUploads.openID.uuidString.lowercased()
        let key = "?key=uploads%2Flarge.png"
        for client in Client.allCases {
            let bench = try Bench(client, policy: StubPolicy(protocols: [.gitLFS]))
            for (method, path, json) in [
                (HTTPRequest.Method.get, "/s3/params?\(Self.file)", nil), (.get, "/s3/sts", nil),
                (.post, "/s3/multipart", #"{"filename":"a.png","type":"image/png"}"#),
                (.get, "/s3/multipart/\(id)\(key)", nil), (.get, "/s3/multipart/\(id)/1\(key)", nil),
                (.get, "/s3/multipart/\(id)/batch\(key)&partNumbers=1", nil),
                (.post, "/s3/multipart/\(id)/complete\(key)", #"{"parts":[{"PartNumber":1,"ETag":"e"}]}"#),
            ] {
                let answer = await bench.send(method, path, json)
                #expect(answer.status == 403 && answer.string("code") == "AccessDenied", "\(path): \(answer.text)")
            }
            #expect(bench.gateway.ledger.proposals.withLock { $0.isEmpty })
            #expect(await bench.send(.delete, "/s3/multipart/\(id)\(key)").status == 200)
        }
    }

    @Test func `temporary credentials upload below the prefix and do nothing else`() async throws {
        for client in Client.allCases {
            let bench = try Bench(client)
            let answer = await bench.send(.get, "/s3/sts")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.string("bucket") == "photos" && answer.string("region") == "eu-west-1")
            let credentials = try #require(answer.json["credentials"] as? [String: String])
            #expect(Set(credentials.keys) == ["AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"])
            let order = try #require(bench.gateway.opener.orders.withLock { $0.first })
            #expect(order.policy.contains("photos/uploads/*") && !order.policy.contains("GetObject"))
        }
    }

    @Test func `a whole key as the place is the key`() async throws {
        for client in Client.allCases {
            let bench = try Bench(client, prefix: "uploads/portrait")
            let answer = await bench.send(.get, "/s3/params?\(Self.file)")
            #expect((answer.json["fields"] as? [String: String])?["key"] == "uploads/portrait", "\(answer.text)")
        }
    }

    @Test(arguments: Client.allCases)
    func `a prefix may have any characters, in a ticket and in a header`(client: Client) async throws {
        for end in [
            "", "team/a/", "team/a", "ü/", "👩‍👩‍👧/", "caf\u{e9}/", "cafe\u{301}/", "a/\u{301}b/", "100%/", "%41/",
            "a b+c/", "Katze 🐈",
        ] {
            let prefix = "uploads/" + end
            let bench = try Bench(client, prefix: prefix)
            let form = await bench.send(.get, "/s3/params?\(Self.file)")
            let started = await bench.send(.post, "/s3/multipart", #"{"filename":"a.png","type":"image/png"}"#)
            for found in [(form.json["fields"] as? [String: String])?["key"], started.string("key")] {
                let key = try #require(found, "\(prefix): \(form.text) \(started.text)")
                #expect(key.utf8.starts(with: prefix.utf8), "\(prefix): \(key)")
                let isNamed = key.utf8.count > prefix.utf8.count
                #expect(isNamed == (prefix.utf8.last == UInt8(ascii: "/")), "\(prefix): \(key)")
            }
        }
    }

    @Test func `a header that names no prefix, or another, is refused`() async throws {
        func ask(_ sent: String) async throws -> TestAnswer {
            var bench = try Bench(.version5)
            bench.headers[.sluicePrefix] = sent
            let answer = await bench.send(.get, "/s3/params?\(Self.file)")
            #expect(bench.gateway.ledger.proposals.withLock(\.isEmpty) == (answer.status != 200))
            return answer
        }
        for sent in ["uploads/%", "uploads/%4", "uploads/%zz/", "uploads/100% /", "uploads/%C3/", "uploads/%C3%28/"] {
            let answer = try await ask(sent)
            #expect(answer.status == 400 && answer.string("message")?.contains("'%25'") == true, "\(answer.text)")
        }
        for sent in ["uploads%2F..%2Fother/", "uploads/%00/", "uploads/%0A/", "%2Fuploads/", "other%2F", "%75ploads"] {
            let answer = try await ask(sent)
            #expect([400, 403].contains(answer.status), "\(sent): \(answer.text)")
        }
        for sent in ["uploads/ü/", "uploads%2F", "%75ploads/"] {
            let answer = try await ask(sent)
            #expect(answer.status == 200, "\(sent): \(answer.text)")
        }
    }

    @Test func `refusals have a message for the user, and the true status`() async throws {
        let bench = try Bench(.version5)
        var none = bench
        none.headers[.sluiceBucket] = nil
        var stranger = bench
        stranger.headers[.authorization] = nil
        var foreign = bench
        foreign.headers[.sluicePrefix] = "other/"
        var unknown = bench
        unknown.headers[.sluiceBucket] = "nosuch"
        let reader = try Bench(.version6, actions: [.getObject])
        var policy = StubPolicy()
        policy.conditions = GrantConditions(contentTypes: ["video/mp4"])
        let typed = try Bench(.version6, policy: policy)
        let refusal = QuotaRefusal(
            quotaID: "q", metric: .urls, period: .day, limit: 3, remaining: 0, resetsIn: 60)
        let full = try Bench(.version5, ledger: StubLedger(verdict: .quotaExceeded(refusal)))
        let cases: [(Bench, String, Int, String)] = [
            (none, "/s3/params?\(Self.file)", 400, "InvalidArgument"),
            (bench, "/s3/params", 400, "InvalidArgument"), (bench, "/s3/params?filename=", 400, "InvalidArgument"),
            (stranger, "/s3/params?\(Self.file)", 401, "Unauthenticated"),
            (foreign, "/s3/params?\(Self.file)", 403, "AccessDenied"),
            (unknown, "/s3/params?\(Self.file)", 403, "AccessDenied"),
            (reader, "/s3/params?\(Self.file)", 403, "AccessDenied"),
            (typed, "/s3/params?\(Self.file)", 403, "AccessDenied"),
            (full, "/s3/params?\(Self.file)", 429, "QuotaExceeded"),
            (full, "/s3/sts", 429, "QuotaExceeded"),
            (
                bench, "/s3/multipart/\(MemoryUploads.openID.lowercaseText)/0?key=uploads%2Flarge.png", 400,
                "InvalidArgument"
            ),
            (
                bench,
                "/s3/multipart/\(MemoryUploads.openID.lowercaseText)/batch?key=uploads%2Flarge.png&partNumbers=1,,2",
                400, "InvalidArgument"
            ),
        ]
        for (bench, path, status, code) in cases {
            let answer = await bench.send(.get, path)
            #expect(answer.status == status && answer.string("code") == code, "\(path): \(answer.text)")
            #expect(answer.string("message")?.isEmpty == false)
            for name in ["requestID", "requestId"] { #expect(answer.string(name) == answer.headers[.requestID]) }
        }
        #expect(await none.send(.get, "/s3/params?\(Self.file)").string("message")?.contains("'headers'") == true)
        for path in [
            "/companion/x/s3/params", "/companion/sluicet_aaaaaaaaaaaa_\(String(repeating: "A", count: 43))/s3/sts",
        ] {
            let answer = await TestGateway().send(.get, path)
            #expect(answer.status == 401 && answer.string("message")?.isEmpty == false)
        }
    }

    /// Number of names; `SLUICE_TEST_PROTOCOL_INPUTS` sets it.
    private static let inputs =
        ProcessInfo.processInfo.environment["SLUICE_TEST_PROTOCOL_INPUTS"].flatMap { Int($0) } ?? 20_000

    @Test func `whatever a file is called, its extension is plain and its metadata is a header's text`() throws {
        var random = SeededGenerator(seed: 18)
        let pieces = [
            "a", "Z", "9", ".", "..", "/", "\\", "%2F", "${filename}", "é", "🐈", "\0", "\n", "\r\n", " ", "*", "?",
            "e\u{301}",
            "=?UTF-8?B?", String(repeating: "x", count: 33), "png", "tar.gz", "\u{7f}", "null",
        ]
        var named = 0
        for _ in 0..<Self.inputs {
            var name = ""
            for _ in 0..<Int.random(in: 0...6, using: &random) { name += pieces.randomElement(using: &random) ?? "" }
            guard let file = try? CompanionFile(name: name, type: nil, ["name": name]) else {
                #expect(name.isEmpty)
                continue
            }
            if let ending = file.fileExtension {
                named += 1
                #expect(ending.wholeMatch(of: /[A-Za-z0-9]{1,32}/) != nil && name.hasSuffix("." + ending), "\(name)")
            }
            guard let value = file.metadata?["name"] else {
                #expect(["null", "undefined"].contains(name), "\(name)")
                continue
            }
            #expect(value.utf8.allSatisfy { 0x20...0x7E ~= $0 } && value.first != " " && value.last != " ", "\(name)")
            guard value != name else { continue }
            let text = value.hasPrefix("=?UTF-8?B?") && value.hasSuffix("?=") ? value.dropFirst(10).dropLast(2) : ""
            #expect(Data(base64Encoded: String(text)) == Data(name.utf8), "\(name)")
        }
        #expect(named > Self.inputs / 50)
    }

    @Test func `what no header can be called is left out`() throws {
        let sent = ["name": "a.png", "na me": "1", "größe": "2", "": "3", "deleted": "4", "x-ok": "5", "a\nb": "6"]
        let file = try CompanionFile(name: "a.png", type: nil, sent)
        #expect(file.metadata == ["name": "a.png", "x-ok": "5"])
        #expect(try CompanionFile(name: "a.png", type: nil, ["na me": "1"]).metadata == nil)
    }

    @Test func `pages of configured origins may call the routes, with the headers that they send`() async {
        let gateway = TestGateway(APISettings(allowedOrigins: ["https://app.example"]))
        for path in ["/companion/s3/multipart", "/companion/x/s3/multipart/y/complete"] {
            var headers: HeaderFields = [.origin: "https://app.example", .accessControlRequestMethod: "POST"]
            headers[.accessControlRequestHeaders] = "authorization,content-type,sluice-bucket,sluice-prefix"
            let answer = await gateway.send(.options, path, headers: headers)
            #expect(answer.status == 204 && answer.headers[.accessControlAllowOrigin] == "https://app.example")
            let allowed = answer.headers[.accessControlAllowHeaders] ?? ""
            for name in ["Authorization", "Content-Type", "Sluice-Bucket", "Sluice-Prefix"] {
                #expect(allowed.contains(name))
            }
        }
        let other = await gateway.send(.get, "/companion/s3/params", headers: [.origin: "https://evil.example"])
        #expect(other.headers[.accessControlAllowOrigin] == nil)
    }
}

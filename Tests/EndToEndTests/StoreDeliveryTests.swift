import Foundation
import HTTPTesting
import Bytes
import PostgresTesting
import TestSupport
import Testing

/// The other deliveries of links and forms, judged by stores that verify signatures.
@Suite(.storeBenches) struct StoreDeliveryTests {
    static let body = Array("the bytes of an object".utf8)

    @Test("a batch of a thousand links, all on record, several of them used", arguments: StoreKind.allCases)
    func batch(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let folder = bench.freshKey("")
        let items = (0..<1000).map { number -> JSON in
            number == 500
                ? .download("x", from: "no-such-bucket")
                : .upload(folder + "\(number)", to: bench.bucket)
        }
        let answer = try await bench.user.client.call("POST", "/v1/presigned-urls/batch", ["items": .array(items)])
        #expect(answer.status == 200)
        let results = answer.json["results"].items
        #expect(results.count == 1000)
        #expect(results[500]["status"] == 403)
        for (number, result) in results.enumerated() where number != 500 {
            #expect(result["key"].text == folder + "\(number)")
        }
        let recorded = try await bench.deployment.number(
            "SELECT count(*) FROM issuances WHERE starts_with(object_key, '\(folder)')")
        #expect(recorded == 999)
        let body = Array("12345".utf8)
        for number in [0, 1, 499, 501, 999] {
            let link = try Link(results[number])
            var longer = link
            longer.headers["content-length"] = "6"
            #expect(try await longer.use(body + [0]).status == 403, "a byte more than the link is for")
            #expect(try await link.use(body).status == 200)
            #expect(try await bench.downloadLink(folder + "\(number)").use().body == body)
        }
    }

    @Test("the gateway names objects, so that nobody overwrites another's", arguments: StoreKind.allCases)
    func namedByTheGateway(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let folder = bench.freshKey("")
        var keys: Set<String> = []
        for _ in 0..<2 {
            let answer = try await bench.user.ask([
                "action": "PutObject", "bucket": "\(bench.bucket)", "keyPrefix": "\(folder)", "keyExtension": "txt",
                "contentType": "text/plain",
            ])
            let key = try #require(answer.json["key"].text)
            #expect(key.hasPrefix(folder) && key.hasSuffix(".txt"))
            keys.insert(key)
            #expect(try await Link(answer.json).use(Self.body).status == 200)
            #expect(try await bench.downloadLink(key).use().body == Self.body)
        }
        #expect(keys.count == 2)
    }

    @Test("curl follows the redirect to the object, and to its head", arguments: StoreKind.allCases)
    func redirect(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let key = bench.freshKey("a b+c%41 猫.png")
        #expect(try await bench.uploadLink(key, for: Self.body).use(Self.body).status == 200)
        let path = try #require(key.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["/"])))
        let url = "http://127.0.0.1:\(bench.user.client.port)/v1/objects/\(bench.bucket)/\(path)"
        let token = "Authorization: Bearer \(bench.user.client.token)"
        let download = try await curl(["-L", "-H", token, url])
        #expect(download == String(decoding: Self.body, as: UTF8.self))
        let head = try await curl(["-L", "-I", "-H", token, url])
        #expect(head.contains("303") && head.contains(" 200"))
        #expect(head.lowercased().contains("content-length: \(Self.body.count)"))
        #expect(try await curl(["-L", "-o", "/dev/null", "-w", "%{http_code}", url]) == "401")
        let recorded = try await bench.deployment.session().texts(
            "SELECT method FROM issuances WHERE delivery = 'redirect' AND object_key = '\(key)' ORDER BY method")
        #expect(recorded == ["GET", "HEAD"])
    }

    private func curl(_ arguments: [String]) async throws -> String {
        let process = try RunningProcess(["/usr/bin/curl", "-sS", "--max-time", "20"] + arguments, environment: [:])
        let status = await process.exitStatus()
        try #require(status == 0, "\(process.errors)")
        return process.output
    }

    /// A change of a form, or of what is sent with it, and the store's answer.
    struct Misuse: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout Form) -> Void

        init(_ testDescription: String, _ change: @escaping @Sendable (inout Form) -> Void) {
            self.testDescription = testDescription
            self.change = change
        }
    }

    static let misuses = [
        Misuse("another type") { $0.set("Content-Type", "text/html") },
        Misuse("too large") { $0.file = Array(repeating: 0x61, count: 101) },
        Misuse("too small") { $0.file = [] },
        Misuse("another key") { $0.set("key", "elsewhere/x") },
        Misuse("other metadata") { $0.set("x-amz-meta-owner", "mallory") },
        Misuse("a policy of their own") { form in
            let policy = form.fields.first { $0.name == "policy" }?.value ?? ""
            let text = String(decoding: Base64.decode(policy) ?? [], as: UTF8.self)
            form.set("policy", Base64.encode(Array(text.replacing("1,100", with: "1,999").utf8)))
        },
        Misuse("another signature") { $0.set("x-amz-signature", String(repeating: "0", count: 64)) },
        Misuse("no policy") { form in form.fields.removeAll { $0.name == "policy" } },
    ]

    @Test("a form uploads what it is for", arguments: [false, true])
    func form(leavesKey: Bool) async throws {
        let bench = try StoreBench.at(.radosgw)
        let folder = bench.freshKey("")
        let form = try await bench.form(folder, leavesKey: leavesKey)
        let answer = try await form.send()
        #expect(answer.status == 201 || answer.status == 204, "\(answer.text)")
        let stored = try await bench.downloadLink(folder + "cat.png").use()
        #expect(stored.status == 200)
        #expect(stored.body == form.file)
        #expect(stored["Content-Type"] == "image/png")
        #expect(stored["x-amz-meta-owner"] == "alice")
    }

    @Test("a form used otherwise is refused by the store", arguments: misuses)
    func misuse(misuse: Misuse) async throws {
        let bench = try StoreBench.at(.radosgw)
        let folder = bench.freshKey("")
        let form = try await bench.form(folder, leavesKey: true)
        var changed = form
        misuse.change(&changed)
        let answer = try await changed.send()
        #expect((400...403).contains(answer.status), "\(answer.status) \(answer.text)")
        #expect(try await bench.downloadLink(folder + "cat.png").use().status == 404)
        #expect((200...204).contains(try await form.send().status), "the form as issued still works")
    }

    @Test("a key with dot segments that a form's user names stays below its beginning, and gets no link")
    func dotSegments() async throws {
        let bench = try StoreBench.at(.radosgw)
        let root = bench.freshKey("")
        for name in ["../bob/x", "../../x", "a/../../bob/x", "..;/bob/x", "/x", "%2e%2e/bob/x", "..\\bob\\x"] {
            var form = try await bench.form(root + "alice/", leavesKey: true)
            form.set("key", root + "alice/" + name)
            form.file = Array(name.utf8)
            let answer = try await form.send()
            #expect(answer.status == 201, "\(answer.text)")
            #expect(answer.text.contains("/alice/"), "the store names the key as it was sent: \(answer.text)")
            let link = try await bench.user.ask(.download(root + "alice/" + name, from: bench.bucket))
            #expect(link.status == 400 && link.json["field"].text == "key", "\(link.text)")
        }
        for key in ["bob/x", "x", "alice/x", "alice/bob/x"] {
            #expect(try await bench.downloadLink(root + key).use().status == 404, "\(key)")
        }
    }

    @Test("keys that look like dot segments and are none arrive as they are", arguments: StoreKind.allCases)
    func nearDotSegments(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let folder = bench.freshKey("")
        let names = [
            ".hidden", "..hidden", "a..", "a;b", ";..", "a\\b", "%2e%2ea", "%252e%252e", "...a/b", " a",
            "https%3A%2F%2Fx",
        ]
        for name in names {
            let body = Array(name.utf8)
            #expect(try await bench.uploadLink(folder + name, for: body).use(body).status == 200, "\(name)")
        }
        for name in names {
            #expect(try await bench.downloadLink(folder + name).use().body == Array(name.utf8), "\(name)")
        }
    }

    @Test("a form ends")
    func formExpiry() async throws {
        let bench = try StoreBench.at(.radosgw)
        let form = try await bench.form(bench.freshKey(""), leavesKey: false, ["expiresIn": 1])
        try await waitUntil("the form is refused", seconds: 20) {
            let status = try await form.send().status
            #expect((200...204).contains(status) || status == 403 || status == 400)
            return status >= 400
        }
    }

    @Test(
        "a quota of bytes takes a form's largest file, and nothing that binds no length",
        arguments: ["aws-v4", "aws-v2"])
    func bytes(scheme: String) async throws {
        _ = try StoreBench.at(.radosgw)
        try await StoreBench.with(.radosgw, options: ["scheme": "\(scheme)", "allowsUnenforcedSize": true]) { bench in
            try await bench.deployment.quota(150, for: bench.user.principal, options: ["metric": "bytes"])
            let upload = JSON.upload(bench.freshKey(), to: bench.bucket)
            func ask(_ maxBytes: Int, _ place: [String: JSON] = ["keyPrefix": "x/"]) async throws -> Answer {
                let form: JSON = [
                    "bucket": "\(bench.bucket)", "contentTypes": ["text/plain"], "maxBytes": .number(maxBytes),
                ]
                return try await bench.user.client.call("POST", "/v1/post-policies", form.with(place))
            }
            guard scheme == "aws-v4" else {
                #expect(try await bench.user.ask(upload).code == "NotEnforceable")
                #expect(try await ask(1).code == "NotEnforceable")
                return
            }
            #expect(try await bench.user.ask(upload.with(["contentLength": .null])).status == 403)
            let many = try await ask(1, ["keyStartsWith": "x/"])
            #expect(many.status == 422 && many.code == "NotEnforceable", "\(many.text)")
            #expect(try await bench.deployment.number("SELECT count(*) FROM issuances") == 0)
            #expect(try await ask(100).status == 201)
            #expect(try await ask(51).code == "QuotaExceeded")
            #expect(try await ask(45).status == 201)
            #expect(try await bench.user.ask(upload).status == 201)
            #expect(try await ask(1).code == "QuotaExceeded")
            #expect(try await bench.deployment.number("SELECT sum(amount) FROM reservations") == 150)
        }
    }

    @Test("links of AWS V2 bind type and MD5, work, and end", arguments: StoreKind.allCases)
    func version2(kind: StoreKind) async throws {
        _ = try StoreBench.at(kind)
        try await StoreBench.with(kind, options: ["scheme": "aws-v2"]) { bench in
            let key = bench.freshKey("e\u{301} 猫+%.png")
            let link = try await bench.uploadLink(key, for: Self.body, ["contentLength": .null])
            #expect(link.url.contains("Signature=") && !link.url.contains("X-Amz"))
            let misuses: [@Sendable (inout Link) -> Void] = [
                { $0.headers["content-type"] = "text/html" }, { $0.headers["content-type"] = nil },
                { $0.headers["content-md5"] = nil }, { $0.headers["x-amz-meta-owner"] = "mallory" },
                { $0.method = "DELETE" },
            ]
            for misuse in misuses {
                var changed = link
                misuse(&changed)
                #expect(try await changed.use(Self.body).status == 403)
            }
            #expect(try await link.use(Self.body).status == 200)
            let download = try await bench.downloadLink(key, ["response": ["filename": "Katze – 猫.png"]])
            let answer = try await download.use()
            #expect(answer.body == Self.body)
            #expect(answer["Content-Disposition"]?.hasPrefix("attachment") == true)
            let brief = try await bench.downloadLink(key, ["expiresIn": 1])
            try await waitUntil("the link is refused", seconds: 20) { try await brief.use().status == 403 }
        }
    }
}

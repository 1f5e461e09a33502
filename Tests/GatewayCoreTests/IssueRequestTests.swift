import GatewayCore
import Testing

@Suite struct IssueRequestTests {
    @Test func `an upload is read with all it binds`() throws {
        let request = try Fixture.put { fields in
            fields.action = "oss:PutObject"
            fields.contentMD5 = "AAAAAAAAAAAAAAAAAAAAAA=="
            fields.checksumSHA256 = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
            fields.contentLength = 5 << 30
            fields.metadata = ["Owner": "a b", "age": "1"]
            fields.ifNoneMatch = "*"
            fields.expiresIn = 1
        }
        #expect(request.method == .put)
        #expect(request.contentMD5 == [UInt8](repeating: 0, count: 16))
        #expect(request.checksumSHA256 == [UInt8](repeating: 0, count: 32))
        #expect(request.metadata.entries.map(\.name) == ["age", "owner"])
        #expect(request.createsOnly)
    }

    @Test(
        arguments: [
            BadField("action", { $0.action = nil }), BadField("action", { $0.action = "CopyObject" }),
            BadField("action", { $0.action = "putobject" }),
            BadField("method", { $0.method = "GET" }), BadField("method", { $0.method = "put" }),
            BadField("bucket", { $0.bucket = nil }),
            BadField("bucket", { $0.bucket = "No" }), BadField("key", { $0.key = nil }),
            BadField("key", { $0.key = "a//b" }),
            BadField("contentType", { $0.contentType = nil }), BadField("contentType", { $0.contentType = "image/*" }),
            BadField("contentType", { $0.contentType = "image/png\r\nx: y" }),
            BadField("contentMD5", { $0.contentMD5 = "" }),
            BadField("contentMD5", { $0.contentMD5 = "AAAAAAAAAAAAAAAAAAAAAA" }),
            BadField("contentMD5", { $0.contentMD5 = "AAAAAAAAAAAAAAAAAAAAAB==" }),
            BadField("contentMD5", { $0.contentMD5 = "AAAAAAAAAAAAAAAAAAAA" }),
            BadField("contentMD5", { $0.contentMD5 = "AAAAAAAAAAAAAAAAAAAAAAAA" }),
            BadField("checksumSHA256", { $0.checksumSHA256 = "AAAAAAAAAAAAAAAAAAAAAA==" }),
            BadField("contentLength", { $0.contentLength = -1 }),
            BadField("contentLength", { $0.contentLength = 5 << 30 + 1 }), BadField("expiresIn", { $0.expiresIn = 0 }),
            BadField("response", { $0.response = ResponseOverrides.Fields() }),
            BadField("ifNoneMatch", { $0.ifNoneMatch = "\"etag\"" }),
            BadField("metadata", { $0.metadata = ["a b": "x"] }), BadField("metadata", { $0.metadata = ["": "x"] }),
            BadField("metadata.a", { $0.metadata = ["a": "x\r\ny: z"] }),
            BadField("metadata.a", { $0.metadata = ["a": "é"] }),
            BadField("metadata", { $0.metadata = ["a": "x", "A": "y"] }),
            BadField("metadata.a", { $0.metadata = ["a": " x"] }),
            BadField("metadata.a", { $0.metadata = ["a": ""] }),
            BadField("metadata", { $0.metadata = ["Deleted": "1"] }),
            BadField("metadata", { $0.metadata = ["snowball-auto-extract": "true"] }),
            BadField("metadata", { $0.metadata = ["MinIO-Snowball-Prefix": "b"] }),
        ] as [BadField])
    func `an upload with a bad field is refused by its name`(bad: BadField) {
        #expect(refusedField { try Fixture.put("k", bad.change) } == bad.field)
    }

    @Test(
        arguments: [
            BadField("contentType", { $0.contentType = "image/png" }),
            BadField("contentMD5", { $0.contentMD5 = "AAAAAAAAAAAAAAAAAAAAAA==" }),
            BadField("checksumSHA256", { $0.checksumSHA256 = "" }), BadField("contentLength", { $0.contentLength = 0 }),
            BadField("metadata", { $0.metadata = [:] }), BadField("ifNoneMatch", { $0.ifNoneMatch = "*" }),
            BadField("method", { $0.method = "PUT" }),
            BadField("response.contentDisposition", { $0.response = overrides { $0.contentDisposition = "evil" } }),
            BadField(
                "response.contentDisposition", { $0.response = overrides { $0.contentDisposition = "inline\r\nx: y" } }),
            BadField("response.contentDisposition", { $0.response = overrides { $0.contentDisposition = "" } }),
            // Browsers show what has another type than 'attachment'.
            BadField(
                "response.contentDisposition", { $0.response = overrides { $0.contentDisposition = "attachment x" } }),
            BadField(
                "response.contentDisposition",
                { $0.response = overrides { $0.contentDisposition = "attachment\t;x=1" } }),
            BadField("response.cacheControl", { $0.response = overrides { $0.cacheControl = "é" } }),
            BadField("response.contentType", { $0.response = overrides { $0.contentType = "text" } }),
            BadField(
                "response.expires", { $0.response = overrides { $0.expires = String(repeating: "x", count: 1025) } }),
            BadField("response.filename", { $0.response = overrides { $0.filename = "" } }),
            BadField("response.filename", { $0.response = overrides { $0.filename = ".." } }),
            BadField("response.filename", { $0.response = overrides { $0.filename = "a/b" } }),
            BadField("response.filename", { $0.response = overrides { $0.filename = "a\\b" } }),
            BadField("response.filename", { $0.response = overrides { $0.filename = "a\nb" } }),
            BadField("response.filename", { $0.response = overrides { $0.filename = "a\u{202e}gnp.exe" } }),
            BadField(
                "response.filename", { $0.response = overrides { $0.filename = String(repeating: "a", count: 256) } }),
            BadField(
                "response.filename",
                {
                    $0.response = overrides {
                        $0.filename = "a"
                        $0.contentDisposition = "inline"
                    }
                }
            ),
        ] as [BadField])
    func `a download with a bad field is refused by its name`(bad: BadField) {
        #expect(refusedField { try Fixture.get("k", bad.change) } == bad.field)
    }

    @Test(arguments: [
        ("report.pdf", "attachment; filename=\"report.pdf\""),
        ("a \"b\".txt", "attachment; filename=\"a _b_.txt\"; filename*=UTF-8''a%20%22b%22.txt"),
        ("naïve.txt", "attachment; filename=\"na_ve.txt\"; filename*=UTF-8''na%C3%AFve.txt"),
        ("100%.txt", "attachment; filename=\"100_.txt\"; filename*=UTF-8''100%25.txt"),
        ("請求*'書.pdf", "attachment; filename=\"__*'_.pdf\"; filename*=UTF-8''%E8%AB%8B%E6%B1%82%2A%27%E6%9B%B8.pdf"),
    ])
    func `a file name in any script becomes a disposition`(name: String, header: String) throws {
        let request = try Fixture.get { $0.response = overrides { $0.filename = name } }
        #expect(request.response.contentDisposition == header)
    }

    @Test func `metadata is bounded in bytes and number`() throws {
        let full = ["a": String(repeating: "x", count: 1023), "b": String(repeating: "x", count: 1023)]
        #expect(try Fixture.put { $0.metadata = full }.metadata.entries.count == 2)
        #expect(refusedField { try Fixture.put { $0.metadata = full.merging(["c": "x"]) { $1 } } } == "metadata")
        let many = Dictionary(uniqueKeysWithValues: (0..<64).map { ("k\($0)", "v") })
        #expect(try Fixture.put { $0.metadata = many }.metadata.entries.count == 64)
        #expect(refusedField { try Fixture.put { $0.metadata = many.merging(["z": "v"]) { $1 } } } == "metadata")
    }

    @Test func `the entry of metadata that is refused is named, and how to send it`() throws {
        for (entry, name, advice) in [
            (["ok": "x", "titel": "Grüße"], "'titel'", "encodeURIComponent"),
            (["ok": "x", "a b": "y"], "'a b'", "header"),
        ] {
            let error = #expect(throws: GatewayError.self) { try Fixture.put { $0.metadata = entry } }
            guard case .invalidArgument(_, let reason)? = error else { return }
            #expect(reason.contains(name) && reason.contains(advice), "\(reason)")
        }
    }

    @Test func `a head may be asked for with the right to read`() throws {
        #expect(try Fixture.get { $0.method = "HEAD" }.method == .head)
        #expect(try Fixture.get().method == .get)
    }
}

func overrides(_ change: (inout ResponseOverrides.Fields) -> Void) -> ResponseOverrides.Fields {
    var fields = ResponseOverrides.Fields()
    change(&fields)
    return fields
}

import HTTPTesting
import Testing

/// A browser form as the gateway issued it, with a file.
struct Form: Sendable {
    let url: String
    var fields: [(name: String, value: String)]
    var file = Array("the bytes of a file".utf8)

    init(_ json: JSON) throws {
        url = try #require(json["url"].text)
        fields = json["fields"].members.compactMap { name, value in value.text.map { (name, $0) } }
    }

    /// Gives a field another value, or adds it.
    mutating func set(_ name: String, _ value: String) {
        fields.removeAll { $0.name == name }
        fields.append((name, value))
    }

    /// Sends the form as a browser does.
    func send() async throws -> RawResponse {
        let url = try RawURL(url)
        let boundary = "----a-boundary-that-no-file-has"
        var body: [UInt8] = []
        for field in fields {
            body += Array(
                "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(field.name)\"\r\n\r\n\(field.value)\r\n".utf8
            )
        }
        body += Array(
            "--\(boundary)\r\nContent-Disposition: form-data; name=\"file\"; filename=\"cat.png\"\r\n\r\n".utf8)
        body += file + Array("\r\n--\(boundary)--\r\n".utf8)
        let request = RawRequest(
            "POST", url.target,
            headers: [
                (name: "Host", value: url.authority),
                (name: "Content-Type", value: "multipart/form-data; boundary=\(boundary)"),
                (name: "Content-Length", value: "\(body.count)"), (name: "Connection", value: "close"),
            ], body: body)
        return try await request.answer(fromPort: url.port)
    }
}

extension StoreBench {
    /// A form for a file `cat.png` in a folder, of 1 to 100 bytes.
    func form(_ folder: String, leavesKey: Bool, _ changes: [String: JSON] = [:]) async throws -> Form {
        var request: JSON = [
            "bucket": "\(bucket)", "contentTypes": ["image/png"], "minBytes": 1, "maxBytes": 100,
            "metadata": ["owner": "alice"], "successActionStatus": 201,
        ]
        request[leavesKey ? "keyStartsWith" : "key"] = .string(leavesKey ? folder : folder + "cat.png")
        let answer = try await user.client.call("POST", "/v1/post-policies", request.with(changes))
        try #require(answer.status == 201, "\(answer.text)")
        #expect(answer["Cache-Control"] == "no-store")
        #expect(answer.json["enforcedBy"] == "policy")
        for name in ["policy", "x-amz-signature"] {
            deployment.keepSecret(answer.json["fields"][name].text ?? "")
        }
        return try Form(answer.json)
    }
}

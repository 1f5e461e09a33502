import TestSupport

/// Random inputs of a signature: plain values that use nothing of the code under test.
struct GeneratedRequest {
    let method: String
    let scheme: String
    let endpointHost: String
    let port: Int?
    let prefix: String
    let bucket: String
    let addressing: String
    let key: String
    let headers: [(name: String, value: String)]
    let query: [(name: String, value: String)]
    let expiresInSeconds: Int
    let epochSeconds: Int64
    let accessKeyID: String
    let secretAccessKey: String
    let securityToken: String?
    let region: String

    init(for scheme: PlainV4.Scheme, using random: inout SeededGenerator) {
        func pick(_ choices: [String]) -> String { choices[Int.random(in: 0..<choices.count, using: &random)] }
        let vendor = scheme.headerPrefix
        method = pick(["GET", "PUT", "HEAD", "POST", "DELETE"])
        self.scheme = pick(["http", "https"])
        endpointHost = pick(["s3.example.com", "Store.Example.org", "localhost", "a-b.c"])
        port = [nil, 80, 443, 9000, 1][Int.random(in: 0..<5, using: &random)]
        prefix = pick(["", "", "/", "/s3", "/a%20b/c%2Fd/"])
        bucket = pick(["demo", "dotted.bucket", "b-1", "0"])
        addressing = pick(["virtual", "path", "cname"])
        key = Self.text(upTo: 40, using: &random)
        var names: Set<String> = []
        headers = (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in
            let name = pick([
                "Content-Type", "\(vendor)meta-", "\(vendor.uppercased())Meta-B", "cache-control", "Zz", "!#$",
                "If-None-Match",
                "Content-MD5",
            ])
            guard names.insert(name.lowercased()).inserted else { return nil }
            return (name, Self.headerValue(using: &random))
        }
        query = (0..<Int.random(in: 0...4, using: &random)).map { _ in
            let name = pick([
                "a", "a-", "A", "ab", "versionId", "X-Amz-Content-Sha256", "é", "response-content-type", "~",
            ])
            return (name, Self.text(upTo: 8, using: &random))
        }
        expiresInSeconds = Int.random(in: 1...604_800, using: &random)
        epochSeconds = Int64.random(in: 0...4_102_444_800, using: &random)
        accessKeyID = pick(["AKIA0001", "key+with=signs", "ключ"])
        secretAccessKey = pick(["secret/+", String(repeating: "long", count: 40), "秘密"])
        let token = Self.text(upTo: 30, using: &random)
        // Google's HMAC keys have no tokens, and a header cannot contain every text.
        securityToken =
            Bool.random(using: &random) || scheme == .gcsQuery
            ? nil : scheme.isHeader ? Self.headerText(token) : token
        region = pick(["us-east-1", "eu-central-1", "auto"])
    }

    /// Text that is mostly ASCII, with scalars of every plane in between.
    static func text(upTo count: Int, using random: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...count, using: &random) {
            let limit: UInt32 = [0x7F, 0x7F, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF][Int.random(in: 0..<6, using: &random)]
            if let scalar = Unicode.Scalar(UInt32.random(in: 0...limit, using: &random)) { text.append(scalar) }
        }
        return String(text)
    }

    static func headerValue(using random: inout SeededGenerator) -> String {
        let pieces = (0..<Int.random(in: 0...5, using: &random)).map { _ in
            let blank = ["", " ", "  ", "\t", " \t "][Int.random(in: 0..<5, using: &random)]
            return blank
                + headerText(text(upTo: 5, using: &random))
        }
        return pieces.joined() + (Bool.random(using: &random) ? "  " : "")
    }

    /// A text without characters that a header cannot contain.
    private static func headerText(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { ![0, 10, 13].contains($0.value) }))
    }
}

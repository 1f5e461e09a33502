import Bytes
import Foundation
import LibCrypto

/// Reads URLs as a store does, without knowing how they were made: it parses URL and headers, and signs them again.
struct StoreReading {
    enum Scheme: CaseIterable { case awsV4, awsV2, ossV4, ossV1, gcsV4RSA, gcsV4HMAC, gcsV2RSA }

    /// A request as it arrives at the store.
    struct Request {
        var method: String
        var url: String
        /// Names in lower case.
        var headers: [String: String]
    }

    /// The parts of a URL; the query is decoded.
    struct Parts {
        let authority: String
        let path: String
        let query: [(name: String, value: String)]

        init(_ url: String) {
            let rest = url.drop { $0 != ":" }.dropFirst(3)
            authority = String(rest.prefix { $0 != "/" })
            let target = rest.dropFirst(authority.count)
            path = String(target.prefix { $0 != "?" })
            query = target.dropFirst(path.count + 1).split(separator: "&").map { piece in
                let name = piece.prefix { $0 != "=" }
                return (
                    PlainPercent.decoded(String(name)), PlainPercent.decoded(String(piece.dropFirst(name.count + 1)))
                )
            }
        }

        subscript(name: String) -> String? { query.first { $0.name == name }?.value }
    }

    let scheme: Scheme
    let bucket: String
    let isPathStyle: Bool
    let secret: String

    /// The names of the signature's own parameters.
    var own: Set<String> {
        switch scheme {
        case .awsV4: Self.prefixed("X-Amz-")
        case .gcsV4RSA, .gcsV4HMAC: Self.prefixed("X-Goog-")
        case .ossV4:
            [
                "x-oss-signature-version", "x-oss-credential", "x-oss-date", "x-oss-expires",
                "x-oss-additional-headers",
                "x-oss-signature",
            ]
        // `botocore` shows them in the URL.
        case .awsV2: ["AWSAccessKeyId", "Expires", "Signature", "content-type", "content-md5"]
        case .ossV1: ["OSSAccessKeyId", "Expires", "Signature"]
        case .gcsV2RSA: ["GoogleAccessId", "Expires", "Signature"]
        }
    }

    private static func prefixed(_ prefix: String) -> Set<String> {
        Set(["Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"].map { prefix + $0 })
    }

    /// The key that a URL names, and the parameters that change its effect.
    func meaning(of url: String) -> (key: String, query: [String: String]) {
        let parts = Parts(url)
        let path = PlainPercent.decoded(parts.path)
        let key = isPathStyle ? path.dropFirst(bucket.count + 2) : path.dropFirst()
        let own = own
        return (
            String(key),
            Dictionary(parts.query.filter { !own.contains($0.name) }.map { ($0.name, $0.value) }) { first, _ in first }
        )
    }

    /// The time from which a URL is dead, in seconds since 1970.
    func end(of url: String) throws -> Int {
        let parts = Parts(url)
        guard let date = parts["X-Amz-Date"] ?? parts["X-Goog-Date"] ?? parts["x-oss-date"],
            let life = parts["X-Amz-Expires"] ?? parts["X-Goog-Expires"] ?? parts["x-oss-expires"]
        else { return Int(parts["Expires"] ?? "") ?? 0 }
        let text = date.enumerated().map { place, digit in
            [4, 6].contains(place) ? "-\(digit)" : [11, 13].contains(place) ? ":\(digit)" : String(digit)
        }.joined()
        return Int(try Date(text, strategy: .iso8601).timeIntervalSince1970) + (Int(life) ?? 0)
    }

    /// Whether the request carries the right signature.
    func accepts(_ request: Request) throws -> Bool {
        let parts = Parts(request.url)
        switch scheme {
        case .awsV4: return try acceptsV4(request, parts, "X-Amz-", "AWS4", "aws4_request")
        case .gcsV4RSA, .gcsV4HMAC: return try acceptsV4(request, parts, "X-Goog-", "GOOG4", "goog4_request")
        case .ossV4: return acceptsOSSV4(request, parts)
        case .awsV2: return parts["Signature"] == (try V2(self).signature(of: request, parts, "x-amz-"))
        case .ossV1: return parts["Signature"] == (try V2(self).signature(of: request, parts, "x-oss-"))
        case .gcsV2RSA: return parts["Signature"] == (try V2(self).signature(of: request, parts, "x-goog-"))
        }
    }

    private func acceptsV4(
        _ request: Request, _ parts: Parts, _ prefix: String, _ word: String, _ terminator: String
    ) throws -> Bool {
        guard let names = parts[prefix + "SignedHeaders"], let credential = parts[prefix + "Credential"],
            let date = parts[prefix + "Date"], let algorithm = parts[prefix + "Algorithm"]
        else { return false }
        var headers = request.headers
        headers["host"] = parts.authority
        let signed = names.split(separator: ";").map(String.init)
        guard signed.allSatisfy({ headers[$0] != nil }), signed.contains("host") else { return false }
        let query = parts.query.filter { $0.name != prefix + "Signature" }
            .map { "\(PlainPercent.encoded($0.name))=\(PlainPercent.encoded($0.value))" }.sorted(
                by: PlainPercent.precedes)
        let text =
            "\(request.method)\n\(parts.path)\n\(query.joined(separator: "&"))\n"
            + signed.map { "\($0):\(Self.collapsed(headers[$0] ?? ""))\n" }.joined() + "\n\(names)\nUNSIGNED-PAYLOAD"
        let scope = credential.split(separator: "/").dropFirst().joined(separator: "/")
        let toSign = "\(algorithm)\n\(date)\n\(scope)\n\(DigestAlgorithm.sha256.digest(of: text).hex)"
        guard scope.hasSuffix("/" + terminator) else { return false }
        let signature =
            algorithm.hasSuffix("RSA-SHA256")
            ? Hex.encode(try RSAPrivateKey(pem: secret).signature(of: Array(toSign.utf8)))
            : derived(word, scope, toSign)
        return parts[prefix + "Signature"] == signature
    }

    /// Replaces each run of spaces by one space.
    fileprivate static func collapsed(_ value: String) -> String {
        value.split(separator: " ").joined(separator: " ")
    }

    private func acceptsOSSV4(_ request: Request, _ parts: Parts) -> Bool {
        guard let credential = parts["x-oss-credential"], let date = parts["x-oss-date"] else { return false }
        let more = (parts["x-oss-additional-headers"] ?? "").split(separator: ";").map(String.init)
        guard more.allSatisfy({ request.headers[$0] != nil }) else { return false }
        let names = request.headers.keys.filter {
            ["content-type", "content-md5"].contains($0) || $0.hasPrefix("x-oss-") || more.contains($0)
        }.sorted()
        let query = parts.query.filter { $0.name != "x-oss-signature" }
            .map { ($0.value.isEmpty ? "" : "=") + PlainPercent.encoded($0.value) }
        let encoded = zip(parts.query.filter { $0.name != "x-oss-signature" }, query)
            .map { PlainPercent.encoded($0.name) + $1 }.sorted(by: PlainPercent.precedes)
        let text =
            "\(request.method)\n\(isPathStyle ? "" : "/" + bucket)\(parts.path)\n\(encoded.joined(separator: "&"))\n"
            + names.map { "\($0):\(request.headers[$0] ?? "")\n" }.joined()
            + "\n\(more.joined(separator: ";"))\nUNSIGNED-PAYLOAD"
        let scope = credential.split(separator: "/").dropFirst().joined(separator: "/")
        let toSign = "OSS4-HMAC-SHA256\n\(date)\n\(scope)\n\(DigestAlgorithm.sha256.digest(of: text).hex)"
        return parts["x-oss-signature"] == derived("aliyun_v4", scope, toSign)
    }

    /// A signature of version 4 with the key derived for a scope.
    func derived(_ word: String, _ scope: String, _ text: String) -> String {
        var key = Array((word + secret).utf8)
        for part in scope.split(separator: "/") {
            key = HMACKey(key, algorithm: .sha256).authenticationCode(for: Array(part.utf8)).bytes
        }
        return HMACKey(key, algorithm: .sha256).authenticationCode(for: Array(text.utf8)).hex
    }

    /// Signatures of version 2.
    private struct V2 {
        let store: StoreReading

        init(_ store: StoreReading) { self.store = store }

        func signature(of request: Request, _ parts: Parts, _ prefix: String) throws -> String {
            let own = store.own
            let vendor = request.headers.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }
                .map { name, value in
                    "\(name):\(store.scheme == .gcsV2RSA ? StoreReading.collapsed(value) : value)\n"
                }.joined()
            let others = parts.query.filter { !own.contains($0.name) }.sorted { $0.name < $1.name }
            var path = (store.isPathStyle ? "" : "/" + store.bucket) + parts.path
            let signed: [String]
            switch store.scheme {
            case .gcsV2RSA:
                signed = others.filter { !Self.unsigned.contains($0.name) }
                    .map { "\(PlainPercent.encoded($0.name))=\(PlainPercent.encoded($0.value))" }
            case .ossV1:
                path = PlainPercent.decoded(path)
                signed = others.filter { Self.known.contains($0.name) || $0.name == "x-oss-process" }.map(Self.bare)
            default: signed = others.filter { Self.known.contains($0.name) }.map(Self.bare)
            }
            let text =
                [
                    request.method, request.headers["content-md5"] ?? "", request.headers["content-type"] ?? "",
                    parts["Expires"] ?? "",
                ].map { $0 + "\n" }.joined() + vendor + path
                + (signed.isEmpty ? "" : "?" + signed.joined(separator: "&"))
            guard store.scheme == .gcsV2RSA else {
                return HMACKey(Array(store.secret.utf8), algorithm: .sha1).authenticationCode(for: Array(text.utf8))
                    .base64
            }
            return Base64.encode(try RSAPrivateKey(pem: store.secret).signature(of: Array(text.utf8)))
        }

        private static func bare(_ pair: (name: String, value: String)) -> String {
            pair.value.isEmpty ? pair.name : "\(pair.name)=\(pair.value)"
        }

        private static let unsigned: Set<String> = [
            "response-content-type", "response-content-disposition", "generation",
        ]
        private static let known: Set<String> = [
            "acl", "partNumber", "response-cache-control", "response-content-disposition", "response-content-encoding",
            "response-content-language", "response-content-type", "response-expires", "tagging", "uploadId", "uploads",
            "versionId",
        ]
    }
}

/// Percent-encoding of RFC 3986, implemented once more.
enum PlainPercent {
    static func encoded(_ text: String, keeping kept: String = "-._~") -> String {
        text.utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            let isPlain = byte < 0x80 && (Character(scalar).isLetter || Character(scalar).isNumber)
            return isPlain || kept.utf8.contains(byte)
                ? String(scalar)
                : "%" + (byte < 16 ? "0" : "")
                    + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    static func decoded(_ text: String) -> String { text.removingPercentEncoding ?? text }

    static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}

import Foundation
import TestSupport

/// "Version 2" signatures in the query once more, with strings and Foundation, as slow and plain as in the
/// documentation. They share nothing with the code that they judge.
struct PlainV2 {
    enum Vendor: CaseIterable {
        case oss, amazon, google

        var prefix: String {
            switch self {
            case .oss: "x-oss-"
            case .amazon: "x-amz-"
            case .google: "x-goog-"
            }
        }

        var idName: String {
            switch self {
            case .oss: "OSSAccessKeyId"
            case .amazon: "AWSAccessKeyId"
            case .google: "GoogleAccessId"
            }
        }
    }

    /// Sub-resources that the generated requests use, by vendor.
    static let signedNames: [Vendor: [String]] = [
        .oss: [
            "uploads", "uploadId", "partNumber", "response-content-type", "x-oss-process", "security-token", "callback",
        ],
        .amazon: ["uploads", "uploadId", "partNumber", "response-content-type", "torrent"],
        .google: ["uploads", "uploadId", "partNumber", "response-content-type", "torrent"],
    ]

    let stringToSign: String
    let signature: String
    let url: String

    init(_ request: GeneratedV2Request) {
        let vendor = request.vendor
        let expires = "\(request.epochSeconds + Int64(request.expiresInSeconds))"
        var lines = request.headers.filter { $0.name.lowercased().hasPrefix(vendor.prefix) }
            .map { ($0.name.lowercased(), Self.blanks(trimmedFrom: $0.value, collapsing: vendor == .google)) }
        if vendor == .amazon, let token = request.securityToken { lines.append(("x-amz-security-token", token)) }
        lines.sort { $0.0.unicodeScalars.lexicographicallyPrecedes($1.0.unicodeScalars) }

        var parameters = request.query
        if vendor == .oss, let token = request.securityToken { parameters.append(("security-token", token)) }
        let signed = parameters.filter { Self.signedNames[vendor]?.contains($0.name) == true }
            .sorted { $0.name.unicodeScalars.lexicographicallyPrecedes($1.name.unicodeScalars) }
            .map { $0.value.isEmpty ? $0.name : "\($0.name)=\($0.value)" }
        let path = (request.isPathStyle ? "/\(request.bucket)/" : "/") + Self.escape(request.key, keepingSlash: true)
        let resource =
            vendor == .oss
            ? "/\(request.bucket)/\(request.key)" : (request.isPathStyle ? "" : "/\(request.bucket)") + path

        func header(_ name: String) -> String {
            Self.blanks(
                trimmedFrom: request.headers.first { $0.name.lowercased() == name }?.value ?? "", collapsing: false)
        }
        stringToSign =
            [request.method, header("content-md5"), header("content-type"), expires].joined(separator: "\n") + "\n"
            + lines.map { "\($0.0):\($0.1)\n" }.joined() + resource
            + (signed.isEmpty ? "" : "?" + signed.joined(separator: "&"))
        signature =
            Data(
                PlainSHA1.authenticationCode(
                    key: Array(request.secretAccessKey.utf8), message: Array(stringToSign.utf8))
            ).base64EncodedString()

        if vendor == .amazon {
            if let token = request.securityToken { parameters.append(("x-amz-security-token", token)) }
            for name in ["content-type", "content-md5"] where !header(name).isEmpty {
                parameters.append((name, header(name)))
            }
        }
        let host = request.isPathStyle ? "s.example.com" : "\(request.bucket).s.example.com"
        let pairs =
            parameters + [(vendor.idName, request.accessKeyID), ("Expires", expires), ("Signature", signature)]
        let query = pairs.map {
            $0.value.isEmpty ? Self.escape($0.name) : "\(Self.escape($0.name))=\(Self.escape($0.value))"
        }
        url = "https://\(host)\(path)?\(query.joined(separator: "&"))"
    }

    private static func escape(_ text: String, keepingSlash: Bool = false) -> String {
        var kept = CharacterSet(charactersIn: "-._~0123456789")
        kept.insert(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        if keepingSlash { kept.insert("/") }
        return text.addingPercentEncoding(withAllowedCharacters: kept) ?? "not UTF-8"
    }

    private static func blanks(trimmedFrom value: String, collapsing: Bool) -> String {
        if collapsing {
            return value.unicodeScalars.split { $0 == " " || $0 == "\t" }.map { String(String.UnicodeScalarView($0)) }
                .joined(separator: " ")
        }
        return value.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
    }
}

/// Random inputs of a "version 2" signature: plain values that use nothing of the code under test.
struct GeneratedV2Request {
    let vendor: PlainV2.Vendor
    let method: String
    let bucket: String
    let isPathStyle: Bool
    let key: String
    let headers: [(name: String, value: String)]
    let query: [(name: String, value: String)]
    let expiresInSeconds: Int
    let epochSeconds: Int64
    let accessKeyID: String
    let secretAccessKey: String
    let securityToken: String?

    init(using random: inout SeededGenerator) {
        func pick<Choice>(_ choices: [Choice]) -> Choice { choices[Int.random(in: 0..<choices.count, using: &random)] }
        let vendor = pick(PlainV2.Vendor.allCases)
        self.vendor = vendor
        method = pick(["GET", "PUT", "HEAD", "POST", "DELETE"])
        bucket = pick(["demo", "dotted.bucket", "b-1", "0"])
        isPathStyle = Bool.random(using: &random)
        let anyKey = GeneratedRequest.text(upTo: 40, using: &random)
        key = vendor == .oss ? String(anyKey.unicodeScalars.filter { $0 != "?" && $0 != "\n" }) : anyKey
        var names: Set<String> = []
        headers = (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in
            let name = pick([
                "Content-Type", "content-MD5", "\(vendor.prefix)meta-", "\(vendor.prefix.uppercased())Meta-B",
                "\(vendor.prefix)a", "\(vendor.prefix)!",
            ])
            guard names.insert(name.lowercased()).inserted else { return nil }
            return (name, GeneratedRequest.headerValue(using: &random))
        }
        query = (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in
            let name = pick(
                (PlainV2.signedNames[vendor] ?? []).filter { $0 != "security-token" } + ["é", "prefix", "Uploads", "~"])
            guard names.insert(name).inserted else { return nil }
            let value = GeneratedRequest.text(upTo: 8, using: &random)
            return (name, String(value.unicodeScalars.filter { !["\n", "\r", "\0"].contains($0) }))
        }
        expiresInSeconds = Int.random(in: 1...604_800, using: &random)
        epochSeconds = Int64.random(in: 0...4_102_444_800, using: &random)
        accessKeyID = pick(["AKIA0001", "key+with=signs", "ключ"])
        secretAccessKey = pick(["secret/+", String(repeating: "long", count: 40), "秘密"])
        securityToken = vendor == .google ? nil : pick([nil, "t+/=", "токен"])
    }
}

import Foundation
import Signing
import Testing

/// One entry of a file in `Vectors`: the input of an SDK, and its output.
struct Vector: Decodable, Sendable, CustomTestStringConvertible {
    struct Inputs: Decodable, Sendable {
        var endpoint: String
        var region: String
        var service: String?
        var bucket: String?
        var addressing: String?
        var key: String?
        var method: String
        var accessKeyId: String
        var secretAccessKey: String?
        var privateKeyPem: String?
        var securityToken: String?
        var now: String
        var expiresIn: Int?
        var contentType: String?
        var contentMd5: String?
        var contentLength: Int?
        var payloadSha256: String?
        var headers: [String: String]
        var additionalHeaders: [String]?
        var query: [String: String]
        var fields: [String: String]?
        var conditions: [JSON]?
        var params: [String: JSON]?
        var nonce: String?
        var action: String?
        var version: String?
    }

    struct Expected: Decodable, Sendable {
        var url: String?
        var path: String?
        var queryDecoded: [[String]]?
        var canonicalRequest: String?
        var stringToSign: String?
        var signature: String
        var authorization: String?
        var body: String?
        var requiredHeaders: [String: String]
        var fields: [String: String]?
        var policyBase64: String?
        var policyJson: JSON?
    }

    var name: String
    var scheme: String
    var inputs: Inputs
    var expected: Expected

    var testDescription: String { name }

    /// The entries of a file; none where it cannot be read.
    static func all(in file: String) -> [Vector] {
        guard let url = Bundle.module.url(forResource: "Vectors/\(file)", withExtension: "json") else { return [] }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .custom { path in
            // Only the names of the format are in snake case, at a depth of at most three: entry, inputs, name.
            let key = path[path.count - 1]
            return path.count > 3 ? key : Name(key.stringValue)
        }
        return (try? decoder.decode([Vector].self, from: Data(contentsOf: url))) ?? []
    }

    /// A name of the format in camel case.
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ snakeCase: String) {
            let words = snakeCase.split(separator: "_")
            stringValue = words.enumerated().map { $0 == 0 ? String($1) : $1.capitalized }.joined()
        }

        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }
}

/// Any JSON without fractions, comparable.
enum JSON: Decodable, Hashable, Sendable {
    case string(String)
    case number(Int64)
    case array([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let number = try? container.decode(Int64.self) {
            self = .number(number)
        } else if let array = try? container.decode([JSON].self) {
            self = .array(array)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    /// The text of a string or number; empty for anything else.
    var text: String {
        switch self {
        case .string(let text): text
        case .number(let number): String(number)
        case .array, .object: ""
        }
    }

    /// The items of an array as a set, since the order of conditions does not matter.
    subscript(setOf name: String) -> Set<JSON>? {
        guard case .object(let fields) = self, case .array(let array)? = fields[name] else { return nil }
        return Set(array)
    }

    subscript(name: String) -> JSON? {
        guard case .object(let fields) = self else { return nil }
        return fields[name]
    }
}

extension Vector.Inputs {
    var credential: SigningCredential {
        get throws {
            SigningCredential(
                accessKeyID: accessKeyId, secretAccessKey: try #require(secretAccessKey ?? privateKeyPem),
                securityToken: securityToken)
        }
    }

    var instant: SigningInstant {
        get throws { try #require(SigningInstant(extended: now)) }
    }

    /// The bucket's address. SDKs write the endpoint with or without the bucket.
    var address: BucketAddress {
        get throws {
            let bucket = try #require(bucket)
            let endpoint = try StoreEndpoint(endpoint)
            let addressing = try #require(addressing.flatMap(Addressing.init(rawValue:)))
            let holdsBucket = endpoint.host.hasPrefix(bucket) || endpoint.path == "/\(bucket)"
            return try BucketAddress(endpoint: endpoint, bucket: bucket, addressing: holdsBucket ? .cname : addressing)
        }
    }

    /// All headers of the request.
    var allHeaders: [NamedValue] {
        var all = headers.map { NamedValue($0, $1) }
        if let contentType { all.append(NamedValue("Content-Type", contentType)) }
        if let contentMd5 { all.append(NamedValue("Content-MD5", contentMd5)) }
        if let contentLength { all.append(NamedValue("Content-Length", String(contentLength))) }
        return all
    }
}

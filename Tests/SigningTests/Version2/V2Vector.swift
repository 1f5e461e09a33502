import Foundation
import Signing
import Testing

/// One entry of a file of "version 2" vectors: the input of an SDK, and its output.
struct V2Vector: Decodable, Sendable, CustomTestStringConvertible {
    struct Inputs: Decodable, Sendable {
        var endpoint: String
        var bucket: String?
        var addressing: String?
        var key: String?
        var method: String
        var accessKeyID: String
        var secretAccessKey: String?
        var privateKeyPEM: String?
        var securityToken: String?
        var now: String?
        var expiresIn: Int?
        var contentType: String?
        var contentMD5: String?
        var headers: [String: String]
        var query: [String: String]
        var pathAsSent: String?
        var pathSlashEncoding: String?
        var nonce: String?
        var action: String?
        var version: String?
        var sourceAddress: String?
        var hash: String?
        var validity: Int?

        enum CodingKeys: String, CodingKey {
            case nonce, action, version, hash, validity, endpoint, bucket, addressing, key, method, now, headers, query
            case accessKeyID = "access_key_id"
            case secretAccessKey = "secret_access_key"
            case privateKeyPEM = "private_key_pem"
            case securityToken = "security_token"
            case expiresIn = "expires_in"
            case contentType = "content_type"
            case contentMD5 = "content_md5"
            case pathAsSent = "path_as_sent"
            case sourceAddress = "source_address"
            case pathSlashEncoding = "path_slash_encoding"
        }
    }

    struct Expected: Decodable, Sendable {
        var url: String?
        var path: String?
        var queryDecoded: [[String?]]?
        var stringToSign: String?
        var signature: String
        var authorization: String?
        var cookies: [String: String]?
        var requiredHeaders: [String: String]

        enum CodingKeys: String, CodingKey {
            case url, path, signature, authorization, cookies
            case queryDecoded = "query_decoded"
            case stringToSign = "string_to_sign"
            case requiredHeaders = "required_headers"
        }
    }

    var name: String
    var scheme: String
    var inputs: Inputs
    var expected: Expected

    var testDescription: String { name }

    /// The vectors of a scheme in a file.
    static func of(_ scheme: String, in file: String) -> [V2Vector] {
        guard let url = Bundle.module.url(forResource: "Vectors/\(file)", withExtension: "json"),
            let all = try? JSONDecoder().decode([V2Vector].self, from: Data(contentsOf: url))
        else { return [] }
        return all.filter { $0.scheme == scheme }
    }
}

extension V2Vector.Inputs {
    var credential: SigningCredential {
        SigningCredential(
            accessKeyID: accessKeyID, secretAccessKey: secretAccessKey ?? "", securityToken: securityToken)
    }

    var instant: SigningInstant {
        get throws {
            let text = try #require(now)
            return try #require(SigningInstant(extended: text))
        }
    }

    /// All headers of the request, including those that are given separately.
    var allHeaders: [NamedValue] {
        var bound = headers
        if let contentType, !bound.keys.contains(where: { $0.lowercased() == "content-type" }) {
            bound["Content-Type"] = contentType
        }
        if let contentMD5, !bound.keys.contains(where: { $0.lowercased() == "content-md5" }) {
            bound["Content-MD5"] = contentMD5
        }
        return bound.map { NamedValue($0, $1) }
    }

    var address: BucketAddress {
        get throws {
            let store = try StoreEndpoint(endpoint)
            let bucket = try #require(bucket)
            guard !bucket.isEmpty else { return BucketAddress(service: store) }
            let holdsBucket = store.host == bucket || store.host.hasPrefix("\(bucket).")
            let addressing = try #require(addressing.flatMap(Addressing.init(rawValue:)))
            return try BucketAddress(
                endpoint: store, bucket: bucket, addressing: addressing == .virtual && holdsBucket ? .cname : addressing
            )
        }
    }

    var presignRequest: PresignRequest {
        get throws {
            PresignRequest(
                method: method, address: try address, key: try #require(key), headers: allHeaders,
                query: query.map { NamedValue($0, $1) }, expiresInSeconds: try #require(expiresIn),
                pathForm: pathAsSent.map { .asSent($0) } ?? (pathSlashEncoding == "%2F" ? .slashEscaped : .slashKept)
            )
        }
    }

    var signableRequest: SignableRequest {
        get throws {
            SignableRequest(
                method: method, address: try address, key: try #require(key), headers: allHeaders,
                query: query.map { NamedValue($0, $1) })
        }
    }
}

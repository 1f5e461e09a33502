import Foundation
import Signing
import Testing

/// One entry of `Vectors/aws_v4_query.json`: what an SDK was given, and what it made of it.
struct Vector: Decodable, Sendable, CustomTestStringConvertible {
    struct Inputs: Decodable, Sendable {
        var endpoint: String
        var region: String
        var service: String
        var bucket: String
        var addressing: String
        var key: String
        var method: String
        var accessKeyId: String
        var secretAccessKey: String
        var securityToken: String?
        var now: String
        var expiresIn: Int
        var contentType: String?
        var contentMd5: String?
        var contentLength: Int?
        var headers: [String: String]
        var query: [String: String]
    }

    struct Expected: Decodable, Sendable {
        var url: String
        var path: String
        var queryDecoded: [[String]]
        var canonicalRequest: String
        var stringToSign: String
        var signature: String
        var requiredHeaders: [String: String]
    }

    var name: String
    var inputs: Inputs
    var expected: Expected

    var testDescription: String { name }

    static let all: [Vector] = {
        guard let url = Bundle.module.url(forResource: "Vectors/aws_v4_query", withExtension: "json") else { return [] }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .custom { path in
            // Only the names of the format are in snake case; names of headers and query parameters stay as they are.
            let key = path[path.count - 1]
            let inside = path.dropLast().last?.stringValue
            return ["headers", "query", "required_headers", "requiredHeaders"].contains(inside)
                ? key : Name(key.stringValue)
        }
        return (try? decoder.decode([Vector].self, from: Data(contentsOf: url))) ?? []
    }()

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

extension Vector.Inputs {
    var credential: SigningCredential {
        SigningCredential(accessKeyID: accessKeyId, secretAccessKey: secretAccessKey, securityToken: securityToken)
    }

    var instant: SigningInstant {
        get throws { try #require(SigningInstant(extended: now)) }
    }

    var signingKey: SigningKeyV4 {
        get throws { try SigningKeyV4(credential, region: region, service: service, at: instant) }
    }

    /// The request; in these vectors the endpoint of a virtual host already holds the bucket.
    var request: PresignRequest {
        get throws {
            let addressing: Addressing = addressing == "path" ? .path : .cname
            var bound = headers.map { NamedValue($0, $1) }
            if let contentType { bound.append(NamedValue("Content-Type", contentType)) }
            if let contentMd5 { bound.append(NamedValue("Content-MD5", contentMd5)) }
            if let contentLength { bound.append(NamedValue("Content-Length", String(contentLength))) }
            return PresignRequest(
                method: method,
                address: try BucketAddress(
                    endpoint: StoreEndpoint(endpoint), bucket: bucket, addressing: addressing
                ),
                key: key,
                headers: bound,
                query: query.map { NamedValue($0, $1) },
                expiresInSeconds: expiresIn
            )
        }
    }

    func presigned() throws -> PresignedURL {
        try AWSV4.presign(request, with: signingKey, at: instant)
    }
}

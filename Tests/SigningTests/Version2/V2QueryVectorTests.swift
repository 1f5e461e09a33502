import Signing
import Testing

@Suite("Version 2 query vectors")
struct V2QueryVectorTests {
    static let all =
        V2Vector.of("oss-v1-query", in: "oss_v1_query") + V2Vector.of("aws-v2-query", in: "aws_v2")
        + V2Vector.of("gcs-v2-rsa-query", in: "gcs_v2_query")

    @Test func allVectorsAreThere() {
        #expect(V2Vector.of("oss-v1-query", in: "oss_v1_query").count == 12)
        #expect(V2Vector.of("aws-v2-query", in: "aws_v2").count == 3)
        #expect(V2Vector.of("gcs-v2-rsa-query", in: "gcs_v2_query").count == 2)
    }

    @Test(arguments: all)
    func eachStageIsWhatTheSDKMade(vector: V2Vector) throws {
        let signed = try vector.presigned()
        #expect(signed.stringToSign == vector.expected.stringToSign)
        #expect(signed.signature == vector.expected.signature)
        #expect(signed.canonicalRequest.isEmpty)
        let required = Dictionary(uniqueKeysWithValues: signed.requiredHeaders.map { ($0.name, $0.value) })
        #expect(required == vector.expected.requiredHeaders)
        if let path = vector.expected.path { #expect(signed.path == path) }
        if let pairs = vector.expected.queryDecoded {
            let expected: [NamedValue] = pairs.map { NamedValue($0[0] ?? "", $0[1] ?? "") }
            #expect(Set(signed.query) == Set(expected))
            #expect(signed.query.count == expected.count)
        }
        if let url = vector.expected.url { #expect(sortedQuery(signed.url) == sortedQuery(url)) }
    }

    @Test(arguments: all)
    func theShortWayGivesTheSameURL(vector: V2Vector) throws {
        let (inputs, key) = (vector.inputs, try vector.key)
        let url =
            switch vector.scheme {
            case "oss-v1-query": try OSSV1.presignedURL(inputs.presignRequest, with: key, at: inputs.instant)
            case "aws-v2-query": try AWSV2.presignedURL(inputs.presignRequest, with: key, at: inputs.instant)
            default: try GCSV2.presignedURL(inputs.presignRequest, with: key, at: inputs.instant)
            }
        #expect(try url == vector.presigned().url)
        #expect(!url.contains("+"))
    }

    /// Changes of one input, which must change the signature.
    enum Change: CaseIterable, Sendable {
        case bucket, key, method, secret, token, second, expiry, type, digest, header, subResource

        func apply(to vector: inout V2Vector) {
            switch self {
            case .bucket:
                vector.inputs.bucket? += "x"
                vector.inputs.endpoint = vector.inputs.endpoint.replacing("johnsmith", with: "johnsmithx")
            case .key: vector.inputs.key? += "x"
            case .method: vector.inputs.method = vector.inputs.method == "GET" ? "PUT" : "GET"
            case .secret:
                vector.inputs.secretAccessKey? += "x"
                // Another private key would be valid too; its own tests cover that.
                if vector.inputs.privateKeyPEM != nil { vector.inputs.key? += "x" }
            case .token:
                vector.inputs.securityToken = (vector.inputs.securityToken ?? "") + "x"
            case .second: vector.inputs.now = vector.inputs.now?.replacing("0Z", with: "1Z")
            case .expiry: vector.inputs.expiresIn? += 1
            case .type: vector.inputs.contentType = (vector.inputs.contentType ?? "") + "x"
            case .digest: vector.inputs.contentMD5 = (vector.inputs.contentMD5 ?? "") + "x"
            case .header:
                let prefixes = ["oss-v1-query": "x-oss-", "aws-v2-query": "x-amz-", "gcs-v2-rsa-query": "x-goog-"]
                vector.inputs.headers[(prefixes[vector.scheme] ?? "") + "meta-added"] = ""
            case .subResource: vector.inputs.query["versionId"] = "x"
            }
        }
    }

    @Test(arguments: all, Change.allCases)
    func aChangedInputChangesTheSignature(vector: V2Vector, change: Change) throws {
        var changed = vector
        change.apply(to: &changed)
        guard vector.inputs.privateKeyPEM == nil || change != .token else {
            #expect(throws: SigningError.self) { try changed.presigned() }
            return
        }
        #expect(try changed.presigned().signature != vector.expected.signature)
    }

    private func sortedQuery(_ url: String) -> [String] {
        url.split(separator: "?", maxSplits: 1).map { $0.split(separator: "&").sorted().joined(separator: "&") }
    }
}

extension V2Vector {
    fileprivate var key: SigningKeyV2 {
        get throws {
            guard let pem = inputs.privateKeyPEM else { return try SigningKeyV2(inputs.credential) }
            return try SigningKeyV2(
                serviceAccount: SigningCredential(
                    accessKeyID: inputs.accessKeyID, secretAccessKey: pem, securityToken: inputs.securityToken))
        }
    }

    fileprivate func presigned() throws -> PresignedURL {
        switch scheme {
        case "oss-v1-query": try OSSV1.presign(inputs.presignRequest, with: key, at: inputs.instant)
        case "aws-v2-query": try AWSV2.presign(inputs.presignRequest, with: key, at: inputs.instant)
        default: try GCSV2.presign(inputs.presignRequest, with: key, at: inputs.instant)
        }
    }
}

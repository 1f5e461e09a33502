import Signing
import Testing

@Suite("V4 query vectors")
struct V4QueryVectorTests {
    static let vectors = ["aws_v4_query", "oss_v4_query", "gcs_v4_query", "gcs_v4_hmac_query"].flatMap(Vector.all(in:))

    @Test func allVectorsAreThere() {
        #expect(Self.vectors.count == 13 + 12 + 11 + 2)
    }

    @Test(arguments: vectors)
    func eachStageIsWhatTheSDKMade(vector: Vector) throws {
        let signed = try vector.presigned()
        let expected = vector.expected
        #expect(signed.signature == expected.signature)
        // The tests of the iOS SDK publish only the signature.
        guard let path = expected.path, let query = expected.queryDecoded, let url = expected.url else {
            return #expect(vector.name.hasPrefix("oss4-ios-test"))
        }
        #expect(signed.path == path)
        #expect(signed.canonicalRequest == expected.canonicalRequest)
        #expect(signed.stringToSign == expected.stringToSign)
        #expect(sorted(signed.query.map { [$0.name, $0.value] }) == sorted(query))
        let required = Dictionary(uniqueKeysWithValues: signed.requiredHeaders.map { ($0.name, $0.value) })
        #expect(required == expected.requiredHeaders)
        #expect(sortedQuery(signed.url) == sortedQuery(url))
    }

    @Test(arguments: vectors)
    func theShortWayGivesTheSameURL(vector: Vector) throws {
        let presigner = try V4Presigner(vector.inputs.credential, scope: vector.version4.scope(vector.inputs))
        let url = try presigner.url(for: vector.presignRequest, at: vector.inputs.instant)
        #expect(try url == vector.presigned().url)
    }

    /// Changes of one input, which must change the signature.
    enum Change: CaseIterable, Sendable {
        case endpoint, region, service, bucket, key, method, accessKeyID, secretAccessKey, securityToken, second, day
        case expiry, contentType, contentMD5, contentLength, header, query

        /// Whether the vector has the input and the scheme binds it.
        func applies(to vector: Vector) -> Bool {
            let (isOSS, isGCS) = (vector.scheme.hasPrefix("oss"), vector.scheme.hasPrefix("gcs"))
            return switch self {
            case .endpoint: !isOSS
            case .service: !isOSS && !isGCS
            case .bucket: isOSS || vector.inputs.addressing == "path"
            case .secretAccessKey: vector.inputs.secretAccessKey != nil
            case .securityToken: !isGCS
            case .contentLength: !isOSS || vector.inputs.additionalHeaders?.contains("content-length") == true
            default: true
            }
        }

        func apply(to vector: inout Vector) throws {
            let prefix = try vector.version4.headerPrefix
            switch self {
            case .endpoint: vector.inputs.endpoint.replace(".", with: "x.", maxReplacements: 1)
            case .region: vector.inputs.region += "x"
            case .service: vector.inputs.service = "\(vector.inputs.service ?? "s3")x"
            case .bucket: vector.inputs.bucket = vector.inputs.bucket.map { "\($0)x" }
            case .key: vector.inputs.key = vector.inputs.key.map { "\($0)x" }
            case .method: vector.inputs.method = vector.inputs.method == "GET" ? "PUT" : "GET"
            case .accessKeyID: vector.inputs.accessKeyId += "X"
            case .secretAccessKey: vector.inputs.secretAccessKey = vector.inputs.secretAccessKey.map { "\($0)x" }
            case .securityToken: vector.inputs.securityToken = (vector.inputs.securityToken ?? "") + "x"
            case .second: vector.inputs.now.replaceSubrange(try secondOfTime(vector.inputs.now), with: "1")
            case .day: vector.inputs.now.replace(/^..../, with: { _ in "2031" })
            case .expiry:
                vector.inputs.expiresIn = vector.inputs.expiresIn == 1 ? 2 : vector.inputs.expiresIn.map { $0 - 1 }
            case .contentType: vector.inputs.contentType = (vector.inputs.contentType ?? "") + "x"
            case .contentMD5: vector.inputs.contentMd5 = (vector.inputs.contentMd5 ?? "") + "x"
            case .contentLength: vector.inputs.contentLength = (vector.inputs.contentLength ?? 0) + 1
            case .header: vector.inputs.headers["\(prefix)meta-added"] = "x"
            case .query: vector.inputs.query["added"] = ""
            }
        }

        /// The range of the last digit of the seconds; no vector has a 1 there.
        private func secondOfTime(_ time: String) throws -> Range<String.Index> {
            let end = time.index(before: time.endIndex)
            let start = time.index(before: end)
            try #require(time[start] != "1")
            return start..<end
        }
    }

    @Test(arguments: vectors, Change.allCases)
    func aChangedInputChangesTheSignature(vector: Vector, change: Change) throws {
        guard change.applies(to: vector) else { return }
        var changed = vector
        try change.apply(to: &changed)
        #expect(try changed.presigned().signature != vector.expected.signature)
    }

    private func sorted(_ pairs: [[String]]) -> [[String]] {
        pairs.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// The URL with its query in a fixed order. Each SDK decides whether it escapes a slash in the query.
    private func sortedQuery(_ url: String) -> [String] {
        url.split(separator: "?", maxSplits: 1).map { $0.split(separator: "&").sorted().joined(separator: "&") }
    }
}

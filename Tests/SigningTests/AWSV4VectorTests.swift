import Signing
import Testing

@Suite("AWS V4 query vectors")
struct AWSV4VectorTests {
    @Test func allVectorsAreThere() {
        #expect(Vector.all.count == 13)
    }

    @Test(arguments: Vector.all)
    func eachStageIsWhatTheSDKMade(vector: Vector) throws {
        let signed = try vector.inputs.presigned()
        #expect(signed.path == vector.expected.path)
        #expect(signed.canonicalRequest == vector.expected.canonicalRequest)
        #expect(signed.stringToSign == vector.expected.stringToSign)
        #expect(signed.signature == vector.expected.signature)
        #expect(sorted(signed.query.map { [$0.name, $0.value] }) == sorted(vector.expected.queryDecoded))
        let required = Dictionary(uniqueKeysWithValues: signed.requiredHeaders.map { ($0.name, $0.value) })
        #expect(required == vector.expected.requiredHeaders)
        #expect(sortedQuery(signed.url) == sortedQuery(vector.expected.url))
    }

    @Test(arguments: Vector.all)
    func theShortWayGivesTheSameURL(vector: Vector) throws {
        let inputs = vector.inputs
        let url = try AWSV4.presignedURL(inputs.request, with: inputs.signingKey, at: inputs.instant)
        #expect(try url == inputs.presigned().url)
    }

    /// Changes of one input each, which the signature must notice.
    enum Change: CaseIterable, Sendable {
        case endpoint, region, service, key, method, accessKeyID, secretAccessKey, securityToken, second, day, expiry
        case contentType, contentMD5, contentLength, header, query

        func apply(to inputs: inout Vector.Inputs) {
            switch self {
            case .endpoint: inputs.endpoint = inputs.endpoint.replacing(".", with: "x.", maxReplacements: 1)
            case .region: inputs.region += "x"
            case .service: inputs.service += "x"
            case .key: inputs.key += "x"
            case .method: inputs.method = inputs.method == "GET" ? "PUT" : "GET"
            case .accessKeyID: inputs.accessKeyId += "X"
            case .secretAccessKey: inputs.secretAccessKey += "x"
            case .securityToken: inputs.securityToken = (inputs.securityToken ?? "") + "x"
            case .second: inputs.now = inputs.now.replacing("00Z", with: "01Z")
            case .day: inputs.now = inputs.now.replacing("-05-", with: "-06-")
            case .expiry: inputs.expiresIn = inputs.expiresIn == 1 ? 2 : inputs.expiresIn - 1
            case .contentType: inputs.contentType = (inputs.contentType ?? "") + "x"
            case .contentMD5: inputs.contentMd5 = (inputs.contentMd5 ?? "") + "x"
            case .contentLength: inputs.contentLength = (inputs.contentLength ?? 0) + 1
            case .header: inputs.headers["x-amz-meta-added"] = "x"
            case .query: inputs.query["added"] = ""
            }
        }
    }

    @Test(arguments: Vector.all, Change.allCases)
    func aChangedInputChangesTheSignature(vector: Vector, change: Change) throws {
        var inputs = vector.inputs
        change.apply(to: &inputs)
        #expect(try inputs.presigned().signature != vector.expected.signature)
    }

    private func sorted(_ pairs: [[String]]) -> [[String]] {
        pairs.sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func sortedQuery(_ url: String) -> [String] {
        url.split(separator: "?", maxSplits: 1).map { $0.split(separator: "&").sorted().joined(separator: "&") }
    }
}

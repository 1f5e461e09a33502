import Signing
import Testing

@Suite("V4 header vectors")
struct V4HeaderVectorTests {
    static let vectors = ["aws_v4_header", "oss_v4_header"].flatMap(Vector.all(in:))

    @Test func allVectorsAreThere() {
        #expect(Self.vectors.count == 4 + 6)
    }

    @Test(arguments: vectors)
    func eachStageIsWhatTheSDKMade(vector: Vector) throws {
        let signed = try vector.authorized()
        let expected = vector.expected
        #expect(signed.signature == expected.signature)
        // For OSS, only oss2 writes a space after the commas.
        #expect(signed.authorization.compact == expected.authorization?.compact)
        if let canonicalRequest = expected.canonicalRequest { #expect(signed.canonicalRequest == canonicalRequest) }
        if let stringToSign = expected.stringToSign { #expect(signed.stringToSign == stringToSign) }
        let headers = Dictionary(uniqueKeysWithValues: signed.headers.map { ($0.name, $0.value) })
        #expect(headers["authorization"] == signed.authorization)
        for (name, value) in expected.requiredHeaders { #expect(headers[name] == value) }
        guard !expected.requiredHeaders.isEmpty else { return #expect(vector.name.hasPrefix("oss4-ios-test")) }
        #expect(headers.count == expected.requiredHeaders.count + 1)
    }

    @Test(arguments: vectors)
    func aChangedBodyOrQueryOrHeaderChangesTheSignature(vector: Vector) throws {
        let prefix = try vector.version4.headerPrefix
        let changes: [(inout SignableRequest) throws -> Void] = [
            { $0.query.append(NamedValue("added", "")) },
            { $0.headers.append(NamedValue("\(prefix)meta-added", "x")) },
            { $0.key += "x" },
            { $0.method = $0.method == "GET" ? "PUT" : "GET" },
            { request in
                request.headers.removeAll { $0.name == "\(prefix)content-sha256" }
                request.payload = PayloadHash(of: Array("another body".utf8))
            },
        ]
        for change in changes {
            var request = try vector.signableRequest
            try change(&request)
            let authorize = try #require(try vector.version4.authorize)
            let signed = try authorize(request, vector.signingKey, vector.inputs.instant)
            #expect(signed.signature != vector.expected.signature)
        }
    }

    @Test func theRequestIsSentAsItWasSigned() throws {
        let vector = try #require(Self.vectors.first { $0.name == "oss4-hdr-put" })
        var request = try vector.signableRequest
        request.query = [NamedValue("uploadId", "a b+"), NamedValue("acl", "")]
        let signed = try OSSV4.authorize(request, with: vector.signingKey, at: vector.inputs.instant)
        #expect(signed.method == "PUT")
        #expect(
            signed.url
                == "https://demo-bucket.oss-cn-hangzhou.aliyuncs.com/u/42/%E6%97%A5%201%2B1.png?acl&uploadId=a%20b%2B")
        #expect(signed.path == "/u/42/%E6%97%A5%201%2B1.png")
        #expect(signed.query == [NamedValue("acl", ""), NamedValue("uploadId", "a b+")])
        #expect(signed.body == nil)
    }
}

extension String {
    fileprivate var compact: String { replacing(", ", with: ",") }
}

import Signing
import Testing

/// Links of `botocore.signers.CloudFrontSigner`, and the examples in the documentation of Alibaba Cloud CDN and nginx.
@Suite("CDN link vectors")
struct CDNVectorTests {
    static let all =
        V2Vector.of("cloudfront", in: "cdn") + V2Vector.of("alibaba-cdn-a", in: "cdn")
        + V2Vector.of("alibaba-cdn-b", in: "cdn") + V2Vector.of("alibaba-cdn-c", in: "cdn")
        + V2Vector.of("nginx-secure-link", in: "cdn")

    @Test func allVectorsAreThere() {
        #expect(V2Vector.of("cloudfront", in: "cdn").count == 10 && Self.all.count == 14)
    }

    @Test(arguments: all)
    func eachStageIsByteForByteTheSame(vector: V2Vector) throws {
        let signed = try vector.link()
        #expect(signed.stringToSign == vector.expected.stringToSign)
        #expect(signed.signature == vector.expected.signature)
        #expect(signed.url == vector.expected.url)
        #expect(signed.requiredHeaders.isEmpty && signed.canonicalRequest.isEmpty)
        let target = signed.url.dropFirst(vector.inputs.endpoint.count)
        #expect(target.prefix { $0 != "?" } == signed.path)
    }

    enum Change: CaseIterable, Sendable {
        case key, second, life, secret, address, host
    }

    @Test(arguments: all, Change.allCases)
    func aChangedInputChangesTheSignature(vector: V2Vector, change: Change) throws {
        var changed = vector
        switch change {
        case .key: changed.inputs.key = "x" + (vector.inputs.key ?? "")
        case .second:
            // Type B counts in minutes.
            guard vector.scheme != "alibaba-cdn-b" else { return }
            changed.inputs.expiresIn? -= vector.inputs.expiresIn == 1 ? 0 : 1
            if vector.inputs.expiresIn == 1 { changed.inputs.expiresIn = 2 }
        case .life: changed.inputs.expiresIn = (vector.inputs.expiresIn ?? 0) > 60 ? 60 : 120
        case .secret:
            guard vector.inputs.privateKeyPEM == nil else { return }
            changed.inputs.secretAccessKey? += "x"
        case .address:
            guard vector.inputs.sourceAddress != nil else { return }
            changed.inputs.sourceAddress = "203.0.113.8"
        case .host:
            // The others sign no host.
            guard vector.scheme == "cloudfront" else { return }
            changed.inputs.endpoint = "https://other.example"
        }
        #expect(try changed.link().signature != vector.expected.signature)
    }
}

extension V2Vector {
    /// The link that the inputs give.
    fileprivate func link() throws -> PresignedURL {
        let scheme: CDNScheme =
            switch self.scheme {
            case "cloudfront": .cloudFront(inputs.hash == "SHA-256" ? .sha256 : .sha1)
            case "alibaba-cdn-a": .alibaba(.a, validity: try #require(inputs.validity))
            case "alibaba-cdn-b": .alibaba(.b, validity: try #require(inputs.validity))
            case "alibaba-cdn-c": .alibaba(.c, validity: try #require(inputs.validity))
            default: .nginxSecureLink
            }
        let credential = SigningCredential(
            accessKeyID: inputs.accessKeyID,
            secretAccessKey: try #require(inputs.secretAccessKey ?? inputs.privateKeyPEM))
        return try CDNSigner(scheme, credential)
            .presign(inputs.presignRequest, for: inputs.sourceAddress, at: inputs.instant)
    }
}

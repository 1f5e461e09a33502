import Signing
import Testing

@Suite("AWS V4 query, generated inputs")
struct AWSV4PropertyTests {
    @Test(arguments: 0..<20)
    func agreesWithAPlainImplementation(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let generated = GeneratedRequest(using: &random)
            let plain = PlainAWSV4(generated)
            let signed = try generated.presigned()
            try #require(Array(signed.canonicalRequest.utf8) == Array(plain.canonicalRequest.utf8))
            try #require(signed.stringToSign == plain.stringToSign)
            try #require(signed.signature == plain.signature)
            try #require(signed.url == plain.url)
        }
    }

    @Test(arguments: 0..<20)
    func verificationAcceptsWhatSigningMakes(seed: UInt64) throws {
        var random = SeededGenerator(seed: 1000 + seed)
        for _ in 0..<50 {
            let generated = GeneratedRequest(using: &random)
            let signed = try generated.presigned()
            let instant = try #require(SigningInstant(epochSeconds: generated.epochSeconds))
            let credential = generated.credential
            let verifier = AWSV4.Verifier(
                region: generated.region, service: "s3", clockToleranceSeconds: 0, keys: SigningKeyCache(capacity: 1)
            ) { $0 == credential.accessKeyID ? credential : nil }
            let authority = try generated.request.address.authority
            let received = ReceivedRequest(
                method: generated.method,
                target: String(signed.url.dropFirst(try generated.request.address.origin.count)),
                headers: [NamedValue("Host", authority)] + signed.requiredHeaders
            )
            let verified = try verifier.verify(received, at: instant)
            #expect(verified.path.suffix(generated.key.utf8.count + 1).elementsEqual("/\(generated.key)".utf8))
            #expect(Set(verified.query) == Set(generated.query.map { NamedValue($0.name, $0.value) }))
        }
    }
}

extension GeneratedRequest {
    var credential: SigningCredential {
        SigningCredential(accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, securityToken: securityToken)
    }

    var request: PresignRequest {
        get throws {
            PresignRequest(
                method: method,
                address: try BucketAddress(
                    endpoint: StoreEndpoint("\(scheme)://\(endpointHost)\(port.map { ":\($0)" } ?? "")\(prefix)"),
                    bucket: bucket,
                    addressing: #require(Addressing(rawValue: addressing))
                ),
                key: key,
                headers: headers.map { NamedValue($0.name, $0.value) },
                query: query.map { NamedValue($0.name, $0.value) },
                expiresInSeconds: expiresInSeconds
            )
        }
    }

    func presigned() throws -> PresignedURL {
        let instant = try #require(SigningInstant(epochSeconds: epochSeconds))
        let key = try SigningKeyV4(credential, scope: .aws(region: region), at: instant)
        return try AWSV4.presign(request, with: key, at: instant)
    }
}

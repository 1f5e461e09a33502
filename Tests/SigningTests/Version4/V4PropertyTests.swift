import Foundation
import Signing
import SigningTesting
import TestSupport
import Testing

@Suite("Version 4, generated inputs")
struct V4PropertyTests {
    /// Number of inputs in all; the environment may request more.
    private static let inputs =
        ProcessInfo.processInfo.environment["SLUICE_TEST_SIGNATURES"].flatMap(Int.init) ?? 10_000
    private static let seeds = 20

    @Test(arguments: PlainV4.Scheme.allCases, 0..<UInt64(seeds))
    func agreesWithAPlainImplementation(scheme: PlainV4.Scheme, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<(Self.inputs / Self.seeds / PlainV4.Scheme.allCases.count) {
            let generated = GeneratedRequest(for: scheme, using: &random)
            let plain = PlainV4(generated, scheme: scheme)
            let signed = try generated.signed(by: scheme)
            try #require(signed.canonicalRequest.isSameBytes(as: plain.canonicalRequest))
            try #require(signed.stringToSign == plain.stringToSign)
            try #require(signed.signature == plain.signature)
            try #require(signed.url == plain.url)
            if scheme.isHeader { try #require(signed.authorization.isSameBytes(as: plain.authorization)) }
        }
    }

    @Test(arguments: PlainV4.Scheme.allCases, 0..<5)
    func verificationAcceptsWhatSigningMakes(scheme: PlainV4.Scheme, seed: UInt64) throws {
        var random = SeededGenerator(seed: 1000 + seed)
        for _ in 0..<20 {
            let generated = GeneratedRequest(for: scheme, using: &random)
            let signed = try generated.signed(by: scheme)
            let instant = try #require(SigningInstant(epochSeconds: generated.epochSeconds))
            let credential = generated.credential
            let verifier = V4Verifier(
                scope: generated.scope(of: scheme), clockToleranceSeconds: 1
            ) { $0 == credential.accessKeyID ? credential : nil }
            let address = try generated.address
            let prefix = try scheme.isOSS ? generated.storePath : ""
            let received = ReceivedRequest(
                method: generated.method,
                // The store never sees what a proxy in front of OSS adds to the path.
                target: String(signed.url.dropFirst(address.origin.count + prefix.count)),
                headers: [NamedValue("Host", address.authority)] + signed.headers,
                hostBucket: generated.addressing == "path" ? nil : generated.bucket
            )
            let verified =
                try scheme.isHeader
                ? verifier.verify(authorized: received, at: instant) : verifier.verify(presigned: received, at: instant)
            #expect(verified.path.suffix(generated.key.utf8.count + 1).elementsEqual("/\(generated.key)".utf8))
            #expect(Set(verified.query) == Set(generated.query.map { NamedValue($0.name, $0.value) }))
            var other = received
            other.method += "X"
            #expect(throws: VerificationError.signatureMismatch) {
                _ =
                    try scheme.isHeader
                    ? verifier.verify(authorized: other, at: instant) : verifier.verify(presigned: other, at: instant)
            }
        }
    }
}

/// The stages that every form of a signature shows.
struct SignedStages {
    let canonicalRequest: String
    let stringToSign: String
    let signature: String
    let url: String
    let authorization: String
    let headers: [NamedValue]
}

extension GeneratedRequest {
    var credential: SigningCredential {
        SigningCredential(accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, securityToken: securityToken)
    }

    var address: BucketAddress {
        get throws {
            try BucketAddress(
                endpoint: StoreEndpoint("\(scheme)://\(endpointHost)\(port.map { ":\($0)" } ?? "")\(prefix)"),
                bucket: bucket, addressing: #require(Addressing(rawValue: addressing))
            )
        }
    }

    /// The path of the endpoint as it appears in a URL.
    var storePath: String {
        get throws { try StoreEndpoint("https://h\(prefix)").path }
    }

    func scope(of scheme: PlainV4.Scheme) -> CredentialScope {
        switch scheme {
        case .awsQuery, .awsHeader: .aws(region: region)
        case .ossQuery, .ossHeader: .oss(region: region)
        case .gcsQuery: .gcsHMAC(location: region)
        }
    }

    func signed(by scheme: PlainV4.Scheme) throws -> SignedStages {
        let instant = try #require(SigningInstant(epochSeconds: epochSeconds))
        let key = try SigningKeyV4(credential, scope: scope(of: scheme), at: instant)
        let headers = headers.map { NamedValue($0.name, $0.value) }
        let query = query.map { NamedValue($0.name, $0.value) }
        if scheme.isHeader {
            let request = SignableRequest(
                method: method, address: try address, key: self.key, headers: headers, query: query)
            let signed =
                try scheme == .awsHeader
                ? AWSV4.authorize(request, with: key, at: instant) : OSSV4.authorize(request, with: key, at: instant)
            return SignedStages(
                canonicalRequest: try #require(signed.canonicalRequest), stringToSign: signed.stringToSign,
                signature: signed.signature, url: signed.url, authorization: signed.authorization,
                headers: signed.headers)
        }
        let request = PresignRequest(
            method: method, address: try address, key: self.key, headers: headers, query: query,
            expiresInSeconds: expiresInSeconds)
        let signed =
            switch scheme {
            case .ossQuery: try OSSV4.presign(request, with: key, at: instant)
            case .gcsQuery: try GCSV4.presign(request, with: key, at: instant)
            default: try AWSV4.presign(request, with: key, at: instant)
            }
        return SignedStages(
            canonicalRequest: signed.canonicalRequest, stringToSign: signed.stringToSign, signature: signed.signature,
            url: signed.url, authorization: "", headers: signed.requiredHeaders)
    }
}

extension String {
    /// Whether the texts have the same bytes; `==` also accepts canonical equivalents.
    func isSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

import Foundation
import Signing
import TestSupport
import Testing

@Suite("Version 2 query, generated inputs")
struct V2PropertyTests {
    static let inputsPerSeed =
        (ProcessInfo.processInfo.environment["SLUICE_TEST_SIGNATURES"].flatMap { Int($0) } ?? 10_000) / 20

    @Test(arguments: 0..<20)
    func agreesWithAPlainImplementation(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<Self.inputsPerSeed {
            let generated = GeneratedV2Request(using: &random)
            let plain = PlainV2(generated)
            let signed = try generated.presigned()
            try #require(Array(signed.stringToSign.utf8) == Array(plain.stringToSign.utf8))
            try #require(signed.signature == plain.signature)
            try #require(signed.url == plain.url)
        }
    }

    /// A key keeps what its requests have in common; nothing else of a request may remain.
    @Test(arguments: 0..<10)
    func aKeyThatSignedOtherRequestsSignsLikeANewOne(seed: UInt64) throws {
        var random = SeededGenerator(seed: 500 + seed)
        let credential = SigningCredential(accessKeyID: "id", secretAccessKey: "s")
        let used = try SigningKeyV2(credential)
        for _ in 0..<200 {
            let generated = GeneratedV2Request(using: &random)
            let instant = try #require(SigningInstant(epochSeconds: generated.epochSeconds))
            var request = try generated.request
            for _ in 0..<3 {
                for vendor in AWSV2.Vendor.allCases {
                    let signed = Result { try AWSV2.presignedURL(request, vendor: vendor, with: used, at: instant) }
                    let fresh = Result {
                        try AWSV2.presignedURL(request, vendor: vendor, with: SigningKeyV2(credential), at: instant)
                    }
                    #expect("\(signed)" == "\(fresh)")
                }
                let signed = Result { try OSSV1.presignedURL(request, with: used, at: instant) }
                let fresh = Result { try OSSV1.presignedURL(request, with: SigningKeyV2(credential), at: instant) }
                #expect("\(signed)" == "\(fresh)")
                // The same names with other values, and once more without the query.
                request.headers = request.headers.map { NamedValue($0.name, " v \($0.value)") }
                request.key += "/x"
                request.query = []
            }
        }
    }

}

extension GeneratedV2Request {
    var credential: SigningCredential {
        SigningCredential(accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, securityToken: securityToken)
    }

    var request: PresignRequest {
        get throws {
            PresignRequest(
                method: method,
                address: try BucketAddress(
                    endpoint: StoreEndpoint("https://s.example.com"), bucket: bucket,
                    addressing: isPathStyle ? .path : .virtual),
                key: key,
                headers: headers.map { NamedValue($0.name, $0.value) },
                query: query.map { NamedValue($0.name, $0.value) },
                expiresInSeconds: expiresInSeconds
            )
        }
    }

    func presigned() throws -> PresignedURL {
        let request = try request
        let instant = try #require(SigningInstant(epochSeconds: epochSeconds))
        let key = try SigningKeyV2(credential)
        return switch vendor {
        case .oss: try OSSV1.presign(request, with: key, at: instant)
        case .amazon: try AWSV2.presign(request, with: key, at: instant)
        case .google: try AWSV2.presign(request, vendor: .google, with: key, at: instant)
        }
    }
}

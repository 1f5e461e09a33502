import Foundation
import Signing
import SigningTesting
import TestSupport
import Testing

@Suite("OSS V1, verification")
struct OSSV1VerificationTests {
    static let queries = V2Vector.of("oss-v1-query", in: "oss_v1_query").filter { $0.expected.url != nil }
    static let headers = V2Vector.of("oss-v1-header", in: "oss_v1_header")

    @Test(arguments: queries + headers)
    func acceptsWhatTheSDKSigned(vector: V2Vector) throws {
        let verified = try vector.verify(vector.received(), after: 0)
        #expect(verified.accessKeyID == vector.inputs.accessKeyID)
        #expect(verified.path == Array("/\(vector.inputs.bucket ?? "")/\(vector.inputs.key ?? "")".utf8))
        #expect(Set(verified.query) == Set(vector.inputs.query.map { NamedValue($0, $1) }))
    }

    @Test(arguments: queries)
    func refusesEachChangedByteOfTheTarget(vector: V2Vector) throws {
        let received = try vector.received()
        let original = Array(received.target.utf8)
        for index in original.indices {
            for replacement in [original[index] &+ 1, UInt8(ascii: "A"), UInt8(ascii: "%"), UInt8(ascii: "&")] {
                var bytes = original
                bytes[index] = replacement
                var changed = received
                changed.target = String(decoding: bytes, as: UTF8.self)
                // The case of an escape's digits has no meaning.
                if changed.target.removingPercentEncoding == received.target.removingPercentEncoding { continue }
                #expect(throws: VerificationError.self, "\(changed.target)") { try vector.verify(changed, after: 0) }
            }
        }
    }

    @Test(arguments: headers)
    func refusesEachChangedHeader(vector: V2Vector) throws {
        let received = try vector.received()
        for (number, header) in received.headers.enumerated() {
            var changed = received
            changed.headers[number].value += "x"
            #expect(throws: VerificationError.self) { try vector.verify(changed, after: 0) }
            changed = received
            changed.headers.append(header)
            #expect(throws: VerificationError.malformed("\(header.name) is given twice")) {
                try vector.verify(changed, after: 0)
            }
            // An x-oss-date overrides the Date beside it.
            if header.name == "date", received.headers.contains(where: { $0.name == "x-oss-date" }) { continue }
            changed = received
            changed.headers.remove(at: number)
            #expect(throws: VerificationError.self) { try vector.verify(changed, after: 0) }
        }
        var changed = received
        changed.headers.append(NamedValue("x-oss-object-acl", "public-read"))
        if !received.headers.contains(where: { $0.name == "x-oss-object-acl" }) {
            #expect(throws: VerificationError.signatureMismatch) { try vector.verify(changed, after: 0) }
        }
        changed = received
        changed.method = "DELETE"
        #expect(throws: VerificationError.signatureMismatch) { try vector.verify(changed, after: 0) }
        changed = received
        changed.target += received.target.contains("?") ? "&acl" : "?acl"
        #expect(throws: VerificationError.self) { try vector.verify(changed, after: 0) }
    }

    @Test(arguments: queries)
    func aURLLivesExactlyAsLongAsSigned(vector: V2Vector) throws {
        let life = try #require(vector.inputs.expiresIn)
        _ = try vector.verify(vector.received(), after: life - 1)
        #expect(throws: VerificationError.expired) { try vector.verify(vector.received(), after: life) }
    }

    @Test(arguments: headers)
    func aDateHoldsFor15Minutes(vector: V2Vector) throws {
        _ = try vector.verify(vector.received(), after: 900)
        _ = try vector.verify(vector.received(), after: -900)
        #expect(throws: VerificationError.expired) { try vector.verify(vector.received(), after: 901) }
        #expect(throws: VerificationError.notYetValid) { try vector.verify(vector.received(), after: -901) }
    }

    @Test func knowsKeysAndTokens() throws {
        var vector = try #require(Self.queries.first { $0.name == "oss1-get-sts-token" })
        let received = try vector.received()
        vector.inputs.securityToken = nil
        #expect(throws: VerificationError.wrongSecurityToken) { try vector.verify(received, after: 0) }
        vector.inputs.accessKeyID = "another"
        #expect(throws: VerificationError.unknownAccessKey) { try vector.verify(received, after: 0) }
    }

    @Test func readsOneSignature() throws {
        let vector = try #require(Self.queries.first)
        var received = try vector.received()
        received.headers.append(NamedValue("Authorization", "OSS a:b"))
        #expect(throws: VerificationError.malformed("there are two signatures")) {
            try vector.verify(received, after: 0)
        }
        received = ReceivedRequest(method: "GET", target: "/k", headers: [])
        for text in ["", "OSS", "OSS a", "OSS a:b:c", "AWS a:b", "oss a:b"] {
            received.headers = [NamedValue("authorization", text), NamedValue("date", "Fri, 17 May 2024 08:30:00 GMT")]
            #expect(throws: VerificationError.malformed("Authorization is not 'OSS id:signature'")) {
                try vector.verify(received, after: 0)
            }
        }
    }

    @Test(arguments: 0..<10)
    func acceptsWhatSigningMakes(seed: UInt64) throws {
        var random = SeededGenerator(seed: 2000 + seed)
        for _ in 0..<100 {
            let generated = GeneratedV2Request(using: &random)
            // A store reads the time as ten digits.
            guard generated.vendor == .oss, generated.epochSeconds > 1_000_000_000 else { continue }
            let signed = try generated.presigned()
            let host = generated.isPathStyle ? "s.example.com" : "\(generated.bucket).s.example.com"
            let received = ReceivedRequest(
                method: generated.method, target: String(signed.url.dropFirst("https://\(host)".count)),
                headers: signed.requiredHeaders)
            let credential = generated.credential
            let verifier = OSSV1.Verifier(clockToleranceSeconds: 0) {
                $0 == credential.accessKeyID ? credential : nil
            }
            let instant = try #require(SigningInstant(epochSeconds: generated.epochSeconds))
            let verified = try verifier.verify(
                received, bucket: generated.isPathStyle ? nil : generated.bucket, at: instant)
            #expect(verified.path.elementsEqual("/\(generated.bucket)/\(generated.key)".utf8))
        }
    }
}

extension V2Vector {
    /// The request as the store receives it.
    func received() throws -> ReceivedRequest {
        if let url = expected.url {
            let target = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)[3]
            return ReceivedRequest(method: inputs.method, target: "/\(target)", headers: inputs.allHeaders)
        }
        let signed = try OSSV1.authorize(
            inputs.signableRequest, with: SigningKeyV2(inputs.credential), at: inputs.instant)
        let target = signed.url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)[3]
        // The SDK's signature is what is verified.
        let authorization = try #require(expected.authorization)
        return ReceivedRequest(
            method: inputs.method, target: "/\(target)",
            headers: signed.headers.dropLast() + [NamedValue("authorization", authorization)])
    }

    func verify(_ received: ReceivedRequest, after seconds: Int) throws -> VerifiedRequest {
        let credential = inputs.credential
        let verifier = OSSV1.Verifier(clockToleranceSeconds: 900) { $0 == credential.accessKeyID ? credential : nil }
        let now = try #require(try inputs.instant.advanced(bySeconds: seconds))
        return try verifier.verify(received, bucket: inputs.bucket, at: now)
    }
}

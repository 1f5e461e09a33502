import Foundation
import Signing
import SigningTesting
import Testing

@Suite("AWS V4 query, verification")
struct AWSV4VerificationTests {
    @Test(arguments: Vector.aws)
    func acceptsWhatTheSDKSigned(vector: Vector) throws {
        let verified = try vector.verify(vector.received, after: 0)
        let path = try #require(vector.expected.path?.removingPercentEncoding)
        #expect(verified.path == Array(path.utf8))
        #expect(verified.accessKeyID == vector.inputs.accessKeyId)
        let others = try #require(vector.expected.queryDecoded).filter { !$0[0].hasPrefix("X-Amz-") }
        #expect(verified.query.map { [$0.name, $0.value] } == others)
        #expect(verified.signedHeaders.filter { $0 != "host" } == vector.expected.requiredHeaders.keys.sorted())
        #expect(try verified.expiresAt == vector.inputs.instant.advanced(bySeconds: #require(vector.inputs.expiresIn)))
    }

    @Test(arguments: Vector.aws)
    func refusesEachChangedByteOfTheTarget(vector: Vector) throws {
        let original = Array(vector.received.target.utf8)
        for index in original.indices {
            for replacement in [original[index] &+ 1, UInt8(ascii: "A"), UInt8(ascii: "%"), UInt8(ascii: "&")] {
                var changed = original
                changed[index] = replacement
                var received = vector.received
                received.target = String(decoding: changed, as: UTF8.self)
                // The case of an escape's digits has no meaning.
                if received.target.removingPercentEncoding == vector.received.target.removingPercentEncoding {
                    continue
                }
                #expect(throws: VerificationError.self, "\(received.target)") {
                    try vector.verify(received, after: 0)
                }
            }
        }
    }

    @Test(arguments: Vector.aws)
    func refusesEachChangedByteOfASignedHeader(vector: Vector) throws {
        for (number, header) in vector.received.headers.enumerated() {
            for index in header.value.utf8.indices {
                var received = vector.received
                received.headers[number].value.replaceSubrange(index...index, with: "\u{1}")
                #expect(throws: VerificationError.signatureMismatch) { try vector.verify(received, after: 0) }
            }
            var without = vector.received
            without.headers.remove(at: number)
            #expect(throws: VerificationError.headerMissing(header.name.lowercased())) {
                try vector.verify(without, after: 0)
            }
            var doubled = vector.received
            doubled.headers.append(header)
            #expect(throws: VerificationError.signatureMismatch) { try vector.verify(doubled, after: 0) }
        }
    }

    @Test(arguments: Vector.aws)
    func refusesAnotherMethodAndAnotherSecret(vector: Vector) throws {
        var received = vector.received
        received.method = "DELETE"
        #expect(throws: VerificationError.signatureMismatch) { try vector.verify(received, after: 0) }
        var other = vector
        other.inputs.secretAccessKey?.append("x")
        #expect(throws: VerificationError.signatureMismatch) { try other.verify(vector.received, after: 0) }
    }

    @Test(arguments: Vector.aws)
    func livesExactlyAsLongAsSigned(vector: Vector) throws {
        let life = try #require(vector.inputs.expiresIn)
        _ = try vector.verify(vector.received, after: life - 1)
        #expect(throws: VerificationError.expired) { try vector.verify(vector.received, after: life) }
        _ = try vector.verify(vector.received, after: -900)
        #expect(throws: VerificationError.notYetValid) { try vector.verify(vector.received, after: -901) }
    }

    @Test func refusesAVendorHeaderThatIsNotSigned() throws {
        let vector = try #require(Vector.aws.first)
        var received = vector.received
        received.headers.append(NamedValue("X-Amz-Acl", "public-read"))
        #expect(throws: VerificationError.headerNotSigned("x-amz-acl")) { try vector.verify(received, after: 0) }
        received.headers[received.headers.count - 1] = NamedValue("Range", "bytes=0-1")
        _ = try vector.verify(received, after: 0)
    }

    @Test func refusesStrangersAndOtherScopes() throws {
        let vector = try #require(Vector.aws.first)
        var stranger = vector
        stranger.inputs.accessKeyId = "AKIASOMEBODYELSE"
        #expect(throws: VerificationError.unknownAccessKey) { try stranger.verify(vector.received, after: 0) }
        var elsewhere = vector
        elsewhere.inputs.region = "mars-1"
        #expect(throws: VerificationError.wrongScope) { try elsewhere.verify(vector.received, after: 0) }
        var otherDay = vector.received
        otherDay.target = otherDay.target.replacing("%2F20240517%2F", with: "%2F20240516%2F")
        #expect(throws: VerificationError.wrongScope) { try vector.verify(otherDay, after: 0) }
    }

    @Test func refusesAnotherSecurityToken() throws {
        let vector = try #require(Vector.aws.first { $0.inputs.securityToken != nil })
        var permanent = vector
        permanent.inputs.securityToken = nil
        #expect(throws: VerificationError.wrongSecurityToken) { try permanent.verify(vector.received, after: 0) }
    }

    @Test(arguments: [
        ("X-Amz-Algorithm=AWS4-HMAC-SHA256", "X-Amz-Algorithm=AWS4-HMAC-SHA1"),
        ("X-Amz-Algorithm=AWS4-HMAC-SHA256&", ""),
        ("X-Amz-Expires=900", "X-Amz-Expires=900&X-Amz-Expires=900"),
        ("X-Amz-Expires=900", "X-Amz-Expires=0"),
        ("X-Amz-Expires=900", "X-Amz-Expires=604801"),
        ("X-Amz-Expires=900", "X-Amz-Expires=%2B900"),
        ("X-Amz-Expires=900", "X-Amz-Expires="),
        ("X-Amz-Expires=900", "x-amz-expires=900"),
        ("X-Amz-Date=20240517T083000Z", "X-Amz-Date=20240230T083000Z"),
        ("X-Amz-Date=20240517T083000Z", "X-Amz-Date=2024-05-17T08:30:00Z"),
        ("X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders="),
        ("X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders=range"),
        ("X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders=host%3Bdate"),
        ("X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders=Host"),
        ("aws4_request", "aws4_request%2F"),
        ("/photos/cat.jpg", "photos/cat.jpg"),
        ("/photos/cat.jpg", "/photos/cat.jpg#"),
        ("/photos/cat.jpg", "/photos/%"),
        ("/photos/cat.jpg", "/photos/%+1"),
        ("&X-Amz-Date", "&&X-Amz-Date"),
    ])
    func refusesWhatNoSignerWrites(part: String, replacement: String) throws {
        let vector = try #require(Vector.aws.first)
        var received = vector.received
        received.target = received.target.replacing(part, with: replacement)
        try #require(received.target != vector.received.target)
        let error = #expect(throws: VerificationError.self) { try vector.verify(received, after: 0) }
        guard case .malformed = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}

extension Vector {
    /// The request that a client makes with the SDK's URL.
    var received: ReceivedRequest {
        let origin = inputs.endpoint
        let host = origin.replacing("https://", with: "").replacing("http://", with: "")
        return ReceivedRequest(
            method: inputs.method,
            target: String((expected.url ?? "").dropFirst(origin.count)),
            headers: [NamedValue("Host", host)]
                + expected.requiredHeaders.sorted { $0.key < $1.key }.map { NamedValue($0.key, $0.value) }
        )
    }

    /// Verifies as a store that knows this vector's credential, `seconds` after the signature.
    @discardableResult
    func verify(_ received: ReceivedRequest, after seconds: Int) throws -> VerifiedRequest {
        let credential = try inputs.credential
        let verifier = V4Verifier(
            scope: .aws(region: inputs.region, service: inputs.service ?? "s3"), clockToleranceSeconds: 900
        ) { $0 == credential.accessKeyID ? credential : nil }
        return try verifier.verify(presigned: received, at: #require(inputs.instant.advanced(bySeconds: seconds)))
    }

}

import Foundation
import Signing
import SigningTesting
import Testing

@Suite("OSS V4, verification")
struct OSSV4VerificationTests {
    static let presigned = Vector.all(in: "oss_v4_query").filter { $0.expected.url != nil }
    static let authorized = Vector.all(in: "oss_v4_header")

    @Test func someVectorsShowWholeRequests() {
        #expect(Self.presigned.count == 8)
        #expect(Self.authorized.count == 6)
    }

    @Test(arguments: presigned)
    func acceptsWhatTheSDKPresigned(vector: Vector) throws {
        let verified = try vector.verifier.verify(presigned: vector.receivedByOSS, at: vector.inputs.instant)
        #expect(verified.accessKeyID == vector.inputs.accessKeyId)
        #expect(verified.path == Array("/\(try #require(vector.inputs.key))".utf8))
        #expect(Set(verified.query) == Set(vector.inputs.query.map { NamedValue($0, $1) }))
        #expect(verified.signedHeaders == vector.expected.requiredHeaders.keys.sorted())
        #expect(try verified.expiresAt == vector.inputs.instant.advanced(bySeconds: #require(vector.inputs.expiresIn)))
    }

    @Test(arguments: authorized)
    func acceptsWhatTheSDKAuthorized(vector: Vector) throws {
        let received = try vector.receivedByOSS
        let now = try #require(vector.inputs.instant.advanced(bySeconds: 899))
        let verified = try vector.verifier.verify(authorized: received, at: now)
        #expect(verified.accessKeyID == vector.inputs.accessKeyId)
        let late = try #require(now.advanced(bySeconds: 1))
        #expect(throws: VerificationError.expired) { try vector.verifier.verify(authorized: received, at: late) }
        let early = try #require(vector.inputs.instant.advanced(bySeconds: -901))
        #expect(throws: VerificationError.notYetValid) { try vector.verifier.verify(authorized: received, at: early) }
    }

    @Test(arguments: presigned + authorized)
    func refusesWhatDiffersFromTheSignedRequest(vector: Vector) throws {
        let changes: [(inout ReceivedRequest) -> Void] = [
            { $0.method = "DELETE" }, { $0.hostBucket = "other" }, { $0.hostBucket = nil },
            { $0.target.replace("/", with: "/x", maxReplacements: 1) },
            { $0.target += $0.target.contains("?") ? "&added" : "?added" },
            { $0.headers.append(NamedValue("X-OSS-Meta-Added", "1")) },
            { $0.headers.append(NamedValue("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg==")) },
            { $0.headers.append(NamedValue("Content-Type", "text/html")) },
        ]
        for (number, change) in changes.enumerated() {
            var received = try vector.receivedByOSS
            change(&received)
            #expect(throws: VerificationError.signatureMismatch, "change \(number)") { try vector.verify(received) }
        }
        var free = try vector.receivedByOSS
        free.headers.append(NamedValue("User-Agent", "any"))
        try vector.verify(free)
        var other = vector
        other.inputs.secretAccessKey?.append("x")
        #expect(throws: VerificationError.signatureMismatch) { try other.verify(vector.receivedByOSS) }
        other = vector
        other.inputs.region += "x"
        #expect(throws: VerificationError.wrongScope) { try other.verify(vector.receivedByOSS) }
        other = vector
        other.inputs.securityToken = (other.inputs.securityToken ?? "") + "x"
        #expect(throws: VerificationError.wrongSecurityToken) { try other.verify(vector.receivedByOSS) }
    }

    @Test(arguments: presigned)
    func refusesEachChangedByteOfTheTarget(vector: Vector) throws {
        let original = try vector.receivedByOSS
        let bytes = Array(original.target.utf8)
        for index in bytes.indices {
            for replacement in [bytes[index] &+ 1, UInt8(ascii: "A"), UInt8(ascii: "&")] {
                var changed = bytes
                changed[index] = replacement
                var received = original
                received.target = String(decoding: changed, as: UTF8.self)
                // The case of an escape's digits has no meaning.
                guard received.target.removingPercentEncoding != original.target.removingPercentEncoding else {
                    continue
                }
                #expect(throws: VerificationError.self, "\(received.target)") { try vector.verify(received) }
            }
        }
    }

    @Test(arguments: [
        ("OSS4-HMAC-SHA256 ", "OSS4-HMAC-SHA1 "), ("Credential=", "credential="),
        (",Signature=", ",Signature=x,Signature="),
        (",Signature=", ",Extra=1,Signature="), (",Signature=", ",Signature"), ("/oss/", "/oss/s/"),
        (",Signature=", ",AdditionalHeaders=,Signature="), (",Signature=", ",AdditionalHeaders=b;a,Signature="),
        (",Signature=", ",AdditionalHeaders=x-oss-date,Signature="),
        (",Signature=", ",AdditionalHeaders=Abc,Signature="),
    ])
    func refusesAnAuthorizationThatNoSignerWrites(part: String, replacement: String) throws {
        let vector = try #require(Self.authorized.first { $0.name == "oss4-hdr-js" })
        var received = try vector.receivedByOSS
        let index = try #require(received.headers.firstIndex { $0.name == "Authorization" })
        try #require(received.headers[index].value.contains(part))
        received.headers[index].value.replace(part, with: replacement)
        let error = #expect(throws: VerificationError.self) { try vector.verify(received) }
        guard case .malformed = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func refusesTwoAuthorizationsNoneAndNoDate() throws {
        let vector = try #require(Self.authorized.first { $0.name == "oss4-hdr-js" })
        let original = try vector.receivedByOSS
        let authorization = try #require(original.headers.first { $0.name == "Authorization" })
        let changes: [(inout ReceivedRequest) -> Void] = [
            { $0.headers.append(authorization) }, { $0.headers.removeAll { $0.name == "Authorization" } },
            { $0.headers.removeAll { $0.name == "x-oss-date" } }, { $0.target += "?x-oss-signature=abc" },
        ]
        for change in changes {
            var received = original
            change(&received)
            let error = #expect(throws: VerificationError.self) { try vector.verify(received) }
            guard case .malformed = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
    }

    @Test func aListedHeaderMustArrive() throws {
        let vector = try #require(Self.presigned.first { $0.name == "oss4-put-additional-length" })
        var received = try vector.receivedByOSS
        received.headers.removeAll { $0.name == "content-length" }
        #expect(throws: VerificationError.headerMissing("content-length")) { try vector.verify(received) }
    }
}

extension Vector {
    fileprivate var verifier: V4Verifier {
        get throws {
            let credential = try inputs.credential
            return V4Verifier(
                scope: .oss(region: inputs.region), clockToleranceSeconds: 900
            ) { $0 == credential.accessKeyID ? credential : nil }
        }
    }

    @discardableResult
    fileprivate func verify(_ received: ReceivedRequest) throws -> VerifiedRequest {
        try scheme == "oss-v4-header"
            ? verifier.verify(authorized: received, at: inputs.instant)
            : verifier.verify(presigned: received, at: inputs.instant)
    }

    /// The request that a client makes from the SDK's output.
    fileprivate var receivedByOSS: ReceivedRequest {
        get throws {
            let origin = try inputs.address.origin
            guard scheme == "oss-v4-header" else {
                let headers = expected.requiredHeaders.map { NamedValue($0, $1) }
                return ReceivedRequest(
                    method: inputs.method, target: String(try #require(expected.url).dropFirst(origin.count)),
                    headers: headers, hostBucket: inputs.bucket)
            }
            let basic = try inputs.instant.basic
            var headers =
                inputs.allHeaders + [
                    NamedValue("x-oss-date", basic), NamedValue("x-oss-content-sha256", "UNSIGNED-PAYLOAD"),
                    NamedValue("Authorization", try #require(expected.authorization)),
                ]
            if let token = inputs.securityToken { headers.append(NamedValue("x-oss-security-token", token)) }
            let allowed = CharacterSet(charactersIn: "/-._~").union(.alphanumerics)
            func escape(_ text: String) -> String {
                text.utf8.map { byte in
                    let scalar = Unicode.Scalar(byte)
                    return byte < 0x80 && allowed.contains(scalar) ? String(scalar) : String(format: "%%%02X", byte)
                }.joined()
            }
            let query = inputs.query.map { $1.isEmpty ? escape($0) : "\(escape($0))=\(escape($1))" }.joined(
                separator: "&")
            return ReceivedRequest(
                method: inputs.method,
                target: "/\(escape(try #require(inputs.key)))" + (query.isEmpty ? "" : "?\(query)"),
                headers: headers, hostBucket: inputs.bucket)
        }
    }
}

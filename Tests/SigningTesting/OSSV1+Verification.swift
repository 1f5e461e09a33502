import LibCrypto

@testable public import Signing

extension OSSV1 {
    /// Verifies requests that are signed in the URL or in the `Authorization` header, as a store does.
    public struct Verifier: Sendable {
        private let clockToleranceSeconds: Int
        private let credential: @Sendable (_ accessKeyID: String) -> SigningCredential?

        /// Makes a verifier.
        ///
        /// - Parameters:
        ///   - clockToleranceSeconds: How far the date of a request may be from now; OSS allows 900.
        ///   - credential: Finds the credential of an access key id.
        public init(
            clockToleranceSeconds: Int,
            credential: @escaping @Sendable (_ accessKeyID: String) -> SigningCredential?
        ) {
            self.clockToleranceSeconds = clockToleranceSeconds
            self.credential = credential
        }

        /// Recomputes the signature of a request from its raw parts, and compares.
        ///
        /// - Parameters:
        ///   - request: The request as received.
        ///   - bucket: The bucket that the host names; `nil` when the path does.
        ///   - now: The store's time.
        /// - Returns: What the request asks for. Its path is `/bucket/key`, however the request names the bucket.
        /// - Throws: ``VerificationError``.
        public func verify(
            _ request: ReceivedRequest, bucket: String?, at now: SigningInstant
        ) throws(VerificationError) -> VerifiedRequest {
            let target = try ReceivedTarget(request.target)
            let proof = try Proof(request, query: target.query)
            let expiresAt = try check(proof, now: now)
            guard let credential = credential(proof.accessKeyID), let key = try? SigningKeyV2(credential) else {
                throw .unknownAccessKey
            }
            let expectedToken = Array((credential.securityToken ?? "").utf8)
            guard constantTimeEqual(Array((proof.securityToken ?? "").utf8), expectedToken) else {
                throw .wrongSecurityToken
            }
            let path = (bucket.map { Array("/\($0)".utf8) } ?? []) + target.path
            let bound: V2BoundParts
            do {
                bound = try V2BoundParts(headers: proof.headers, query: target.query, dialect: .oss)
            } catch {
                throw .malformed("a header or parameter cannot be signed unambiguously")
            }
            let text = V2StringToSign.text(method: request.method, bound: bound, date: proof.dateLine, path: path)
            guard let signature = try? key.signature(of: text, dialect: .oss),
                constantTimeEqual(Array(signature.utf8), Array(proof.signature.utf8))
            else { throw .signatureMismatch }
            let own = ["OSSAccessKeyId", "Expires", "Signature", "security-token"]
            return VerifiedRequest(
                accessKeyID: proof.accessKeyID,
                path: path,
                query: target.query.filter { !own.contains($0.name) },
                signedHeaders: ["content-md5", "content-type"]
                    + bound.vendorHeaders.map { String(decoding: $0.name, as: UTF8.self) },
                expiresAt: expiresAt
            )
        }

        /// The first instant at which the request is no longer valid.
        private func check(_ proof: Proof, now: SigningInstant) throws(VerificationError) -> SigningInstant {
            switch proof.date {
            case .expiry(let instant):
                guard now < instant else { throw .expired }
                return instant
            case .date(let instant):
                guard instant.epochSeconds <= now.epochSeconds + Int64(clockToleranceSeconds) else {
                    throw .notYetValid
                }
                guard let end = instant.advanced(bySeconds: clockToleranceSeconds + 1), now < end else {
                    throw .expired
                }
                return end
            }
        }
    }

    /// The signature of a request, and what belongs to it.
    private struct Proof {
        let accessKeyID: String
        let signature: String
        let date: StringDate
        let dateLine: String
        let securityToken: String?
        let headers: [NamedValue]

        init(_ request: ReceivedRequest, query: [NamedValue]) throws(VerificationError) {
            headers = try Self.distinct(request.headers)
            var values: [String: String] = [:]
            for name in ["Signature", "OSSAccessKeyId", "Expires", "security-token"] {
                let given = query.filter { $0.name == name }
                guard given.count <= 1 else { throw .malformed("\(name) is given twice") }
                values[name] = given.first?.value
            }
            for header in headers { values["header " + header.name] = header.value }
            let authorization = values["header authorization"]
            if let signature = values["Signature"] {
                guard authorization == nil else { throw .malformed("there are two signatures") }
                guard let id = values["OSSAccessKeyId"] else { throw .malformed("OSSAccessKeyId is absent") }
                guard let line = values["Expires"], let date = StringDate(line, vendor: .alibaba), case .expiry = date
                else { throw .malformed("Expires is no time in seconds") }
                (accessKeyID, self.signature) = (id, signature)
                (self.date, dateLine) = (date, line)
                securityToken = values["security-token"]
            } else {
                let parts = (authorization ?? "").split(separator: ":", omittingEmptySubsequences: false)
                guard parts.count == 2, parts[0].hasPrefix("OSS ") else {
                    throw .malformed("Authorization is not 'OSS id:signature'")
                }
                guard let line = values["header x-oss-date"] ?? values["header date"],
                    let date = StringDate(line, vendor: .alibaba), case .date = date
                else { throw .malformed("there is no date") }
                (accessKeyID, self.signature) = (String(parts[0].dropFirst(4)), String(parts[1]))
                (self.date, dateLine) = (date, line)
                securityToken = values["header x-oss-security-token"]
            }
        }

        private static func distinct(_ lines: [NamedValue]) throws(VerificationError) -> [NamedValue] {
            var headers: [NamedValue] = []
            for line in lines {
                let name = line.name.lowercased()
                guard !headers.contains(where: { $0.name == name }) else { throw .malformed("\(name) is given twice") }
                headers.append(
                    NamedValue(
                        name, String(decoding: HeaderValue.canonical(line.value, collapsing: false), as: UTF8.self)))
            }
            return headers
        }
    }
}

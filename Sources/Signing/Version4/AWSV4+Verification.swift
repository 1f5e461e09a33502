import LibCrypto

extension AWSV4 {
    /// What a store knows when it verifies a request.
    public struct Verifier: Sendable {
        private let region: String
        private let service: String
        private let clockToleranceSeconds: Int
        private let keys: SigningKeyCache
        private let credential: @Sendable (_ accessKeyID: String) -> SigningCredential?
        private let dialect = V4Dialect.aws

        /// Makes a verifier.
        ///
        /// - Parameters:
        ///   - region: The only region that credentials may name.
        ///   - service: The only service that credentials may name.
        ///   - clockToleranceSeconds: How far in the future the life of a URL may begin; stores allow 900.
        ///   - keys: Where derived keys are kept.
        ///   - credential: Finds the credential of an access key id.
        public init(
            region: String,
            service: String,
            clockToleranceSeconds: Int,
            keys: SigningKeyCache,
            credential: @escaping @Sendable (_ accessKeyID: String) -> SigningCredential?
        ) {
            self.region = region
            self.service = service
            self.clockToleranceSeconds = clockToleranceSeconds
            self.keys = keys
            self.credential = credential
        }

        /// Recomputes the signature of a presigned request from its raw parts, and compares.
        ///
        /// Each escape of the path and the query is decoded once and written again in the canonical form; nothing else is
        /// normalised. The caller still has to hold the request to what its signed headers say, such as the digest of the body.
        ///
        /// - Parameters:
        ///   - request: The request as received.
        ///   - now: The store's time.
        /// - Throws: ``VerificationError``.
        public func verify(
            _ request: ReceivedRequest, at now: SigningInstant
        ) throws(VerificationError) -> VerifiedRequest {
            let target = try RequestTarget(request.target)
            let parameters = try PresignedParameters(target.query, dialect: dialect)
            // Before any key is derived, so that nobody can fill the cache with days of the past.
            guard let expiresAt = parameters.date.advanced(bySeconds: parameters.expiresInSeconds) else {
                throw .malformed("the life ends after the year 9999")
            }
            guard parameters.date.epochSeconds <= now.epochSeconds + Int64(clockToleranceSeconds) else {
                throw .notYetValid
            }
            guard now < expiresAt else { throw .expired }
            let key = try signingKey(for: parameters)
            let headers = try boundHeaders(of: request, names: parameters.signedHeaders)
            let expected = try signature(
                of: request, target: target, headers: headers, parameters: parameters, key: key)
            guard constantTimeEqual(Array(expected.hex.utf8), Array(parameters.signature.utf8)) else {
                throw .signatureMismatch
            }
            return VerifiedRequest(
                accessKeyID: key.accessKeyID,
                path: target.path,
                query: parameters.others,
                signedHeaders: parameters.signedHeaders,
                expiresAt: expiresAt
            )
        }

        private func signingKey(for parameters: PresignedParameters) throws(VerificationError) -> SigningKeyV4 {
            // Access key ids hold no slash, the four parts of the scope neither.
            let parts = parameters.credential.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 5 else { throw .malformed("the credential does not have five parts") }
            guard let credential = credential(String(parts[0])) else { throw .unknownAccessKey }
            let scope = [parameters.date.day, region, service, dialect.terminator]
            guard zip(parts.dropFirst(), scope).allSatisfy({ $0.utf8.elementsEqual($1.utf8) }) else {
                throw .wrongScope
            }
            let expectedToken = Array((credential.securityToken ?? "").utf8)
            guard constantTimeEqual(Array((parameters.securityToken ?? "").utf8), expectedToken) else {
                throw .wrongSecurityToken
            }
            do {
                return try keys.key(
                    for: credential, scope: .aws(region: region, service: service), at: parameters.date)
            } catch {
                throw .wrongScope
            }
        }

        /// The signed headers with the values that arrived; lines of the same name are joined by commas.
        private func boundHeaders(
            of request: ReceivedRequest, names: [String]
        ) throws(VerificationError) -> [(name: [UInt8], value: String)] {
            var values: [String: String] = [:]
            for header in request.headers {
                let name = header.name.lowercased()
                values[name] = values[name].map { "\($0),\(header.value)" } ?? header.value
                guard !name.hasPrefix(dialect.headerPrefix) || names.contains(name) else {
                    throw .headerNotSigned(name)
                }
            }
            var headers: [(name: [UInt8], value: String)] = []
            for name in names {
                guard let value = values[name] else { throw .headerMissing(name) }
                headers.append((Array(name.utf8), value))
            }
            return headers
        }

        private func signature(
            of request: ReceivedRequest,
            target: RequestTarget,
            headers: [(name: [UInt8], value: String)],
            parameters: PresignedParameters,
            key: SigningKeyV4
        ) throws(VerificationError) -> V4Signature {
            var query = CanonicalQuery(dialect: dialect)
            for pair in target.query where pair.name != dialect.parameters.signature {
                query.add(pair.name, pair.value)
            }
            let canonicalRequest = V4CanonicalRequest(
                method: request.method,
                appendPath: {
                    PercentEncoding.append(target.path.span, keeping: PercentEncoding.unreservedAndSlash, to: &$0)
                },
                appendQuery: { query.append(to: &$0) },
                headers: CanonicalHeaders(headers, dialect: dialect)
            )
            let text = V4Stages.stringToSign(
                canonicalRequest.bytes, scope: key.scope, instant: parameters.date, dialect: dialect)
            do {
                return try key.signature(of: text)
            } catch {
                throw .signatureMismatch
            }
        }
    }
}

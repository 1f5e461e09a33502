import Bytes
import LibCrypto

@testable public import Signing

/// Verifies requests that are signed by a "version 4" scheme, as a store does.
public struct V4Verifier: Sendable {
    private let scope: CredentialScope
    private let clockToleranceSeconds: Int
    private let credential: @Sendable (_ accessKeyID: String) -> SigningCredential?

    private var dialect: V4Dialect { scope.dialect }

    /// Makes a verifier.
    ///
    /// - Parameters:
    ///   - scope: The scheme, and the only region and service that credentials may name.
    ///   - clockToleranceSeconds: How far in the future the date of a signature may lie, and in the past that of an
    ///     `Authorization` header; stores allow 900.
    ///   - credential: Finds the credential of an access key id.
    public init(
        scope: CredentialScope,
        clockToleranceSeconds: Int,
        credential: @escaping @Sendable (_ accessKeyID: String) -> SigningCredential?
    ) {
        self.scope = scope
        self.clockToleranceSeconds = clockToleranceSeconds
        self.credential = credential
    }

    /// Recomputes the signature of a presigned request from its raw parts, and compares.
    ///
    /// Each escape of the path and the query is decoded once and written again in the canonical form; nothing else is
    /// normalised. The caller must still compare the request with its signed headers, such as the digest of the body.
    ///
    /// - Parameters:
    ///   - request: The request as received.
    ///   - now: The store's time.
    /// - Throws: ``VerificationError``.
    public func verify(
        presigned request: ReceivedRequest, at now: SigningInstant
    ) throws(VerificationError) -> VerifiedRequest {
        let target = try ReceivedTarget(request.target)
        let received = try ReceivedSignature(query: target.query, dialect: dialect)
        return try verify(request, target: target, headers: request.joinedHeaders, received: received, at: now)
    }

    /// Recomputes the signature of a request with an `Authorization` header from its raw parts, and compares.
    ///
    /// - Parameters:
    ///   - request: The request as received.
    ///   - now: The store's time.
    /// - Throws: ``VerificationError``.
    public func verify(
        authorized request: ReceivedRequest, at now: SigningInstant
    ) throws(VerificationError) -> VerifiedRequest {
        let target = try ReceivedTarget(request.target)
        let headers = request.joinedHeaders
        let received = try ReceivedSignature(
            headers: headers, query: target.query, dialect: dialect, toleranceSeconds: clockToleranceSeconds
        )
        return try verify(request, target: target, headers: headers, received: received, at: now)
    }

    private func verify(
        _ request: ReceivedRequest,
        target: ReceivedTarget,
        headers: [String: String],
        received: ReceivedSignature,
        at now: SigningInstant
    ) throws(VerificationError) -> VerifiedRequest {
        guard received.date.epochSeconds <= now.epochSeconds + Int64(clockToleranceSeconds) else { throw .notYetValid }
        guard now < received.expiresAt else { throw .expired }
        let key = try signingKey(for: received)
        let bound = try boundHeaders(of: headers, named: received.headerNames)
        let expected = try signature(of: request, target: target, headers: bound, date: received.date, key: key)
        guard constantTimeEqual(Array(expected.hex.utf8), Array(received.signature.utf8)) else {
            throw .signatureMismatch
        }
        return VerifiedRequest(
            accessKeyID: key.accessKeyID,
            path: target.path,
            query: received.others,
            signedHeaders: bound.map(\.name),
            expiresAt: received.expiresAt
        )
    }

    private func signingKey(for received: ReceivedSignature) throws(VerificationError) -> SigningKeyV4 {
        // Neither access key ids nor the four parts of the scope contain a slash.
        let parts = received.credential.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5 else { throw .malformed("the credential does not have five parts") }
        guard let credential = credential(String(parts[0])) else { throw .unknownAccessKey }
        let expected = [received.date.day, scope.region, scope.service, dialect.terminator]
        guard zip(parts.dropFirst(), expected).allSatisfy({ $0.utf8.elementsEqual($1.utf8) }) else {
            throw .wrongScope
        }
        let expectedToken = Array((credential.securityToken ?? "").utf8)
        guard constantTimeEqual(Array((received.securityToken ?? "").utf8), expectedToken) else {
            throw .wrongSecurityToken
        }
        do {
            return try SigningKeyV4(credential, scope: scope, at: received.date)
        } catch {
            throw .wrongScope
        }
    }

    /// The signed headers with the values that arrived, sorted by name.
    private func boundHeaders(
        of headers: [String: String], named names: [String]
    ) throws(VerificationError) -> [NamedValue] {
        var bound: [NamedValue] = []
        for name in names {
            guard let value = headers[name] else { throw .headerMissing(name) }
            bound.append(NamedValue(name, value))
        }
        for (name, value) in headers where !names.contains(name) {
            if !dialect.headerForm.lists(name) {
                bound.append(NamedValue(name, value))
            } else if name.utf8.starts(with: dialect.headerPrefix.utf8) {
                throw .headerNotSigned(name)
            }
        }
        return bound.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private func signature(
        of request: ReceivedRequest,
        target: ReceivedTarget,
        headers: [NamedValue],
        date: SigningInstant,
        key: SigningKeyV4
    ) throws(VerificationError) -> V4Signature {
        let query = target.query.filter { $0.name != dialect.parameters.signature }
        var path = target.path
        if dialect.vendor == .alibaba, let bucket = request.hostBucket { path = Array("/\(bucket)".utf8) + path }
        var encodedPath: [UInt8] = []
        PercentEncoding.append(path.span, keeping: .unreservedAndSlash, to: &encodedPath)
        let canonicalRequest = V4CanonicalRequest(
            method: request.method, path: encodedPath,
            query: CanonicalQuery(query, writesBareNames: dialect.writesBareNames),
            headers: BoundHeaders(headers, form: dialect.headerForm)
        )
        let text = key.stringToSign(canonicalRequest.bytes, at: date)
        do {
            return try key.signer.signature(of: text.span)
        } catch {
            throw .signatureMismatch
        }
    }
}

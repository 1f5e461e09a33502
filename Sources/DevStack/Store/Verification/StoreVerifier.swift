import Bytes
import LibCrypto
import Signing

/// Verifies signatures with code of the store's own, so that a mistake in the gateway's signer shows.
struct StoreVerifier: Sendable {
    /// How far the date of a signature may differ from the store's clock, in seconds.
    static let clockTolerance = 900

    let keys: StoreKeys
    let region: String
    let ossRegion: String

    /// Verifies a request.
    ///
    /// - Returns: The caller; `nil` for a request without a signature.
    /// - Throws: ``StoreError``.
    func verify(_ request: StoreRequest, at now: SigningInstant) throws(StoreError) -> VerifiedCaller? {
        guard let claim = try SignatureClaim.of(request) else { return nil }
        switch claim.scheme {
        case .awsV4, .ossV4: return try verifyV4(request, claim, at: now)
        case .awsV2, .ossV1:
            return VerifiedCaller(scheme: claim.scheme, session: try verifyV2(request, claim, at: now))
        }
    }

    /// The version 4 rules of a dialect.
    func rules(of dialect: StoreDialect) -> V4Rules {
        switch dialect {
        case .s3: .aws(region: region)
        case .oss: .oss(region: ossRegion)
        }
    }

    private func verifyV4(
        _ request: StoreRequest, _ claim: SignatureClaim, at now: SigningInstant
    ) throws(StoreError) -> VerifiedCaller {
        let rules = rules(of: claim.scheme.dialect)
        let received =
            try claim.isPresigned
            ? V4Claim(query: request, rules: rules) : V4Claim(header: request, rules: rules)
        let payload = try Self.payload(of: request, isRequired: !claim.isPresigned, rules)
        var caller = VerifiedCaller(
            scheme: claim.scheme, session: try verify(received, of: request, payload: payload, rules, at: now))
        if claim.scheme == .awsV4, !claim.isPresigned, payload.hasPrefix("STREAMING-AWS4-") {
            let secret = try keys.key(received.accessKeyID, token: received.token, at: now).secret
            caller.chunks = V4Signature(rules: rules).chunkSeed(received, secret: secret)
        }
        return caller
    }

    /// Verifies a claim; the rules may be those of another service.
    func verify(
        _ claim: V4Claim, of request: StoreRequest, payload: String, _ rules: V4Rules, at now: SigningInstant
    ) throws(StoreError) -> StoreSession? {
        try Self.check(claim, at: now)
        try Self.check(scope: claim.scope, day: claim.date.day, isPresigned: claim.isPresigned, rules)
        let key = try keys.key(claim.accessKeyID, token: claim.token, at: now)
        let expected = try V4Signature(rules: rules).expected(
            for: request, claim, payload: payload, secret: key.secret)
        guard constantTimeEqual(Array(expected.utf8), Array(claim.signature.utf8)) else { throw .signatureMismatch }
        return key.session
    }

    private static func check(_ claim: V4Claim, at now: SigningInstant) throws(StoreError) {
        let isEarly = claim.date.epochSeconds > now.epochSeconds + Int64(clockTolerance)
        if claim.isPresigned {
            if isEarly { throw .accessDenied("Request is not valid yet", details: [["ServerTime", now.extended]]) }
            if now >= claim.end { throw .accessDenied("Request has expired", details: [["ServerTime", now.extended]]) }
        } else if isEarly || now >= claim.end {
            throw .timeTooSkewed(serverTime: now.extended)
        }
    }

    /// Compares the scope of a credential with the store's own.
    static func check(
        scope: [String], day: String, isPresigned: Bool, _ rules: V4Rules
    ) throws(StoreError) {
        let expected = [day, rules.region, rules.service, rules.terminator]
        guard zip(scope, expected).allSatisfy({ $0.isSameBytes(as: $1) }), scope.count == expected.count else {
            let message = "The credential is for another day, region or service; expected \(rules.region)."
            throw isPresigned
                ? .badParameters(message) : .malformedHeader(message, details: [["Region", rules.region]])
        }
    }

    /// The last line of the canonical request.
    private static func payload(
        of request: StoreRequest, isRequired: Bool, _ rules: V4Rules
    ) throws(StoreError) -> String {
        let name = rules.headerPrefix + "content-sha256"
        if let value = request.headers[name] { return value }
        if !rules.isOSS, let value = try request.parameter("X-Amz-Content-Sha256") { return value }
        guard !isRequired || rules.isOSS else {
            throw .invalidRequest("Missing required header for this request: \(name)")
        }
        return "UNSIGNED-PAYLOAD"
    }

    private func verifyV2(
        _ request: StoreRequest, _ claim: SignatureClaim, at now: SigningInstant
    ) throws(StoreError) -> StoreSession? {
        let received =
            try claim.isPresigned
            ? V2Claim(query: request, dialect: claim.scheme.dialect)
            : V2Claim(header: request, dialect: claim.scheme.dialect)
        try received.check(at: now)
        let key = try keys.key(received.accessKeyID, token: received.token, at: now)
        let expected = V2Signature(dialect: claim.scheme.dialect).expected(
            for: request, expires: received.expires, secret: key.secret)
        guard constantTimeEqual(Array(expected.utf8), Array(received.signature.utf8)) else { throw .signatureMismatch }
        return key.session
    }
}

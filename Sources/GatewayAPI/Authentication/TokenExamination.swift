import FoundationEssentials
import GatewayCore
import JOSE
import StrictJSON

/// Judges a token claim by claim, for an admin. It authenticates nobody, and keeps and reports nothing from which the
/// token could be made again.
///
/// The step ``IssuerValidation/Step/token`` applies the rules of ``TokenAuthenticator`` in its order, with the same
/// functions. The other steps explain: a holder of a token that is not accepted learns less.
struct TokenExamination {
    private typealias Step = IssuerValidation.Step

    private let issuer: Issuer
    private let keys: KeySet?
    private let now: Date
    private let skew: TimeInterval
    /// The findings, in the order of the steps.
    private(set) var findings: [IssuerValidation.Finding] = []
    /// Who the holder would be, were the token accepted.
    private(set) var bearer: IssuerValidation.Bearer?

    /// Judges a token.
    ///
    /// - Parameters:
    ///   - token: The token, a JWS in compact form.
    ///   - issuer: The row.
    ///   - keys: The keys of the row; `nil` if they could not be read.
    ///   - now: The current time.
    ///   - skew: Seconds by which `nbf` and `iat` may be ahead.
    init(of token: Secret<String>, issuer: Issuer, keys: KeySet?, at now: Date, skew: TimeInterval) {
        (self.issuer, self.keys, self.now, self.skew) = (issuer, keys, now, skew)
        let text = Array(token.reveal().utf8)
        guard text.count <= TokenAuthenticator.longestTokenBytes else {
            refuse(
                "The token has \(text.count) bytes; at most \(TokenAuthenticator.longestTokenBytes) are read.")
            return
        }
        guard let parsed = CompactToken(text) else {
            refuse(Self.obstacle(in: text))
            return
        }
        judge(parsed)
    }

    /// Reports a token that cannot be taken apart.
    private mutating func refuse(_ reason: String) {
        note(.token, .failed, advice: "The token is not accepted, whatever its claims.")
        note(.tokenForm, .failed, advice: reason)
        for step in Step.ofToken.dropFirst(2) { note(step, .skipped) }
    }

    /// Why ``CompactToken`` refuses a text.
    private static func obstacle(in text: [UInt8]) -> String {
        if APIKeyText(parsing: Secret(String(decoding: text, as: UTF8.self))) != nil {
            return "This is an API key, not a JWT. It belongs to no issuer; replace it, as it was pasted here."
        }
        switch text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).count {
        case 3:
            return "Its three parts must be base64url without padding: "
                + "a JSON object as header, another as claims, and a signature. "
                + "The header must have 'alg', neither 'crit' nor 'b64', and no 'typ' other than 'JWT' or 'at+jwt'."
        case 5: return "The token is encrypted (JWE). Have the issuer sign it instead."
        default: return "A signed JWT has three parts with dots between them."
        }
    }

    private mutating func judge(_ token: CompactToken) {
        let fitting = keys.map { $0.keys(for: token) }
        let isSigned = fitting?.contains { $0.verifies(token.signature, of: token.signedBytes) }
        let isFromIssuer: Bool
        if case .string(let name)? = token.payload["iss"], ExactText(name) == ExactText(issuer.issuer) {
            isFromIssuer = true
        } else {
            isFromIssuer = false
        }
        judgeWhole(token, isFromIssuer: isFromIssuer, isSigned: isSigned)
        note(.tokenForm, .passed)
        let isAllowed = issuer.accepts(token.algorithm)
        note(
            .tokenAlgorithm, isAllowed ? .passed : .failed, found: Self.shown(token.algorithm),
            advice: isAllowed
                ? nil : "The issuer's row allows only: \(issuer.algorithms.joined(separator: ", ")).")
        judgeKey(of: token, fitting?.count)
        switch isSigned {
        case true?: note(.tokenSignature, .passed)
        case false? where fitting?.isEmpty == false:
            note(.tokenSignature, .failed, advice: "The key did not make this signature, or the token was changed.")
        default: note(.tokenSignature, .skipped)
        }
        note(
            .tokenIssuer, isFromIssuer ? .passed : .failed, found: token.payload["iss"].map(Self.shown),
            advice: isFromIssuer ? nil : "'iss' must be exactly the text of the row: \(issuer.issuer)")
        judgeAudience(token.payload)
        judgeTimes(token.payload)
        judgeIdentity(token.payload)
    }

    /// Applies the rules of the authenticator, in its order.
    private mutating func judgeWhole(_ token: CompactToken, isFromIssuer: Bool, isSigned: Bool?) {
        guard let keys, let isSigned else {
            return note(.token, .skipped, advice: "Without the keys, nobody can say whether it is accepted.")
        }
        guard isFromIssuer, issuer.accepts(token.algorithm), isSigned else {
            return note(.token, .failed, advice: TokenAuthenticator.refusalText)
        }
        do throws(GatewayError) {
            _ = try VerifiedToken(payload: token.payload, issuer: issuer, keys: keys, at: now, skew: skew)
            note(.token, .passed)
        } catch {
            note(.token, .failed, advice: Problem(error).detail)
        }
    }

    private mutating func judgeKey(of token: CompactToken, _ fitting: Int?) {
        let found = token.keyID.map(Self.shown)
        switch fitting {
        case nil: note(.tokenKey, .skipped, found: found)
        case 0? where token.keyID != nil:
            note(
                .tokenKey, .failed, found: found,
                advice: "No usable key of the issuer has this 'kid' and fits the token's algorithm. "
                    + "See 'keys' for those that it has.")
        case 0?:
            note(
                .tokenKey, .failed,
                advice: "The token names no key, so exactly one key must fit its algorithm. See 'keys'. "
                    + "Have the issuer send 'kid'.")
        default: note(.tokenKey, .passed, found: found)
        }
    }

    private mutating func judgeAudience(_ payload: JSONValue) {
        let audiences = payload["aud"]?.strings
        let isForUs = issuer.audiences.contains { own in
            audiences?.contains { ExactText($0) == ExactText(own) } ?? false
        }
        let accepted = issuer.audiences.joined(separator: ", ")
        let isMissing = (payload["aud"] ?? .null) == .null
        let advice =
            isMissing
            ? "The token has no 'aud'; let the provider add one that the row accepts: \(accepted)."
            : "The row accepts only: \(accepted)."
        note(
            .tokenAudience, isForUs ? .passed : .failed,
            found: audiences.map { Self.shown($0.joined(separator: ", ")) }, advice: isForUs ? nil : advice)
    }

    private mutating func judgeTimes(_ payload: JSONValue) {
        let seconds = now.timeIntervalSince1970
        switch payload["exp"]?.numericDate {
        case nil: note(.tokenExpiry, .failed, advice: "The token needs 'exp', a number of seconds since 1970.")
        case let expiry?:
            let isOver = seconds >= expiry
            note(
                .tokenExpiry, isOver ? .failed : .passed, found: Self.instant(expiry),
                advice: isOver ? "The token expired \(Int(seconds - expiry)) s ago. 'exp' has no leeway." : nil)
        }
        for (name, step) in [("nbf", Step.tokenNotBefore), ("iat", .tokenIssuedAt)] {
            guard let value = payload[name] else {
                // After a revocation, nothing tells that the token is from later.
                let isCostly = step == .tokenIssuedAt
                note(step, isCostly ? .warned : .skipped, advice: isCostly ? Self.missingIssuedAt : nil)
                continue
            }
            guard let time = value.numericDate else {
                note(step, .failed, advice: "'\(name)' is not a number of seconds since 1970.")
                continue
            }
            let ahead = time - seconds
            let advice = "It is \(Int(ahead.rounded(.up))) s ahead of the gateway's clock; \(Int(skew)) s are allowed."
            note(
                step, ahead > skew ? .failed : ahead > 0 ? .warned : .passed, found: Self.instant(time),
                advice: ahead > 0 ? advice : nil)
        }
    }

    private static let missingIssuedAt =
        "The token has no 'iat'. Once all tickets of a user have been revoked, the user's tokens make only tickets "
        + "that end no later than the token, for ever. Have the issuer send 'iat'."

    /// Reads subject, groups, roles and claims by ``VerifiedToken``, as if the token were in time and for this gateway.
    private mutating func judgeIdentity(_ payload: JSONValue) {
        let timely = payload.replacing([
            ("aud", .string(issuer.audiences.first ?? "")), ("exp", .number("253402300799")), ("nbf", nil),
            ("iat", nil),
        ])
        func read(_ issuer: Issuer) -> Result<VerifiedToken, GatewayError> {
            Result { () throws(GatewayError) in
                try VerifiedToken(payload: timely, issuer: issuer, keys: keys ?? KeySet([]), at: now, skew: skew)
            }
        }
        var withoutGroups = issuer
        withoutGroups.groupsClaim = nil
        switch read(withoutGroups) {
        case .failure(let error):
            note(
                .tokenSubject, .failed,
                advice: "\(Problem(error).detail ?? "") The row reads the claim '\(issuer.subjectClaim)'.")
            for step in [Step.tokenGroups, .tokenRoles, .tokenClaims] { note(step, .skipped) }
        case .success(let token):
            note(.tokenSubject, .passed, found: token.principal.rawValue)
            let whole = read(issuer)
            judgeGroups(whole, payload)
            judgeRoles(token, payload)
            judgeClaims(token.claims)
            guard case .success(let token) = whole else { return }
            bearer = IssuerValidation.Bearer(
                principal: token.principal, groups: token.groups, roles: token.conferred,
                claims: token.claims)
        }
    }

    private mutating func judgeGroups(_ token: Result<VerifiedToken, GatewayError>, _ payload: JSONValue) {
        guard let claim = issuer.groupsClaim else { return note(.tokenGroups, .skipped) }
        switch token {
        case .failure(let error): note(.tokenGroups, .failed, advice: Problem(error).detail)
        case .success where payload[claim: claim] == nil:
            note(.tokenGroups, .warned, advice: "The token has no claim '\(claim)', so it names no groups.")
        case .success(let token):
            let count = token.groups.count
            let dropped = (payload[claim: claim]?.strings?.count ?? 0) - count
            let advice: String? =
                if count > Self.maxGroups * 3 / 4 {
                    "The token names \(count) groups. Users in more than \(Self.maxGroups) are refused, "
                        + "and groups to which admins have added them count too. Have the issuer send fewer."
                } else if dropped > 0 {
                    "Names left out because no group can have them: \(dropped)."
                } else {
                    nil
                }
            note(
                .tokenGroups, count > Self.maxGroups ? .failed : advice == nil ? .passed : .warned,
                found: Self.shown(token.groups.map(\.rawValue).joined(separator: ", ")), advice: advice)
        }
    }

    /// Number of groups with which a user is still decided about.
    private static let maxGroups = PolicyCache.Limits().maxGroups

    /// Tells which value confers which role, and of the others that they confer nothing.
    private mutating func judgeRoles(_ token: VerifiedToken, _ payload: JSONValue) {
        guard !issuer.roles.isEmpty, let claim = issuer.rolesClaim else { return note(.tokenRoles, .skipped) }
        guard let values = issuer.roleValues(in: payload) else {
            return note(
                .tokenRoles, .warned, advice: "The token has no texts in the claim '\(claim)', so it confers no role.")
        }
        let known = Set(issuer.roles.flatMap(\.values))
        let unknown = values.filter { !known.contains($0) }.map { "'\($0.rawValue)'" }
        let reasons = token.roleRules.map { rule in
            let matching = rule.values.filter(values.contains).map { "'\($0.rawValue)'" }
            return "\(rule.role.rawValue) by \(matching.joined(separator: ", "))"
                + (rule.adminScopes.map { " in \($0.count) scope\($0.count == 1 ? "" : "s")" } ?? "")
        }
        note(
            .tokenRoles, reasons.isEmpty ? .warned : .passed, found: Self.shown(reasons.joined(separator: "; ")),
            advice: unknown.isEmpty
                ? nil : Self.shown("These values confer no role: \(unknown.joined(separator: ", ")))."))
    }

    private mutating func judgeClaims(_ claims: [String: String]) {
        guard !issuer.usableClaims.isEmpty else { return note(.tokenClaims, .skipped) }
        let missing = issuer.usableClaims.filter { claims[$0] == nil }
        note(
            .tokenClaims, missing.isEmpty ? .passed : .warned,
            found: Self.shown(claims.keys.sorted().joined(separator: ", ")),
            advice: missing.isEmpty
                ? nil
                : "Templates with these claims match nothing, as the token has no such text: "
                    + "\(missing.joined(separator: ", ")).")
    }

    private mutating func note(
        _ step: IssuerValidation.Step, _ outcome: IssuerValidation.Outcome, found: String? = nil, advice: String? = nil
    ) {
        findings.append(.init(step, outcome, found: found == "" ? nil : found, advice: advice))
    }

    private static func instant(_ seconds: Double) -> String {
        Timestamp.text(of: Date(timeIntervalSince1970: seconds))
    }

    private static func shown(_ text: String) -> String {
        String(text.prefix(JSONValue.longestShown))
    }

    private static func shown(_ value: JSONValue) -> String {
        if case .string(let text) = value { shown(text) } else { value.kind }
    }
}

extension JSONValue {
    /// An object with other values for some members; members whose value is `nil` are left out.
    fileprivate func replacing(_ changes: [(name: String, value: JSONValue?)]) -> JSONValue {
        guard case .object(let members) = self else { return self }
        let kept = members.filter { member in !changes.contains { ExactText($0.name) == ExactText(member.name) } }
        return .object(kept + changes.compactMap { change in change.value.map { .init(name: change.name, value: $0) } })
    }
}

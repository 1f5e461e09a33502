import FoundationEssentials
import GatewayCore
import JOSE
import LibCrypto
import StrictJSON

/// The content of a token with a valid signature, read under one issuer's row.
///
/// A class for the reason that ``Caller`` gives.
final class VerifiedToken: Sendable {
    /// The row under which the token was checked.
    let issuer: Issuer
    /// The keys with which the token was checked.
    let keys: KeySet
    /// The user that the token names.
    let principal: Principal
    /// Groups that the token names.
    let groups: [Principal]
    /// The issuer's rules of which the token has a value.
    let roleRules: [Issuer.RoleRule]
    /// Claims that the issuer's row permits to be used.
    let claims: [String: String]
    /// The instant from which the token is no longer accepted.
    let expiresAt: Date
    /// When the issuer made the token, if it says so.
    let issuedAt: Date?

    /// Reads the claims of a token whose signature was verified.
    ///
    /// - Throws: `expiredToken`, or `unauthenticated` with the reason, which the holder of a validly signed token may
    ///   know.
    init(
        payload: JSONValue, issuer: Issuer, keys: KeySet, at now: Date, skew: TimeInterval
    ) throws(GatewayError) {
        self.issuer = issuer
        self.keys = keys
        guard let audience = payload["aud"], audience != .null else {
            throw issuer.refusal(
                .wrongAudience,
                "The token has no audience ('aud'); let the provider add one of those that the issuer's row accepts.")
        }
        guard let audiences = audience.strings?.map(ExactText.init),
            issuer.audiences.contains(where: { audiences.contains(ExactText($0)) })
        else { throw issuer.refusal(.wrongAudience, "The token is for another audience.") }
        expiresAt = try Self.expiry(of: payload, from: issuer, at: now, skew: skew)
        issuedAt = (payload["iat"]?.numericDate).map { Date(timeIntervalSince1970: $0) }
        guard case .string(let subject)? = payload[claim: issuer.subjectClaim], !subject.isEmpty,
            let principal = try? Principal.user(issuer.principalPrefix + subject)
        else {
            throw issuer.refusal(.claimNotAccepted, "The token's subject must be one line of 1 to 512 bytes.")
        }
        // Without this check, an issuer that has no prefix could sign in the operator.
        guard principal != .bootstrapAdmin else {
            throw issuer.refusal(.claimNotAccepted, "The token's subject is a reserved name.")
        }
        self.principal = principal
        groups = try Self.groups(in: payload, of: issuer)
        let values = issuer.roles.isEmpty ? [] : Set(issuer.roleValues(in: payload) ?? [])
        roleRules = issuer.roles.filter { !values.isDisjoint(with: $0.values) }
        var claims: [String: String] = [:]
        for name in issuer.usableClaims {
            if case .string(let text)? = payload[claim: name] { claims[name] = text }
        }
        self.claims = claims
    }

    /// The refusal once the token has expired.
    var expired: GatewayError {
        .credentialExpired(Cause(.tokenExpired, "token of \(principal) by issuer \(issuer.id.lowercaseText)"))
    }

    /// Roles that the token confers, each with its scopes.
    var conferred: [ConferredRole] { roleRules.map(\.conferred) }

    /// Approximate size in memory, in bytes.
    var cost: Int {
        512 + principal.rawValue.utf8.count
            + groups.reduce(0) { $0 + 48 + $1.rawValue.utf8.count }
            + claims.reduce(0) { $0 + 96 + $1.key.utf8.count + $1.value.utf8.count }
    }

    private static func expiry(
        of payload: JSONValue, from issuer: Issuer, at now: Date, skew: TimeInterval
    ) throws(GatewayError) -> Date {
        guard let expiry = payload["exp"]?.numericDate else {
            throw issuer.refusal(.claimNotAccepted, "The token has no expiry time.")
        }
        for name in ["nbf", "iat"] {
            guard let value = payload[name] else { continue }
            guard let time = value.numericDate else {
                throw issuer.refusal(.claimNotAccepted, "A time in the token is not a number of seconds.")
            }
            guard time <= now.timeIntervalSince1970 + skew else {
                throw issuer.refusal(.notYetValid, "The token is not valid yet.")
            }
        }
        guard now.timeIntervalSince1970 < expiry else {
            throw .credentialExpired(Cause(.tokenExpired, "token of issuer \(issuer.id.lowercaseText)"))
        }
        return Date(timeIntervalSince1970: expiry)
    }

    /// The groups that the token names. Names that no group can have are skipped, as no row can refer to them.
    private static func groups(in payload: JSONValue, of issuer: Issuer) throws(GatewayError) -> [Principal] {
        guard let claim = issuer.groupsClaim else { return [] }
        // Without these groups, a deny for one of them would be missed.
        guard !isElsewhere(claim, of: payload) else {
            throw issuer.refusal(.claimNotAccepted, "The token refers to its groups elsewhere instead of listing them.")
        }
        guard let value = payload[claim: claim] else { return [] }
        guard let names = value.strings else {
            throw issuer.refusal(.claimNotAccepted, "The token's groups are not a list of strings.")
        }
        return names.compactMap { $0.isEmpty ? nil : try? .group(issuer.groupPrefix + $0) }
    }

    /// Whether the issuer keeps the groups elsewhere, because they are too many for a token: by OpenID Connect Core,
    /// section 5.6.2, or as Microsoft Entra ID says it in tokens of the implicit flow.
    ///
    /// - SeeAlso: Microsoft, "Access token claims reference", `hasgroups`.
    private static func isElsewhere(_ claim: String, of payload: JSONValue) -> Bool {
        if payload["_claim_names"]?[claim] != nil { return true }
        guard claim == "groups", payload[claim: claim] == nil else { return false }
        return payload["hasgroups"] == .bool(true) || payload["hasgroups"] == .string("true")
    }
}

extension Issuer {
    /// The values in the claim that lists roles; `nil` if there is no such claim, or no texts in it.
    func roleValues(in payload: JSONValue) -> [ExactText]? {
        rolesClaim.flatMap { payload[claim: $0]?.strings }?.map(ExactText.init)
    }

    /// The refusal of a token with a valid signature, whose holder may know the reason.
    fileprivate func refusal(_ reason: RefusalReason, _ text: String) -> GatewayError {
        .unauthenticated(reason: text, cause: Cause(reason, "issuer \(id.lowercaseText): \(text)"))
    }
}

/// SHA-256 of a token. Verified tokens are found by it, so memory holds no token.
struct TokenDigest: Hashable {
    private let words: InlineArray<4, UInt64>

    init(of token: [UInt8]) {
        words = DigestAlgorithm.sha256.digest(of: token).withSpan { bytes in
            InlineArray { word in
                (0..<8).reduce(0) { $0 << 8 | UInt64(bytes[word * 8 + $1]) }
            }
        }
    }

    static func == (left: TokenDigest, right: TokenDigest) -> Bool {
        left.words[0] == right.words[0] && left.words[1] == right.words[1] && left.words[2] == right.words[2]
            && left.words[3] == right.words[3]
    }

    func hash(into hasher: inout Hasher) {
        // Any part of a digest is as random as the whole.
        hasher.combine(words[0])
    }
}

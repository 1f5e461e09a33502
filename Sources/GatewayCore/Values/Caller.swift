public import FoundationEssentials

/// The party that sends a request, as far as an accepted credential proves it.
///
/// A class, because many functions pass it on and none changes it: as a struct, the server took 40.7 µs for a request
/// instead of 38.7, at 64 connections. Other values of a request are classes for the same reason.
public final class Caller: Sendable {
    /// The user.
    public let principal: Principal
    /// Groups that the credential names. Memberships stored as rows come with the policy.
    public let groups: [Principal]
    /// Roles that the credential confers, each with the scopes that limit it.
    public let conferred: [ConferredRole]
    /// Claims that templates may use as `${claim:name}`, by name. `${sub}` is the principal's own name.
    public let claims: [String: String]
    /// When the credential expires. No issuance that rests on it is decided after this instant.
    public let expiresAt: Date?
    /// When the issuer made the credential, if it is a token that says so.
    public let issuedAt: Date?
    /// The credential, kept to be checked again if the policy has changed meanwhile.
    public let token: Secret<String>
    /// Scope of the row that vouches for the credential, `issuer:…` or `apikey:…`; `nil` for the bootstrap key from the
    /// environment.
    public let scope: PolicyScope?
    /// Identifier of that row, for people.
    public let credentialID: UUID?
    /// The policy position at which the credential was checked.
    public let position: PolicyPosition
    /// The ticket that the caller presented, if any. It limits what the caller may ask for; its text is ``token``.
    public let ticket: Ticket?

    /// Creates a caller.
    public init(
        principal: Principal, groups: [Principal], roles: [ConferredRole], claims: [String: String], expiresAt: Date?,
        issuedAt: Date? = nil, token: Secret<String>, scope: PolicyScope?, credentialID: UUID? = nil,
        position: PolicyPosition,
        ticket: Ticket? = nil
    ) {
        self.principal = principal
        self.groups = groups
        conferred = roles
        self.claims = claims
        self.expiresAt = expiresAt
        self.issuedAt = issuedAt
        self.token = token
        self.scope = scope
        self.credentialID = credentialID
        self.position = position
        self.ticket = ticket
    }

    /// The roles, whatever limits them.
    public var roles: Set<Role> { Set(conferred.map(\.role)) }

    /// Whether the caller has a role.
    public func has(_ role: Role) -> Bool { conferred.contains { $0.role == role } }

    /// What the caller may see and change over the admin API.
    public var authority: AdminAuthority { AdminAuthority(of: conferred) }

    /// Whether the caller presented a ticket.
    public var hasTicket: Bool { if case .some = ticket { true } else { false } }

    /// Appends the scopes that the acceptance of the credential rests on. The proof at commit needs them.
    func addScopes(to scopes: inout [PolicyScope]) {
        if let scope { scopes.append(scope) }
        if let ticket { scopes.append(.ticket(name: ticket.name)) }
    }

    /// What the credential rests on; `nil` for the bootstrap key, which no row vouches for.
    public var proof: CredentialProof? {
        guard scope != nil else { return nil }
        var scopes: [PolicyScope] = []
        addScopes(to: &scopes)
        return CredentialProof(position: position, scopes: scopes)
    }

    /// Pairs charged quotas with their remainders, in the order of the charges. Leaves out the uses of a ticket.
    func balances(of charges: [QuotaCharge], _ remaining: [QuotaRemainder]) -> [QuotaBalance] {
        let count = min(charges.count, remaining.count)
        var balances: [QuotaBalance] = []
        balances.reserveCapacity(count)
        for place in 0..<count where charges[place].quota.id != ticket?.id {
            balances.append(QuotaBalance(quota: charges[place].quota, remainder: remaining[place]))
        }
        return balances
    }

    /// Returns the error for a quota that refused.
    ///
    /// Uses of a ticket are counted like a quota, but a ticket is not a quota: one that is used up is an expired token.
    func error(for refusal: QuotaRefusal) -> GatewayError {
        refusal.quotaID == ticket?.id.lowercaseText
            ? .credentialExpired(
                Cause(
                    .ticketExpired, "all uses of the ticket are taken",
                    advice: "All uses of the ticket are taken; fetch a new one."))
            : .quotaExceeded(refusal)
    }
}

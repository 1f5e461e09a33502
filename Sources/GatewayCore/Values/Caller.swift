public import Foundation

/// Who is asking, as far as an accepted credential proves it.
///
/// A class, as it goes through many hands and nothing of it changes.
public final class Caller: Sendable {
    /// The user.
    public let principal: Principal
    /// Groups named by the credential; those of the rows come with the policy.
    public let groups: [Principal]
    /// Roles conferred by the credential.
    public let roles: Set<Role>
    /// Claims that templates may use as `${claim:name}`, by name; `${sub}` is the principal's own name.
    public let claims: [String: String]
    /// When the credential ends; nothing issued on it is decided later.
    public let expiresAt: Date?
    /// The credential, to be checked anew when policy changed meanwhile.
    public let token: Secret<String>
    /// The scope of the row that vouches for it: `issuer:…` or `apikey:…`; `nil` for the bootstrap key of the environment.
    public let scope: PolicyScope?
    /// The state of policy under which it was checked.
    public let position: PolicyPosition
    /// The ticket that the caller came with, which bounds what may be asked for; its text is ``token``.
    public let ticket: Ticket?

    /// Puts a caller together.
    public init(
        principal: Principal, groups: [Principal], roles: Set<Role>, claims: [String: String], expiresAt: Date?,
        token: Secret<String>, scope: PolicyScope?, position: PolicyPosition, ticket: Ticket? = nil
    ) {
        self.principal = principal
        self.groups = groups
        self.roles = roles
        self.claims = claims
        self.expiresAt = expiresAt
        self.token = token
        self.scope = scope
        self.position = position
        self.ticket = ticket
    }

    /// Whether the caller came with a ticket.
    public var hasTicket: Bool { if case .some = ticket { true } else { false } }

    /// Everything that the acceptance of the credential rests on, for the proof.
    public var scopes: [PolicyScope] {
        var scopes: [PolicyScope] = []
        addScopes(to: &scopes)
        return scopes
    }

    /// Adds ``scopes`` to those that the decision rests on.
    func addScopes(to scopes: inout [PolicyScope]) {
        if let scope { scopes.append(scope) }
        if let ticket { scopes.append(.ticket(name: ticket.name)) }
    }

    /// What is left of quotas after charges, in their order; the uses of a ticket are left out.
    func balances(of charges: [QuotaCharge], _ remaining: [QuotaRemainder]) -> [QuotaBalance] {
        let count = min(charges.count, remaining.count)
        var balances: [QuotaBalance] = []
        balances.reserveCapacity(count)
        for place in 0..<count where charges[place].quota.id != ticket?.id {
            balances.append(QuotaBalance(quota: charges[place].quota, remainder: remaining[place]))
        }
        return balances
    }

    /// What a caller is told of a quota that refused: the uses of a ticket are counted like a quota, and are none.
    func error(for refusal: QuotaRefusal) -> GatewayError {
        refusal.quotaID == ticket?.id.lowercaseText ? .expiredToken : .quotaExceeded(refusal)
    }
}

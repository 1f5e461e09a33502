/// Whom a decision is about, as far as templates can see.
public struct Subject: Sendable {
    /// The user.
    public let principal: Principal
    /// Claims that templates may use as `${claim:name}`, by name.
    public let claims: [String: String]
    /// Whether a claim that is not in ``claims`` is absent. Otherwise it may have had a value that was not written down.
    let lacksUnknownClaims: Bool
    /// The ticket that bounds what the subject may ask for, if there is one.
    public var ticket: Ticket? { held?.ticket }

    /// Apart, since few come with one and all are copied.
    private let held: HeldTicket?

    private final class HeldTicket: Sendable {
        let ticket: Ticket

        init(_ ticket: Ticket) {
            self.ticket = ticket
        }
    }

    /// Names a subject.
    public init(principal: Principal, claims: [String: String] = [:], ticket: Ticket? = nil) {
        self.principal = principal
        self.claims = claims
        lacksUnknownClaims = true
        held = ticket.map(HeldTicket.init)
    }

    /// Names a subject of whom only some claims are known: whoever an issuance of the ledger was for.
    ///
    /// Grants that deny by an unknown claim are left out of decisions about it.
    init(principal: Principal, knownClaims: [String: String]) {
        self.principal = principal
        claims = knownClaims
        lacksUnknownClaims = false
        held = nil
    }

    /// Whether nothing but grants bounds what is asked for: there is no ticket, or the ticket is for it.
    func mayAsk(for action: Action, on key: ObjectKey, in bucket: BucketName) -> Bool {
        held?.ticket.covers(action, on: key, in: bucket) ?? true
    }
}

extension Caller {
    /// The caller as decisions and templates see it.
    public var subject: Subject { Subject(principal: principal, claims: claims, ticket: ticket) }
}

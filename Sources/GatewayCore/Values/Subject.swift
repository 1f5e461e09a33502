/// The user that a decision is about, with the properties that templates can use.
public struct Subject: Sendable {
    /// The user.
    public let principal: Principal
    /// Claims that templates may use as `${claim:name}`, by name.
    public let claims: [String: String]
    /// Whether a claim that is not in ``claims`` is absent. If `false`, it may have had a value that was not recorded.
    let lacksUnknownClaims: Bool
    /// The ticket that limits what the subject may ask for, if any.
    public var ticket: Ticket? { held?.ticket }

    /// A reference, because few subjects have a ticket and all subjects are copied.
    private let held: HeldTicket?

    private final class HeldTicket: Sendable {
        let ticket: Ticket

        init(_ ticket: Ticket) {
            self.ticket = ticket
        }
    }

    /// Creates a subject whose usable claims are all known.
    public init(principal: Principal, claims: [String: String] = [:], ticket: Ticket? = nil) {
        self.principal = principal
        self.claims = claims
        lacksUnknownClaims = true
        held = ticket.map(HeldTicket.init)
    }

    /// Creates a subject with only some claims known, for example the user of an issuance in the ledger.
    ///
    /// Decisions about it ignore grants that deny by an unknown claim.
    init(principal: Principal, knownClaims: [String: String]) {
        self.principal = principal
        claims = knownClaims
        lacksUnknownClaims = false
        held = nil
    }

    /// Whether the ticket permits the request. Without a ticket, only grants limit the subject, so the result is
    /// `true`.
    func mayAsk(for action: Action, on key: ObjectKey, in bucket: BucketName) -> Bool {
        held?.ticket.covers(action, on: key, in: bucket) ?? true
    }
}

extension Caller {
    /// The caller as decisions and templates see it.
    public var subject: Subject { Subject(principal: principal, claims: claims, ticket: ticket) }
}

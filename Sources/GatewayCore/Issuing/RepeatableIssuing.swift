import FoundationEssentials
import LibCrypto

/// Makes a request with an idempotency key produce the same issuances each time it is sent.
///
/// Identifiers are derived from the key's row and the item's index in the request. Their timestamp is that of the
/// decision. A recorded issuance can therefore be decided and signed again although the credential itself was not
/// stored.
///
/// This is a class because few requests carry one.
public final class RepeatableIssuing: Sendable {
    /// Records each of the issuances once.
    public let ledger: any IssuanceLedger
    private let claim: IdempotencyClaim
    private let earlier: EarlierIssuances

    /// Makes the issuances of a claim repeatable.
    public init(_ claim: IdempotencyClaim, ledger: any IssuanceLedger) {
        self.claim = claim
        earlier = EarlierIssuances(claim.issuances)
        self.ledger = ledger
    }

    /// Whether the request leads to another issuance than those of earlier attempts, because it comes from another
    /// address and the credential is bound to that.
    public var issuesAnother: Bool { earlier.hasAnother }

    /// Returns the issuance at an index of the request.
    func issuance(at place: Int) -> RepeatableIssuance {
        RepeatableIssuance(tag: tag("issuance", place), among: earlier)
    }

    /// Returns the issuance of an upload part at an index of the request. It has an identifier before the decision,
    /// because the reservation for the part refers to it.
    func part(at place: Int, now: Date) -> RepeatableIssuance {
        let issuance = issuance(at: place)
        let id = issuance.id(at: now)
        return RepeatableIssuance(tag: issuance.tag, fixed: id, isRecorded: isRecorded(id))
    }

    /// Returns whether an issuance was recorded by an earlier attempt.
    func isRecorded(_ id: UUID) -> Bool { claim.issuances.contains(id) }

    /// Returns the name that the gateway gives to the object at an index of the request.
    func name(at place: Int) -> UUID {
        .version7(at: claim.id.version7Instant, randomBytes: tag("name", place))
    }

    private func tag(_ use: String, _ place: Int) -> [UInt8] {
        Array(
            DigestAlgorithm.sha256.digest(of: "\(claim.id.lowercaseText) \(use) \(place)").bytes.prefix(10))
    }
}

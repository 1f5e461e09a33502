import Foundation
import LibCrypto

/// What makes the issuances of a request with an idempotency key the same ones, however often it is sent.
///
/// Identifiers follow from the key's row and the place in the request. Their time is the instant that was signed at, so that
/// what is on record can be signed again without being kept.
///
/// A class, as few requests have any.
public final class RepeatableIssuing: Sendable {
    /// Records each of them once.
    public let ledger: any IssuanceLedger
    private let claim: IdempotencyClaim

    /// Makes issuances of a claim repeatable.
    public init(_ claim: IdempotencyClaim, ledger: any IssuanceLedger) {
        self.claim = claim
        self.ledger = ledger
    }

    /// The issuance at a place of the request.
    func issuance(at place: Int) -> RepeatableIssuance {
        let tag = tag("issuance", place)
        return RepeatableIssuance(tag: tag, fixed: claim.issuances.first { $0.hasTag(of: tag) })
    }

    /// The part of an upload at a place of the request: what is reserved for it names its issuance before it is decided.
    func part(at place: Int, now: Date) -> RepeatableIssuance {
        let issuance = issuance(at: place)
        return RepeatableIssuance(tag: issuance.tag, fixed: issuance.id(at: now))
    }

    /// Whether an issuance was on record before.
    func isRecorded(_ id: UUID) -> Bool { claim.issuances.contains(id) }

    /// The name that the gateway gives to an object at a place of the request.
    func name(at place: Int) -> UUID {
        .version7(at: claim.id.version7Instant, randomBytes: tag("name", place))
    }

    private func tag(_ use: String, _ place: Int) -> [UInt8] {
        Array(
            DigestAlgorithm.sha256.digest(of: "\(claim.id.lowercaseText) \(use) \(place)").bytes.prefix(10))
    }
}

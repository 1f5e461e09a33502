public import Foundation
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

/// One issuance of a request with an idempotency key.
final class RepeatableIssuance: Sendable, Equatable {
    fileprivate let tag: [UInt8]
    private let fixed: UUID?

    fileprivate init(tag: [UInt8], fixed: UUID?) {
        self.tag = tag
        self.fixed = fixed
    }

    /// When it is to be signed, where that is fixed.
    var signedAt: Date? { fixed?.version7Instant }

    /// Its identifier, if it is signed at an instant.
    func id(at instant: Date) -> UUID {
        fixed ?? .version7(at: instant, randomBytes: tag)
    }

    static func == (left: RepeatableIssuance, right: RepeatableIssuance) -> Bool {
        left.tag == right.tag && left.fixed == right.fixed
    }
}

extension UUID {
    /// The time in a UUID of version 7, to the millisecond.
    public var version7Instant: Date {
        let id = uuid
        let milliseconds = [id.0, id.1, id.2, id.3, id.4, id.5].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// Whether two UUIDs of version 7 differ by their time only.
    public func hasSameTag(as other: UUID) -> Bool {
        let (left, right) = (uuid, other.uuid)
        return left.6 == right.6 && left.7 == right.7 && left.8 == right.8 && left.9 == right.9
            && left.10 == right.10 && left.11 == right.11 && left.12 == right.12 && left.13 == right.13
            && left.14 == right.14 && left.15 == right.15
    }

    fileprivate func hasTag(of bytes: [UInt8]) -> Bool {
        hasSameTag(as: .version7(at: Date(timeIntervalSince1970: 0), randomBytes: bytes))
    }
}

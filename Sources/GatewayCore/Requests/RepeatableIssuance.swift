import FoundationEssentials
import LibCrypto

/// One issuance of a request with an idempotency key.
final class RepeatableIssuance: Sendable, Equatable {
    let tag: [UInt8]
    private let fixed: UUID?
    /// The request that it belongs to; `nil` for one whose identifier is known from elsewhere.
    private let issuing: RepeatableIssuing?

    /// Makes an issuance that may be on record.
    init(tag: [UInt8], of issuing: RepeatableIssuing) {
        self.tag = tag
        self.issuing = issuing
        fixed = issuing.recorded(tag)
    }

    /// Makes an issuance whose identifier is known.
    init(tag: [UInt8], fixed: UUID) {
        self.tag = tag
        self.fixed = fixed
        issuing = nil
    }

    /// The issuance of a credential that works from one address alone. One for another address is another credential,
    /// which is recorded and charged by itself.
    func bound(to address: IPAddress) -> RepeatableIssuance {
        guard let issuing else { return self }
        let digest = DigestAlgorithm.sha256.digest(of: tag + Array(address.description.utf8))
        let issuance = RepeatableIssuance(tag: Array(digest.bytes.prefix(tag.count)), of: issuing)
        if issuance.fixed == nil { issuing.noteAnother() }
        return issuance
    }

    /// The instant of the decision, if it is fixed.
    var decidedAt: Date? { fixed?.version7Instant }

    /// The identifier of the issuance if it is decided at an instant.
    func id(at instant: Date) -> UUID {
        fixed ?? .version7(at: instant, randomBytes: tag)
    }

    static func == (left: RepeatableIssuance, right: RepeatableIssuance) -> Bool {
        left.tag == right.tag && left.fixed == right.fixed
    }
}

import FoundationEssentials
import LibCrypto

/// One issuance of a request with an idempotency key.
final class RepeatableIssuance: Sendable, Equatable {
    let tag: [UInt8]
    private let fixed: UUID?
    /// The issuances that earlier attempts at the request recorded.
    private let recorded: [UUID]

    /// Makes an issuance that may be one of those recorded.
    init(tag: [UInt8], among recorded: [UUID]) {
        self.tag = tag
        self.recorded = recorded
        fixed = recorded.first { $0.hasTag(of: tag) }
    }

    /// Makes an issuance whose identifier is known.
    init(tag: [UInt8], fixed: UUID) {
        self.tag = tag
        self.fixed = fixed
        recorded = []
    }

    /// The issuance of a credential that works from one address alone. One for another address is another credential,
    /// which is recorded and charged by itself.
    func bound(to address: IPAddress) -> RepeatableIssuance {
        RepeatableIssuance(
            tag: Array(
                DigestAlgorithm.sha256.digest(of: tag + Array(address.description.utf8)).bytes.prefix(tag.count)),
            among: recorded)
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

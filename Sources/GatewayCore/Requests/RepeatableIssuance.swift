import FoundationEssentials
import LibCrypto
import Synchronization

/// One issuance of a request with an idempotency key.
final class RepeatableIssuance: Sendable, Equatable {
    let tag: [UInt8]
    private let fixed: UUID?
    /// Whether an earlier attempt recorded the issuance.
    let isRecorded: Bool
    /// What earlier attempts recorded; `nil` for an issuance whose identifier is known from elsewhere.
    private let earlier: EarlierIssuances?

    /// Makes an issuance that may be on record.
    init(tag: [UInt8], among earlier: EarlierIssuances) {
        self.tag = tag
        self.earlier = earlier
        fixed = earlier.issuances.first { $0.hasTag(of: tag) }
        isRecorded = fixed != nil
    }

    /// Makes an issuance whose identifier is known.
    init(tag: [UInt8], fixed: UUID, isRecorded: Bool) {
        self.tag = tag
        self.fixed = fixed
        self.isRecorded = isRecorded
        earlier = nil
    }

    /// The issuance of a credential that works from one address alone; unchanged for `nil`. One for another address is
    /// another credential, which is recorded and charged by itself.
    func bound(to address: IPAddress?) -> RepeatableIssuance {
        guard let address, let earlier else { return self }
        let digest = DigestAlgorithm.sha256.digest(of: tag + Array(address.description.utf8))
        let issuance = RepeatableIssuance(tag: Array(digest.bytes.prefix(tag.count)), among: earlier)
        if issuance.fixed == nil { earlier.noteAnother() }
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

/// The issuances that earlier attempts at a request with an idempotency key recorded.
final class EarlierIssuances: Sendable {
    let issuances: [UUID]
    private let another = Atomic(false)

    init(_ issuances: [UUID]) {
        self.issuances = issuances
    }

    /// Notes that another issuance is made although there are some.
    func noteAnother() { another.store(!issuances.isEmpty, ordering: .relaxed) }

    /// Whether another issuance was noted.
    var hasAnother: Bool { another.load(ordering: .relaxed) }
}

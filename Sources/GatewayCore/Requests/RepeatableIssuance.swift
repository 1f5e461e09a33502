import FoundationEssentials

/// One issuance of a request with an idempotency key.
final class RepeatableIssuance: Sendable, Equatable {
    let tag: [UInt8]
    private let fixed: UUID?

    init(tag: [UInt8], fixed: UUID?) {
        self.tag = tag
        self.fixed = fixed
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

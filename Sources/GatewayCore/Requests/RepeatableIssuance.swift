import FoundationEssentials

/// One issuance of a request with an idempotency key.
final class RepeatableIssuance: Sendable, Equatable {
    let tag: [UInt8]
    private let fixed: UUID?

    init(tag: [UInt8], fixed: UUID?) {
        self.tag = tag
        self.fixed = fixed
    }

    /// The signing instant, if it is fixed.
    var signedAt: Date? { fixed?.version7Instant }

    /// The identifier of the issuance if it is signed at an instant.
    func id(at instant: Date) -> UUID {
        fixed ?? .version7(at: instant, randomBytes: tag)
    }

    static func == (left: RepeatableIssuance, right: RepeatableIssuance) -> Bool {
        left.tag == right.tag && left.fixed == right.fixed
    }
}

/// Learns of the refusals of one request, so that its log line and its rows can say why.
public protocol RefusalNotes: AnyObject, Sendable {
    /// Takes note of a refusal. The memory used is bounded. The call never blocks.
    func note(_ refusal: RefusalNote)
}

extension RefusalNote {
    /// Describes a refusal.
    ///
    /// - Parameters:
    ///   - refusal: The reason, the error that the caller receives, and the grant that decided.
    ///   - target: What was asked for.
    init(_ refusal: Refusal, _ target: RefusalTarget) {
        let error = refusal.error
        self =
            error.refusal
            ?? RefusalNote(code: error.code, .notPermitted, subject: error.invalidField.map { "invalid \($0)" })
        self.target = target
        grantID = refusal.grant?.id
        switch refusal.reason {
        case .noSuchBucket: reason = .noSuchBucket
        case .protocolClosed(let closed):
            reason = .protocolClosed
            subject = closed.rawValue
        case .outsideTicket: reason = .outsideTicket
        case .noGrant: reason = .noGrant
        case .denied: reason = .deniedByGrant
        // The error has told.
        case .unmet, .failed: break
        }
    }
}

extension GatewayError {
    fileprivate var invalidField: String? {
        if case .invalidArgument(let field, _) = self { field } else { nil }
    }
}

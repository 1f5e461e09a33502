/// Learns of the refusals of one request, so that its log line and its rows can say why.
public protocol RefusalNotes: AnyObject, Sendable {
    /// Takes note of a refusal. The memory used is bounded. The call never blocks.
    func note(_ refusal: RefusalNote)
}

extension RefusalNote {
    /// Describes a refusal.
    ///
    /// - Parameters:
    ///   - refusal: The error that the caller receives, and the grant that decided.
    ///   - target: What was asked for.
    ///   - bucket: The bucket, if it exists.
    init(_ refusal: Refusal, _ target: RefusalTarget, in bucket: BucketName?) {
        let error = refusal.error
        self =
            error.refusal
            ?? RefusalNote(code: error.code, .notPermitted, subject: error.invalidField.map { "invalid \($0)" })
        self.target = target
        grantID = refusal.grant?.id
        guard case .accessDenied = error else { return }
        if let closed = refusal.closedProtocol {
            reason = .protocolClosed
            subject = closed.rawValue
            return
        }
        reason =
            switch (refusal.grant, bucket) {
            case (.some, _): .deniedByGrant
            case (nil, nil): .noSuchBucket
            case (nil, .some): refusal.isOutsideTicket ? .outsideTicket : .noGrant
            }
    }
}

extension GatewayError {
    fileprivate var invalidField: String? {
        if case .invalidArgument(let field, _) = self { field } else { nil }
    }
}

/// The caller and the circumstances of a request for a credential, common to all deliveries.
///
/// A class, so that the frames of the functions that pass it on hold a reference each.
public final class RequestContext: Sendable {
    /// The authenticated caller.
    public let caller: Caller
    /// Source address of the request; `nil` if it cannot be known.
    public let sourceAddress: IPAddress?
    /// Identifier of the request, as it appears in logs.
    public let requestID: String
    /// The instant after which nothing is recorded for the request.
    public let deadline: ContinuousClock.Instant
    /// Set if the request came with an idempotency key; makes a repetition issue the same credentials.
    public let repeatable: RepeatableIssuing?
    /// The protocol by which the request came; `nil` for the gateway's own operations. The bucket must open it.
    public let clientProtocol: ClientProtocol?
    /// Learns why the request is refused; `nil` if nobody asks.
    public let refusals: (any RefusalNotes)?

    /// Creates a context for one request.
    public init(
        caller: Caller, sourceAddress: IPAddress?, requestID: String, deadline: ContinuousClock.Instant,
        repeatable: RepeatableIssuing? = nil, clientProtocol: ClientProtocol? = nil,
        refusals: (any RefusalNotes)? = nil
    ) {
        self.caller = caller
        self.sourceAddress = sourceAddress
        self.requestID = requestID
        self.deadline = deadline
        self.repeatable = repeatable
        self.clientProtocol = clientProtocol
        self.refusals = refusals
    }
    /// Returns the same circumstances for a request by another protocol.
    public func with(clientProtocol: ClientProtocol?) -> RequestContext {
        changed(deadline: deadline, repeatable: repeatable, clientProtocol: clientProtocol)
    }

    /// Returns the same circumstances with another deadline.
    public func with(deadline: ContinuousClock.Instant) -> RequestContext {
        changed(deadline: deadline, repeatable: repeatable, clientProtocol: clientProtocol)
    }

    /// Returns the same circumstances without the idempotency key, for what the gateway issues to itself.
    func withoutKey() -> RequestContext {
        changed(deadline: deadline, repeatable: nil, clientProtocol: clientProtocol)
    }

    private func changed(
        deadline: ContinuousClock.Instant, repeatable: RepeatableIssuing?, clientProtocol: ClientProtocol?
    ) -> RequestContext {
        RequestContext(
            caller: caller, sourceAddress: sourceAddress, requestID: requestID, deadline: deadline,
            repeatable: repeatable, clientProtocol: clientProtocol, refusals: refusals)
    }
}

/// The caller and the circumstances of a request for a credential, common to all deliveries.
public struct RequestContext: Sendable {
    /// The authenticated caller.
    public var caller: Caller
    /// Source address of the request; `nil` if it cannot be known.
    public var sourceAddress: IPAddress?
    /// Identifier of the request, as it appears in logs.
    public var requestID: String
    /// The instant after which nothing is recorded for the request.
    public var deadline: ContinuousClock.Instant
    /// Set if the request came with an idempotency key; makes a repetition issue the same credentials.
    public var repeatable: RepeatableIssuing?
    /// The protocol by which the request came; `nil` for the gateway's own operations. The bucket must open it.
    public var clientProtocol: ClientProtocol?
    /// Learns why the request is refused; `nil` if nobody asks.
    public var refusals: (any RefusalNotes)?

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
}

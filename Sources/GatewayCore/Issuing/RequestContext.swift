/// Who asks for a credential, and how: what all deliveries have in common.
public struct RequestContext: Sendable {
    /// Who asks, authenticated.
    public var caller: Caller
    /// Where the request came from; `nil` where that cannot be known.
    public var sourceAddress: IPAddress?
    /// Identifier of the request, as in logs.
    public var requestID: String
    /// After this nothing is recorded any more.
    public var deadline: ContinuousClock.Instant
    /// What makes it issue the same again, where the request came with an idempotency key.
    public var repeatable: RepeatableIssuing?

    /// Puts it together.
    public init(
        caller: Caller, sourceAddress: IPAddress?, requestID: String, deadline: ContinuousClock.Instant,
        repeatable: RepeatableIssuing? = nil
    ) {
        self.caller = caller
        self.sourceAddress = sourceAddress
        self.requestID = requestID
        self.deadline = deadline
        self.repeatable = repeatable
    }
}

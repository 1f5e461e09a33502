/// Why a question to a store told nothing.
public enum StoreFailure: Error, Equatable {
    /// The store cannot be reached, or did not answer in time.
    case silent(Cause)
    /// The store answered, but not in words that tell something.
    case unclear(Cause)
    /// The gateway did not ask: its settings, its rows or its database kept it from that.
    case unasked(Cause)

    /// Creates the failure of a gateway that could not ask.
    public init(unasked error: GatewayError) {
        self = .unasked(error.cause ?? Cause("\(error.code)"))
    }

    /// What happened, for the log.
    public var cause: Cause {
        switch self {
        case .silent(let cause), .unclear(let cause), .unasked(let cause): cause
        }
    }
}

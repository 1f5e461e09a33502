/// What of a permit is not in what was signed.
public enum ProofGap: String, Error, Sendable, CaseIterable {
    /// Another scheme signed than the decision rests on.
    case scheme
    /// Another method is bound.
    case method
    /// Another bucket or key is bound, or more than one.
    case place
    /// It would live longer.
    case expiry
    /// A header is missing, or has another value.
    case header
    /// A parameter is missing or has another value, or one was added.
    case parameter
    /// The size is not bound, or a larger one is.
    case size
    /// A policy says more or less than its permit, or cannot be read.
    case policy
}

/// The part of a permit that the signed result does not bind.
public enum ProofGap: String, Error, Sendable, CaseIterable {
    /// The scheme that signed is not the one that the decision rests on.
    case scheme
    /// The signed method differs.
    case method
    /// The signed bucket or key differs, or more than one is signed.
    case place
    /// The signed expiry is later than the decided one.
    case expiry
    /// A header is missing or has another value.
    case header
    /// A parameter is missing, has another value or was added.
    case parameter
    /// The size is not bound, or the bound is too large.
    case size
    /// The address of the caller is not bound.
    case sourceAddress = "source-address"
    /// A policy permits more or less than the decision, or cannot be read.
    case policy
}

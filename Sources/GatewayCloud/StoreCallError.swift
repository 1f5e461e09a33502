import GatewayCore

/// Why a question to a store has no answer.
enum StoreCallError: Error {
    /// The rows of the bucket are not there, or cannot be read or signed with, so nothing was sent.
    case unasked(GatewayError)
    /// The request failed, or the answer tells nothing.
    case failed(OutboundError)
    /// The answer to a HEAD does not tell how long the object is.
    case noLength

    /// What a caller can act on.
    var asGatewayError: GatewayError {
        switch self {
        case .unasked(let error): error
        case .failed(let error): error.asGatewayError
        case .noLength: .unavailable(retryAfter: 60, cause: Self.noLengthCause)
        }
    }

    /// What the question came to.
    var asStoreFailure: StoreFailure {
        switch self {
        case .unasked(let error): StoreFailure(unasked: error)
        case .failed(let error): error.asStoreFailure
        case .noLength: .unclear(Self.noLengthCause)
        }
    }

    private static let noLengthCause = Cause(
        "the store does not tell how long the object is",
        advice: "The bucket's store answered HEAD without a 'Content-Length', so nothing is known of the object.")
}

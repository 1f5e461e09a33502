import GatewayCore

/// Why a question to a store has no answer.
enum StoreCallError: Error {
    /// The rows of the bucket are not there, or cannot be read or signed with, so nothing was sent.
    case unasked(GatewayError)
    /// The request failed, or the answer tells nothing.
    case failed(OutboundError)

    /// What a caller can act on.
    var asGatewayError: GatewayError {
        switch self {
        case .unasked(let error): error
        case .failed(let error): error.asGatewayError
        }
    }

    /// What the question came to.
    var asStoreFailure: StoreFailure {
        switch self {
        case .unasked(let error): StoreFailure(unasked: error)
        case .failed(let error): error.asStoreFailure
        }
    }
}

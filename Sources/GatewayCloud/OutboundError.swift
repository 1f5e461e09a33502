import GatewayCore
import LibCurl

/// Why an outbound request failed.
enum OutboundError: Error, Equatable {
    /// The URL is malformed or not https, or its addresses are not public, and the operator has allowed no exception.
    case notPermitted
    /// The whole answer did not arrive.
    case noAnswer(HTTPTransfer.Failure)
    /// The answer has an unexpected status.
    case status(Int)
}

extension OutboundError {
    /// What a caller can act on: the bucket's own endpoint is to be looked at by an admin.
    var asGatewayError: GatewayError {
        switch self {
        case .notPermitted:
            .unavailable(
                retryAfter: 60,
                cause: Cause(
                    "the store's endpoint is not https, or its address is not public, "
                        + "and \(Self.setting) does not list it",
                    advice: "The gateway may not connect to the bucket's store; an admin finds out why with 'validate'."
                ))
        case .noAnswer(let failure):
            .unavailable(
                retryAfter: 5,
                cause: Cause(
                    "the store gave no answer: \(failure.phrase)",
                    advice: "The bucket's store cannot be reached; an admin finds out why with 'validate'."))
        case .status(let status): Self.refusal(status: status, code: nil)
        }
    }

    /// What the answer of a store with another status than expected means. A store that failed may answer the next
    /// time. One that refuses, or does not implement the operation (501), will refuse again.
    /// A status of 200 may carry a refusal, because some stores send it before they work.
    static func refusal(status: Int, code: String?) -> GatewayError {
        let hasFailed = ProbeFailure.isTemporary(status: status, code: code)
        guard hasFailed || (status < 300 && code == nil) else { return .storeRefused(status: status, code: code) }
        return .unavailable(
            retryAfter: 5,
            cause: Cause(
                "the store answered \(status) \(code ?? "without a code")",
                advice: "The bucket's store failed: it answered \(status)\(code.map { " " + $0 } ?? "")."))
    }

    /// What a question to a store came to that failed like this.
    var asStoreFailure: StoreFailure {
        switch self {
        case .noAnswer(.timedOut), .noAnswer(.nameNotFound), .noAnswer(.notConnected), .noAnswer(.tls),
            .noAnswer(.notTrusted):
            .silent(Cause(phrase))
        case .noAnswer(.tooLarge), .noAnswer(.other), .status: .unclear(Cause(phrase))
        case .noAnswer, .notPermitted: StoreFailure(unasked: asGatewayError)
        }
    }

    /// The setting that allows further addresses.
    static let setting = "SLUICE_OUTBOUND_ALLOW"

    /// The failure of a request to anything but a store, for the log and for admins.
    var phrase: String {
        switch self {
        case .notPermitted: "the URL is not https, or its address is not public, and \(Self.setting) does not list it"
        case .noAnswer(let failure): failure.phrase
        case .status(let status): "the answer has status \(status)"
        }
    }
}

extension HTTPTransfer.Failure {
    /// The failure in words.
    var phrase: String {
        switch self {
        case .addressRefused: "every address of the name is refused"
        case .tooLarge: "the answer is too long"
        case .timedOut: "no whole answer in time"
        case .malformedHeader: "a header field has a line break"
        case .cancelled: "the request was given up"
        case .busy: "too many requests wait for the same already"
        case .nameNotFound: "the name does not resolve (nameNotFound)"
        case .notConnected: "no address accepts the connection"
        case .tls: "TLS failed"
        case .notTrusted: "the certificate is not trusted, or not valid for the name"
        case .other(let code): "libcurl's error \(code)"
        }
    }
}

import GatewayCore
import LibCurl

/// The only way out of the gateway: all requests to other servers go through here.
///
/// An address is checked just before a connection to exactly that address is opened. A name that changes its address in
/// between gains nothing.
///
/// Stores and issuers have shares of their own, so that the key sets of issuers are fetched however many stores hang.
public struct OutboundClient: Sendable {
    /// The purpose of a request.
    public enum Purpose: String, Sendable, CaseIterable {
        /// A store's answer about an object, a bucket or an upload.
        case store
        /// Temporary credentials from a store's token service.
        case tokenService = "sts"
        /// Documents of issuers, and keys of stores.
        case keySet = "key_set"

        fileprivate var share: Share { self == .keySet ? .keySets : .stores }
    }

    /// The requests that share limits.
    enum Share: Int, CaseIterable {
        case stores
        case keySets

        fileprivate var limits: HTTPTransfers.Limits {
            switch self {
            case .stores: .init(atOnce: 128, perOrigin: 64, waiting: 1024, lookUps: 32)
            case .keySets: .init(atOnce: 32, perOrigin: 8, waiting: 256, lookUps: 8)
            }
        }
    }

    /// Number of files that the requests may open.
    public static let maxDescriptors = Share.allCases.reduce(0) { $0 + $1.limits.atOnce + $1.limits.lookUps }

    /// What the requests came to.
    public let figures = OutboundFigures()
    private let policy: OutboundPolicy
    private let timeout: Duration
    private let transfers: HTTPTransfers

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - policy: The addresses that it may connect to.
    ///   - timeout: Time for a whole request.
    public init(policy: OutboundPolicy, timeout: Duration = .seconds(5)) {
        self.init(policy: policy, timeout: timeout, lookUp: systemNameLookUp)
    }

    /// Makes a client with its own look-up of addresses.
    init(policy: OutboundPolicy, timeout: Duration, lookUp: @escaping NameLookUp) {
        self.policy = policy
        self.timeout = timeout
        transfers = HTTPTransfers(shares: Share.allCases.map(\.limits), lookUp: lookUp)
    }

    /// Sends a request. Errors contain nothing that the other side wrote.
    ///
    /// - Parameters:
    ///   - method: Method and body.
    ///   - url: URL to request.
    ///   - fields: Further header fields. The client itself sets those of the connection.
    ///   - maxBytes: Maximum length of the answer's body in bytes.
    ///   - timeout: Time for the whole request, including waiting for a turn; by default the client's.
    ///   - purpose: The purpose of the request.
    func send(
        _ method: HTTPTransfer.Method, _ url: String, fields: [HTTPTransfer.Field] = [], maxBytes: Int,
        timeout: Duration? = nil, for purpose: Purpose = .store
    ) async throws(OutboundError) -> HTTPTransfer.Answer {
        let call = figures.began(purpose)
        do throws(OutboundError) {
            let answer = try await perform(
                method, url, fields: fields, maxBytes: maxBytes, timeout: timeout ?? self.timeout, share: purpose.share)
            call.ended(answer.status < 500 ? .answered : .failed)
            return answer
        } catch {
            call.ended(OutboundFigures.Outcome(error))
            throw error
        }
    }

    /// The header fields that tell the other server of the trace. They are no part of what is signed.
    private static var traceFields: [HTTPTransfer.Field] {
        guard let trace = TraceContext.current else { return [] }
        let parent = HTTPTransfer.Field("traceparent", trace.parent)
        return trace.state.map { [parent, HTTPTransfer.Field("tracestate", $0)] } ?? [parent]
    }

    private func perform(
        _ method: HTTPTransfer.Method, _ url: String, fields: [HTTPTransfer.Field], maxBytes: Int, timeout: Duration,
        share: Share
    ) async throws(OutboundError) -> HTTPTransfer.Answer {
        guard let origin = Origin(of: url), let check = policy.addressCheck(for: origin) else { throw .notPermitted }
        let transfer = HTTPTransfer(
            method, url, at: origin, fields: fields + Self.traceFields, maxBytes: maxBytes, timeout: timeout
        ) { bytes in
            IPAddress(networkBytes: bytes).map(check) ?? false
        }
        do {
            return try await transfers.perform(transfer, share: share.rawValue)
        } catch .addressRefused {
            throw .notPermitted
        } catch {
            throw .noAnswer(error)
        }
    }
}

/// Why an outbound request failed.
enum OutboundError: Error, Equatable {
    /// The URL is malformed or not https, or its addresses are not public, and the operator has allowed no exception.
    case notPermitted
    /// The whole answer did not arrive.
    case noAnswer(HTTPTransfer.Failure)
    /// The rows are unusable for signing, so nothing was sent.
    case notSignable
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
        case .notSignable: .unavailable(retryAfter: 60, cause: "the rows of the bucket cannot be signed with")
        case .status(let status): Self.refusal(status: status, code: nil)
        }
    }

    /// What the answer of a store with another status than expected means. A store that failed may answer the next
    /// time. One that refuses, or does not implement the operation (501), will refuse again.
    /// A status of 200 may carry a refusal, because some stores send it before they work.
    static func refusal(status: Int, code: String?) -> GatewayError {
        let isPassing = ["InternalError", "ServiceUnavailable", "SlowDown"].contains(code)
        let hasFailed = status != 501 && (status >= 500 || isPassing)
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
        case .noAnswer(.timedOut), .noAnswer(.nameNotFound), .noAnswer(.notConnected), .noAnswer(.tls):
            .silent(Cause(phrase))
        case .noAnswer(.tooLarge), .noAnswer(.other), .status: .unclear(Cause(phrase))
        case .noAnswer, .notPermitted, .notSignable: StoreFailure(unasked: asGatewayError)
        }
    }

    /// The setting that allows further addresses.
    static let setting = "SLUICE_OUTBOUND_ALLOW"

    /// The failure of a request to anything but a store, for the log and for admins.
    var phrase: String {
        switch self {
        case .notPermitted: "the URL is not https, or its address is not public, and \(Self.setting) does not list it"
        case .noAnswer(let failure): failure.phrase
        case .notSignable: "the rows cannot be signed with"
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
        case .tls: "TLS failed, or the certificate is not valid for the name"
        case .other(let code): "libcurl's error \(code)"
        }
    }
}

extension IPAddress {
    /// Reads an address of 4 or 16 bytes in network order.
    init?(networkBytes bytes: [UInt8]) {
        switch bytes.count {
        case 4: self.init(bytes.map { String($0) }.joined(separator: "."))
        case 16:
            let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
            self.init(groups.map { String($0, radix: 16) }.joined(separator: ":"))
        default: return nil
        }
    }
}

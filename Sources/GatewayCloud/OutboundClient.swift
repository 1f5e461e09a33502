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
    ///   - honoursCancellation: Whether the request ends when its task is cancelled.
    ///   - purpose: The purpose of the request.
    func send(
        _ method: HTTPTransfer.Method, _ url: String, fields: [HTTPTransfer.Field] = [], maxBytes: Int,
        timeout: Duration? = nil, honoursCancellation: Bool = true, for purpose: Purpose = .store
    ) async throws(OutboundError) -> HTTPTransfer.Answer {
        let call = figures.began(purpose)
        do throws(OutboundError) {
            let answer = try await perform(
                method, url, fields: fields, maxBytes: maxBytes, timeout: timeout ?? self.timeout,
                honoursCancellation: honoursCancellation, share: purpose.share)
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
        honoursCancellation: Bool, share: Share
    ) async throws(OutboundError) -> HTTPTransfer.Answer {
        guard let origin = Origin(of: url), let check = policy.addressCheck(for: origin) else { throw .notPermitted }
        let transfer = HTTPTransfer(
            method, url, at: origin, fields: fields + Self.traceFields, maxBytes: maxBytes, timeout: timeout,
            honoursCancellation: honoursCancellation
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

import GatewayCore
import LibCurl

/// The one way out of the gateway: every request to another server goes through here.
///
/// An address is checked in the moment in which a connection to exactly that address is opened, so that a name that stands for
/// another one meanwhile gains nothing.
///
/// Stores and issuers have shares of their own: however many stores hang, the key sets by which callers are known are fetched.
public struct OutboundClient: Sendable {
    /// What a request is for.
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

    /// How many files the requests may have open.
    public static let maxDescriptors = Share.allCases.reduce(0) { $0 + $1.limits.atOnce + $1.limits.lookUps }

    private let policy: OutboundPolicy
    private let timeout: Duration
    private let transfers: HTTPTransfers

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - policy: Where it may connect to.
    ///   - timeout: Time for a whole request.
    public init(policy: OutboundPolicy, timeout: Duration = .seconds(5)) {
        self.init(policy: policy, timeout: timeout, lookUp: systemNameLookUp)
    }

    /// Makes a client that finds addresses in a way of its own.
    init(policy: OutboundPolicy, timeout: Duration, lookUp: @escaping NameLookUp) {
        self.policy = policy
        self.timeout = timeout
        transfers = HTTPTransfers(shares: Share.allCases.map(\.limits), lookUp: lookUp)
    }

    /// Sends a request; errors say nothing of what the other side wrote.
    ///
    /// - Parameters:
    ///   - method: What is asked for, with its body.
    ///   - url: Where.
    ///   - fields: Further header fields; those of the connection are set here.
    ///   - maxBytes: Longest body of an answer that is taken.
    ///   - timeout: Time for the whole request where it is not the client's; waiting for a turn is part of it.
    ///   - share: What it is for.
    func send(
        _ method: HTTPTransfer.Method, _ url: String, fields: [HTTPTransfer.Field] = [], maxBytes: Int,
        timeout: Duration? = nil, share: Share = .stores
    ) async throws(OutboundError) -> HTTPTransfer.Answer {
        guard let origin = Origin(of: url), let check = policy.addressCheck(for: origin) else { throw .notPermitted }
        let transfer = HTTPTransfer(
            method, url, at: origin, fields: fields, maxBytes: maxBytes, timeout: timeout ?? self.timeout
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

/// Why an outbound request brought nothing.
enum OutboundError: Error, Equatable {
    /// The URL is not https, malformed, or its addresses are not public, and the operator lists no exception.
    case notPermitted
    /// There was no whole answer.
    case noAnswer(HTTPTransfer.Failure)
    /// The rows cannot be signed with, so that nothing was sent.
    case notSignable
    /// An answer with a status that was not hoped for.
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
                    "the address of the store is not public and not listed in SLUICE_OUTBOUND_ALLOW",
                    advice: "The gateway may not connect to the bucket's store; an admin finds out why with 'validate'."
                ))
        case .noAnswer(let failure):
            .unavailable(
                retryAfter: 5,
                cause: Cause(
                    "the store gave no answer: \(failure)",
                    advice: "The bucket's store cannot be reached; an admin finds out why with 'validate'."))
        case .notSignable: .unavailable(retryAfter: 60, cause: "the rows of the bucket cannot be signed with")
        case .status(let status): .unavailable(retryAfter: 5, cause: "the store answered \(status)")
        }
    }
}

extension IPAddress {
    /// Reads 4 or 16 bytes in network order.
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

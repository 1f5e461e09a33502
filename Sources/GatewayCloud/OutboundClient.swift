import GatewayCore
import LibCurl

/// The one way out of the gateway: every request to another server goes through here.
///
/// An address is checked in the moment in which a connection to exactly that address is opened, so that a name that stands for
/// another one meanwhile gains nothing.
public struct OutboundClient: Sendable {
    private let policy: OutboundPolicy
    private let timeout: Duration

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - policy: Where it may connect to.
    ///   - timeout: Time for a whole request.
    public init(policy: OutboundPolicy, timeout: Duration = .seconds(5)) {
        self.policy = policy
        self.timeout = timeout
    }

    /// Sends a request; errors say nothing of what the other side wrote.
    ///
    /// - Parameters:
    ///   - method: What is asked for, with its body.
    ///   - url: Where.
    ///   - fields: Further header fields; those of the connection are set here.
    ///   - maxBytes: Longest body of an answer that is taken.
    ///   - timeout: Time for the whole request where it is not the client's.
    func send(
        _ method: HTTPTransfer.Method, _ url: String, fields: [HTTPTransfer.Field] = [], maxBytes: Int,
        timeout: Duration? = nil
    ) async throws(OutboundError) -> HTTPTransfer.Answer {
        guard let check = policy.addressCheck(for: url) else { throw .notPermitted }
        let transfer = HTTPTransfer(
            method, url, fields: fields, maxBytes: maxBytes, timeout: timeout ?? self.timeout
        ) { bytes in
            IPAddress(networkBytes: bytes).map(check) ?? false
        }
        do {
            return try await transfer.perform()
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

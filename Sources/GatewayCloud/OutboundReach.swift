public import GatewayCore
import LibCurl

/// Finds out whether servers can be called: permitted by the policy, resolved, connected to and, by https, trusted.
public struct OutboundReach: Sendable {
    private let client: OutboundClient

    /// Makes a client of its own.
    ///
    /// - Parameters:
    ///   - policy: The addresses that the gateway may connect to.
    ///   - timeout: Time for one server.
    public init(policy: OutboundPolicy, timeout: Duration = .seconds(5)) {
        client = OutboundClient(policy: policy, timeout: timeout)
    }

    /// The origin of a URL, such as `https://store.example:443`; `nil` if the gateway refuses the URL as ambiguous.
    public static func origin(of url: String) -> String? {
        guard let origin = Origin(of: url) else { return nil }
        return "\(origin.isSecure ? "https" : "http")://\(origin.host):\(origin.port)"
    }

    /// A sentence for an operator whose servers cannot be reached; `nil` if the environment names no proxy.
    public static var noteOnProxy: String? { UnusedProxy.note }

    /// Asks the server at an origin for its head, without a credential. Any answer will do.
    ///
    /// - Returns: The reason why there is no answer; `nil` if there is one.
    public func failure(at origin: String) async -> ProbeFailure? {
        do throws(OutboundError) {
            _ = try await client.send(.head, origin + "/", maxBytes: KeySets.maxBytes)
            return nil
        } catch {
            return ProbeFailure(error)
        }
    }

    /// Whether the server at an origin speaks TLS and shows a certificate that is not trusted, or not valid for the
    /// name. Of a server that speaks no TLS, this is not so.
    public func isUntrusted(at origin: String) async -> Bool {
        do throws(OutboundError) {
            _ = try await client.send(.head, origin + "/", maxBytes: KeySets.maxBytes)
            return false
        } catch {
            return error == .noAnswer(.notTrusted)
        }
    }

    /// Asks for a document.
    ///
    /// - Returns: Status and body of the answer; `nil` if there is none.
    public func answer(at url: String) async -> (status: Int, body: [UInt8])? {
        do throws(OutboundError) {
            let answer = try await client.send(.get, url, maxBytes: KeySets.maxBytes)
            return (answer.status, answer.body)
        } catch {
            return nil
        }
    }
}

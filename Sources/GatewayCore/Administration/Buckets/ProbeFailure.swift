/// The reason why a step of a live check did not pass. It contains nothing written by the store except its error code,
/// a plain word.
public enum ProbeFailure: Error, Sendable, Equatable {
    /// The endpoint's address is neither public nor allow-listed; nothing was sent to it.
    case blocked
    /// The endpoint's name resolves to no address.
    case nameNotFound
    /// No server accepted the connection.
    case unreachable
    /// No complete answer arrived in time.
    case timedOut
    /// The server does not speak TLS, or its certificate does not match the endpoint's name.
    case tls
    /// The answer was not HTTP, or too long.
    case unreadable
    /// The store redirects to another endpoint; `region` is the bucket's region if the store names it.
    case redirected(region: String?)
    /// The store refused the request; `code` is its error code, if it sent one.
    case refused(status: Int, code: String?)
    /// The store's answer was not the expected one.
    case unexpected
    /// The clocks of gateway and store differ.
    case clockDifference
    /// The credential's row is unusable for signing.
    case notSignable

    /// A stable word for programs, such as `timed-out`.
    public var word: String {
        switch self {
        case .blocked: "blocked"
        case .nameNotFound: "name-not-found"
        case .unreachable: "unreachable"
        case .timedOut: "timed-out"
        case .tls: "tls"
        case .unreadable: "unreadable"
        case .redirected: "redirected"
        case .refused: "refused"
        case .unexpected: "unexpected"
        case .clockDifference: "clock-difference"
        case .notSignable: "not-signable"
        }
    }

    /// Codes by which stores say, with any status, that the request may succeed later.
    private static let temporaryCodes: Set<String> = ["InternalError", "ServiceUnavailable", "SlowDown"]

    /// Whether a store that answered like this was too busy or in trouble, so that the request may succeed later. What
    /// it does not do at all, it refuses with 501.
    public static func isTemporary(status: Int, code: String?) -> Bool {
        guard status != 501 else { return false }
        return status == 429 || status >= 500 || code.map(temporaryCodes.contains) ?? false
    }

    /// Whether the store was too busy or in trouble.
    public var isTemporary: Bool {
        if case .refused(let status, let code) = self { Self.isTemporary(status: status, code: code) } else { false }
    }

    /// The store's error code, if it sent one.
    public var code: String? {
        if case .refused(_, let code) = self { code } else { nil }
    }
}

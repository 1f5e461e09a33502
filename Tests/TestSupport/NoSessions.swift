public import GatewayCore

/// Opens no session.
public struct NoSessions: SessionOpener {
    /// Makes a service that refuses everything.
    public init() {}

    /// Throws `unavailable`.
    public func open(_ order: SessionOrder) async throws(GatewayError) -> SessionCredential {
        throw .unavailable(retryAfter: 1, cause: "none")
    }
}

import GatewayCore

extension APIRequest {
    /// Longest time that a request may wait to be recorded.
    static let recordTimeout = Duration.seconds(5)
    /// Time that a request may take in addition when it opens a session.
    private static let sessionTimeout = Duration.seconds(9)

    /// The context in which a caller asks for a credential with this request.
    ///
    /// - Parameters:
    ///   - caller: The caller.
    ///   - opensSession: Whether a token service is asked before the request is recorded.
    func context(of caller: Caller, opensSession: Bool = false) -> RequestContext {
        let timeout = opensSession ? Self.recordTimeout + Self.sessionTimeout : Self.recordTimeout
        return RequestContext(
            caller: caller, sourceAddress: sourceAddress, requestID: id, deadline: arrival.advanced(by: timeout),
            repeatable: repeatable, clientProtocol: route.clientProtocol, refusals: notes)
    }
}

import GatewayCore

extension APIRequest {
    /// The context in which a caller asks for a credential with this request.
    ///
    /// - Parameter timeout: Longest time that the request may wait to be recorded.
    func context(of caller: Caller, timeout: Duration) -> RequestContext {
        RequestContext(
            caller: caller, sourceAddress: sourceAddress, requestID: id, deadline: arrival.advanced(by: timeout),
            repeatable: repeatable, clientProtocol: route.clientProtocol, refusals: notes)
    }
}

import GatewayCore

extension APIRequest {
    /// How a caller asks for a credential by this request.
    ///
    /// - Parameter timeout: How long the request may wait to be recorded.
    func context(of caller: Caller, timeout: Duration) -> RequestContext {
        RequestContext(
            caller: caller, sourceAddress: sourceAddress, requestID: id, deadline: start.advanced(by: timeout),
            repeatable: repeatable)
    }
}

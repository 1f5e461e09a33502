import GatewayCore

extension APIRequest {
    /// The context in which a caller asks for a credential with this request.
    ///
    /// - Parameters:
    ///   - caller: The authenticated caller.
    ///   - timeout: Longest time that the request may wait to be recorded.
    ///   - clientProtocol: The protocol of an existing client by which the request came, if any.
    func context(
        of caller: Caller, timeout: Duration, by clientProtocol: ClientProtocol? = nil
    ) -> RequestContext {
        RequestContext(
            caller: caller, sourceAddress: sourceAddress, requestID: id, deadline: start.advanced(by: timeout),
            repeatable: repeatable, clientProtocol: clientProtocol, refusals: notes)
    }
}

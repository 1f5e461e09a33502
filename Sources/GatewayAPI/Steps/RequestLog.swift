public import GatewayCore

/// Takes a line for each request that was answered.
public protocol RequestLog: Sendable {
    /// Takes one. The answer waits until this returns.
    func answered(_ request: AnsweredRequest)
}

/// The line of an answered request. It holds templates and ids, and nothing else that a client sent.
public struct AnsweredRequest: Sendable {
    /// The request's id.
    public let id: String
    /// Its method, or `other`; clients may send any token.
    public let method: String
    /// The template of its path, or `none`.
    public let route: String
    /// Status of the answer.
    public let status: Int
    /// From the request to its answer.
    public let microseconds: Int64
    /// Who asked, as far as that was found out.
    public let principal: Principal?
    /// The code of the problem that was answered.
    public let code: String?

    /// Puts it together.
    public init(
        id: String, method: String, route: String, status: Int, microseconds: Int64, principal: Principal?,
        code: String?
    ) {
        self.id = id
        self.method = method
        self.route = route
        self.status = status
        self.microseconds = microseconds
        self.principal = principal
        self.code = code
    }
}

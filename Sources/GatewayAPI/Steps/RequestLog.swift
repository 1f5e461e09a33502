public import GatewayCore

/// Receives a line for each request that the gateway began.
public protocol RequestLog: Sendable {
    /// Receives one line. The answer waits until this returns.
    func answered(_ request: AnsweredRequest)
}

/// The line of a request that was answered, or whose client had gone. It contains templates and ids, and nothing else
/// that a client sent.
///
/// A class for the reason that ``Caller`` gives.
public final class AnsweredRequest: Sendable {
    /// The request's id.
    public let id: String
    /// Its method, or `other`, since clients may send any token.
    public let method: String
    /// The template of its path, or `none` where the path does not exist.
    public let route: String
    /// HTTP status of the answer; `nil` where there is none, because the client had gone.
    public let status: Int?
    /// Time from the request to its answer, in microseconds.
    public let microseconds: Int64
    /// The principal of the caller; `nil` where it is not known.
    public let principal: Principal?
    /// The identifier of the row that an admin reads or changes; `nil` where there are several or none.
    public let row: String?
    /// The code of the problem in the answer; `nil` for an answer that is not a problem.
    public let code: String?
    /// The reason why the gateway could not answer, where the fault was its own or that of a service it needs.
    public let cause: Cause?
    /// Why the request, or items of it, were refused: the first of them.
    public let refusals: [RefusalNote]
    /// Number of all refusals: of items in a batch, else 1 or 0.
    public let refusalCount: Int
    /// The address that the request came from; `nil` where it is not known.
    public let sourceAddress: IPAddress?
    /// The trace that the caller began; `nil` if it sent none.
    public let trace: TraceContext?

    /// Puts the line together.
    public init(
        id: String, method: String, route: String, status: Int?, microseconds: Int64, principal: Principal?,
        row: String? = nil, code: String?, cause: Cause? = nil, refusals: [RefusalNote] = [], refusalCount: Int = 0,
        sourceAddress: IPAddress? = nil, trace: TraceContext? = nil
    ) {
        self.id = id
        self.method = method
        self.route = route
        self.status = status
        self.microseconds = microseconds
        self.principal = principal
        self.row = row
        self.code = code
        self.cause = cause
        self.refusals = refusals
        self.refusalCount = refusalCount
        self.sourceAddress = sourceAddress
        self.trace = trace
    }
}

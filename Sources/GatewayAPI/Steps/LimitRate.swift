import GatewayCore

/// The step that refuses callers who send too many requests.
final class LimitRate: Sendable {
    /// Counts requests with bearer tokens; `nil` for no limit.
    private let bearers: RequestRate?
    /// Counts requests with tickets separately, so that a thief of a ticket cannot keep its owner from revoking it.
    private let tickets: RequestRate?

    /// Admits `perSecond` requests of each principal in a second, and twice as many at once; any number for `nil`.
    init(perSecond: Int?) {
        bearers = perSecond.map { RequestRate("requests", perSecond: $0, burst: 2 * $0, from: .now) }
        tickets = perSecond.map { RequestRate("requests", perSecond: $0, burst: 2 * $0, from: .now) }
    }

    /// Refuses a request over the rate limit of its principal.
    ///
    /// - Throws: ``APIError/tooManyRequests(_:)``.
    func check(_ caller: Caller, for request: APIRequest) throws(APIError) {
        try rate(of: caller)?.take(from: caller.principal, at: request.arrival)
    }

    /// Counts each item of a batch as a request. The request has paid for the first one.
    ///
    /// - Throws: ``APIError/tooManyRequests(_:)``.
    func check(items count: Int, of caller: Caller, for request: APIRequest) throws(APIError) {
        try rate(of: caller)?.take(count - 1, after: 1, from: caller.principal, at: request.arrival)
    }

    private func rate(of caller: Caller) -> RequestRate? { caller.hasTicket ? tickets : bearers }
}

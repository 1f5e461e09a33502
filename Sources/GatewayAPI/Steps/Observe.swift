import GatewayCore
import HTTPServing
import HTTPTypes
import Logging

/// The step around all others: gives every answer its request id, its line in the log and its place in the metrics.
final class Observe: Sendable {
    let logger: Logger
    let requestLog: any RequestLog
    let metrics: RequestMetrics
    /// The figures of each path, by its number.
    private let figures: [RouteFigures]
    private let figuresOfNone: RouteFigures

    /// Watches the requests for some paths.
    init(logger: Logger, requestLog: any RequestLog, metrics: RequestMetrics, paths: [Router.Path]) {
        self.logger = logger
        self.requestLog = requestLog
        self.metrics = metrics
        figures = paths.map { metrics.figures(of: $0.template) }
        figuresOfNone = metrics.figures(of: RouteMatch.noTemplate)
    }

    /// Watches a request that begins.
    func begins() {
        metrics.began()
    }

    /// Watches a request that was answered.
    func ends(_ request: APIRequest, with response: inout ServerResponse) {
        response.head.headerFields.append(.requestID, request.id)
        let nanoseconds = (ContinuousClock.now - request.start).nanoseconds
        let method = Self.name(of: request.method)
        let status = response.head.status.code
        let facts = request.notes.current
        metrics.ended()
        (request.match.path.map { figures[$0.number] } ?? figuresOfNone)
            .answered(method: method, status: status, after: nanoseconds)
        if let code = facts.problemCode { metrics.refused(code: code) }
        if let gap = facts.gap {
            logger.error(
                "Nothing was issued: the signature does not bind what was decided",
                metadata: [
                    "request.id": "\(request.id)", "route": "\(request.match.template)", "gap": "\(gap.rawValue)",
                ]
            )
        }
        requestLog.answered(
            AnsweredRequest(
                id: request.id, method: method, route: request.match.template, status: status,
                microseconds: nanoseconds / 1000, principal: facts.principal, code: facts.problemCode))
    }

    /// The answer to what never became a request.
    func response(to problem: Problem, requestID: String) -> ServerResponse {
        metrics.refused(code: problem.code)
        logger.info(
            "Request refused",
            metadata: [
                "request.id": "\(requestID)", "status": "\(problem.kind.status.code)", "code": "\(problem.code)",
            ]
        )
        var response = problem.response(requestID: requestID)
        response.head.headerFields.append(.requestID, requestID)
        return response
    }

    /// The method as dimension and in logs; clients may send any token.
    private static func name(of method: HTTPRequest.Method) -> String {
        switch method {
        case .get, .head, .post, .put, .delete, .options, .patch: method.rawValue
        default: "other"
        }
    }
}

extension Duration {
    /// Whole nanoseconds, of at most 292 years.
    var nanoseconds: Int64 {
        // What takes less than nine seconds is divided in one step.
        if let attoseconds = Int64(exactly: attoseconds) { return attoseconds / 1_000_000_000 }
        return Int64(clamping: attoseconds / 1_000_000_000)
    }
}

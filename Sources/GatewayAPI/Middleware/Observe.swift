import GatewayCore
import HTTPServing
import HTTPTypes
import Logging

/// Gives every answer its request id, its line in the log and its place in the metrics.
struct Observe: Sendable {
    let logger: Logger
    let metrics: RequestMetrics

    /// Watches a request that `next` answers.
    func respond(to request: APIRequest, next: (APIRequest) async -> ServerResponse) async -> ServerResponse {
        let clock = ContinuousClock()
        let start = clock.now
        metrics.began()
        var response = await next(request)
        response.head.headerFields.append(.requestID, request.id)
        let duration = clock.now - start
        metrics.ended(
            method: request.method, route: request.routeTemplate, status: response.head.status, after: duration)
        let facts = request.notes.current
        if let code = facts.problemCode { metrics.refused(code: code) }
        log(request, response.head.status, duration, facts)
        return response
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

    private func log(
        _ request: APIRequest, _ status: HTTPResponse.Status, _ duration: Duration, _ facts: RequestNotes.Facts
    ) {
        guard logger.logLevel <= .info else { return }
        var metadata: Logger.Metadata = [
            "request.id": .string(request.id), "method": .string(RequestMetrics.name(of: request.method)),
            "route": .string(request.routeTemplate), "status": .string(String(status.code)),
            "duration.us": .string(String(duration.nanoseconds / 1000)),
        ]
        if let principal = facts.principal { metadata["principal"] = .string(principal.rawValue) }
        if let code = facts.problemCode { metadata["code"] = .string(code) }
        logger.info("Request answered", metadata: metadata)
    }
}

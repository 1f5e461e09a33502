import GatewayCore
import HTTPServing
import Logging

/// The step that turns what later steps and endpoints throw into answers.
struct RenderProblems: Sendable {
    let logger: Logger

    /// The answer to a request for which something was thrown.
    func response(to error: any Error, of request: APIRequest) -> ServerResponse {
        let problem = problem(for: error, of: request)
        request.notes.note(problemCode: problem.code)
        if let form = request.match.route?.refusalForm { return form(problem) }
        return problem.response(requestID: request.id)
    }

    private func problem(for error: any Error, of request: APIRequest) -> Problem {
        if let error = error as? GatewayError { return request.problem(for: error) }
        if let error = error as? APIError { return Problem(error) }
        if let failure = error as? ServerFailure { return Problem(failure) }
        // The server or the client gave the request up; hardly anybody reads this answer.
        if error is CancellationError { return Problem(GatewayError.unavailable(retryAfter: 1)) }
        // Of the cause, only the type is certain to hold nothing that a caller sent.
        logger.error(
            "Request failed",
            metadata: [
                "request.id": "\(request.id)", "route": "\(request.match.template)", "error": "\(type(of: error))",
            ]
        )
        return Problem(kind: .internalError)
    }
}

import GatewayCore
import HTTPServing
import Logging

/// The step that turns errors of later steps and endpoints into answers.
struct RenderProblems: Sendable {
    let logger: Logger

    /// Makes the answer to a request that failed with an error.
    func response(to error: any Error, of request: APIRequest) -> ServerResponse {
        let problem = problem(for: error, of: request)
        request.notes.note(problemCode: problem.code)
        if let form = request.match.route?.refusalForm { return form(problem) }
        return problem.response(requestID: request.id)
    }

    private func problem(for error: any Error, of request: APIRequest) -> Problem {
        if let error = error as? GatewayError { return request.problem(for: error) }
        if let error = error as? APIError { return Problem(error) }
        if let failure = error as? ServerFailure {
            if let cause = failure.cause { request.notes.note(cause: cause) }
            return Problem(failure)
        }
        // The server or the client gave up the request; hardly anybody reads this answer.
        if error is CancellationError {
            return request.problem(for: .unavailable(retryAfter: 1, cause: "the request was given up"))
        }
        // Of the cause, only the type is certain to contain nothing that a caller sent.
        logger.error(
            "Request failed",
            metadata: [
                "request.id": "\(request.id)", "route": "\(request.match.template)", "error": "\(type(of: error))",
            ]
        )
        return Problem(kind: .internalError)
    }
}

import GatewayCore
import HTTPServing
import Logging

/// Turns what inner parts throw into problem answers.
struct RenderProblems: Sendable {
    let logger: Logger

    /// The answer to a request for which something was thrown.
    func response(to error: any Error, of request: APIRequest) -> ServerResponse {
        let problem = problem(for: error, of: request)
        request.notes.note(problemCode: problem.code)
        if case .route(let route, _, _) = request.match, route.refusals == .credentialsURI {
            return CredentialsURI.response(CredentialsURI.body(of: problem))
        }
        return problem.response(requestID: request.id)
    }

    private func problem(for error: any Error, of request: APIRequest) -> Problem {
        if let error = error as? GatewayError { return request.problem(for: error) }
        if let error = error as? APIError { return Problem(error) }
        if let failure = error as? ServerFailure { return Problem(failure) }
        // Given up by the server or by the client; hardly anybody reads this.
        if error is CancellationError { return Problem(GatewayError.unavailable(retryAfter: 1)) }
        // The cause is for operators; its type alone is certain to hold nothing of a caller's.
        logger.error(
            "Request failed",
            metadata: [
                "request.id": "\(request.id)", "route": "\(request.routeTemplate)", "error": "\(type(of: error))",
            ]
        )
        return Problem(kind: .internalError)
    }
}

import GatewayCore
import HTTPServing
import Logging

/// Turns what inner parts throw into problem answers.
struct RenderProblems: Sendable {
    let logger: Logger

    func respond(to request: APIRequest, next: (APIRequest) async throws -> ServerResponse) async -> ServerResponse {
        do {
            return try await next(request)
        } catch {
            let problem = problem(for: error, of: request)
            request.notes.note(problemCode: problem.code)
            if case .route(let route, _, _) = request.match, route.refusals == .credentialsURI {
                return CredentialsURI.response(CredentialsURI.body(of: problem))
            }
            return problem.response(requestID: request.id)
        }
    }

    private func problem(for error: any Error, of request: APIRequest) -> Problem {
        if let error = error as? GatewayError { return Problem(error) }
        if let error = error as? APIError { return Problem(error) }
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

import GatewayCore
import HTTPServing
import HTTPTypes
import Logging

/// The step that turns errors of later steps and endpoints into answers.
struct RenderProblems: Sendable {
    let logger: Logger

    /// Makes the answer to a request that failed with an error.
    func response(to error: any Error, of request: APIRequest) -> ServerResponse {
        let problem = problem(for: error, of: request)
        request.notes.note(problem)
        note(error, of: request, as: problem)
        return request.match.answer(to: problem, requestID: request.id)
    }

    /// Notes why the request was refused, unless the decision has noted it with what was asked for.
    private func note(_ error: any Error, of request: APIRequest, as problem: Problem) {
        guard request.notes.current.refusalCount == 0 else { return }
        if let refusal = (error as? GatewayError)?.refusal {
            request.notes.note(refusal)
        } else if problem.kind == .tooManyRequests {
            request.notes.note(RefusalNote(code: problem.code, .tooManyRequests))
        } else if problem.kind.status.code >= 500 {
            let cause = request.notes.current.cause
            request.notes.note(RefusalNote(code: problem.code, .failed, subject: cause?.description))
        }
    }

    private func problem(for error: any Error, of request: APIRequest) -> Problem {
        if let error = error as? GatewayError { return request.problem(for: error) }
        if let error = error as? APIError { return Problem(error) }
        if let failure = error as? ServerFailure {
            if let cause = failure.cause { request.notes.note(cause: cause) }
            if failure == .earlyEnd { request.notes.noteEarlyEnd() }
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
        request.notes.note(cause: "\(type(of: error)), which no step expects")
        return Problem(kind: .internalError)
    }
}

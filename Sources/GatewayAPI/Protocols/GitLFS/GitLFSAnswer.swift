import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// The forms of answers that Git LFS defines.
enum GitLFSAnswer {
    /// The media type of bodies in both directions.
    static let mediaType = "application/vnd.git-lfs+json"

    /// Makes an answer that is one object; no cache may store it.
    static func object(
        _ status: HTTPResponse.Status = .ok, capacity: Int = 512, _ members: (inout JSONWriter) -> Void
    ) -> ServerResponse {
        var answer = ServerResponse.json(status, capacity: capacity, members)
        answer.head.headerFields[.contentType] = mediaType
        return answer
    }

    /// Makes the answer for a refusal of a whole request.
    ///
    /// It is never 422. Clients read a 422 to a verification as a complaint about the type of the upload, and end the
    /// push as if the object had arrived (git-lfs 3.7.1, `tq/transfer_queue.go`).
    @Sendable static func refusal(_ problem: Problem, requestID: String) -> ServerResponse {
        let status: HTTPResponse.Status =
            problem.lfsStatus == .unprocessableContent ? .badRequest : problem.lfsStatus
        var answer = refusal(status, problem.lfsMessage, requestID)
        problem.addHeaders(to: &answer)
        // Clients look here first for the scheme, and browsers do not look here at all.
        if status == .unauthorized { answer.head.headerFields[.lfsAuthenticate] = #"Basic realm="sluice""# }
        return answer
    }

    /// Makes the answer for a refusal of a whole request, from its parts.
    static func refusal(_ status: HTTPResponse.Status, _ message: String, _ requestID: String) -> ServerResponse {
        object(status) { json in
            json.member("message", message)
            json.member("request_id", requestID)
        }
    }
}

extension Problem {
    /// The status that Git LFS gives a meaning close to this problem.
    var lfsStatus: HTTPResponse.Status {
        switch kind {
        case .invalidArgument: .unprocessableContent
        case .quotaExceeded: quotaStatus
        // Clients come again after `Retry-After` with 429, and give the push up with 503.
        case .slowDown: .tooManyRequests
        default: kind.status
        }
    }

    /// A sentence for people.
    var lfsMessage: String {
        switch kind {
        case .accessDenied: "Access denied: no grant permits this here."
        default: detail ?? kind.title
        }
    }

    /// Requests that are too many come again later: 429. A total of bytes that is used up is a lack of storage: 507.
    /// Bytes per period are bandwidth: 509.
    private var quotaStatus: HTTPResponse.Status {
        guard case .object(let quota)? = members.first(where: { $0.name == "quota" })?.value else { return kind.status }
        func word(_ name: String) -> String? {
            guard case .string(let text)? = quota.first(where: { $0.name == name })?.value else { return nil }
            return text
        }
        guard word("metric") == Quota.Metric.bytes.rawValue else { return kind.status }
        return word("period") == Quota.Period.total.rawValue
            ? .init(code: 507, reasonPhrase: "Insufficient Storage")
            : .init(code: 509, reasonPhrase: "Bandwidth Limit Exceeded")
    }
}

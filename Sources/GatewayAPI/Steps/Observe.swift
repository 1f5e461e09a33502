import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import Logging

/// The outermost step: it gives every answer its request id, writes its log line and counts it in the metrics.
final class Observe: Sendable {
    let logger: Logger
    let requestLog: any RequestLog
    let metrics: RequestMetrics
    private let journal: any RefusalJournal
    private let now: @Sendable () -> Date
    /// The metrics of each path, by its number.
    private let figures: [RouteFigures]
    /// The metrics of requests that lead to no operation.
    private let figuresOfNone: RouteFigures

    /// Observes the requests for the given paths.
    init(
        logger: Logger, requestLog: any RequestLog, metrics: RequestMetrics, journal: any RefusalJournal,
        now: @escaping @Sendable () -> Date, paths: [Router.Path]
    ) {
        self.journal = journal
        self.now = now
        self.logger = logger
        self.requestLog = requestLog
        self.metrics = metrics
        figures = paths.map(metrics.figures(of:))
        figuresOfNone = metrics.figuresOfNone
    }

    /// Counts a request that begins.
    func begins() {
        metrics.began()
    }

    /// Logs and counts a request that was answered, and sets the request id of the answer.
    ///
    /// - Parameter isAbandoned: Whether the client had gone, so that nobody gets the answer.
    func ends(_ request: APIRequest, with response: inout ServerResponse, isAbandoned: Bool = false) {
        response.head.headerFields.append(.requestID, request.id)
        let nanoseconds = (ContinuousClock.now - request.start).nanoseconds
        let method = Self.name(of: request.method)
        let status = response.head.status.code
        let facts = request.notes.current
        metrics.ended()
        if isAbandoned, facts.isGivenUp {
            return abandoned(request, facts, method: method, after: nanoseconds)
        }
        // A protocol may answer a refusal with a status of its own, even 200. The metrics count by the problem, and a
        // batch of which nothing was served by its failures. Of a late answer, the caller has seen nothing, and its
        // refusal was counted.
        let counted = facts.statusInstead ?? facts.problem?.status ?? facts.statusOfItems ?? status
        figures(of: request.match).answered(request.method, status: counted, after: nanoseconds)
        if let code = facts.problem?.code, facts.statusInstead == nil { metrics.refused(code: code) }
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
                microseconds: nanoseconds / 1000, principal: facts.principal, row: facts.row,
                code: facts.problem?.code, cause: facts.cause, refusals: facts.refusals,
                refusalCount: facts.refusalCount, sourceAddress: request.sourceAddress, trace: request.trace))
        // Of a batch, items may have failed because the client had gone.
        let refusals = isAbandoned ? facts.refusals.filter { $0.reason != .failed } : facts.refusals
        if !refusals.isEmpty { keep(refusals, facts, of: request, method: method, status: status) }
    }

    /// Logs and counts a request that was not answered because its client had gone. The gateway neither failed nor
    /// refused it.
    private func abandoned(
        _ request: APIRequest, _ facts: RequestNotes.Facts, method: String, after nanoseconds: Int64
    ) {
        figures(of: request.match).abandoned(request.method, after: nanoseconds)
        requestLog.answered(
            AnsweredRequest(
                id: request.id, method: method, route: request.match.template, status: nil,
                microseconds: nanoseconds / 1000, principal: facts.principal, row: facts.row, code: nil,
                sourceAddress: request.sourceAddress, trace: request.trace))
    }

    /// Counts a request that the server refused before it began. It took no time that would tell how long others take.
    func refused(_ method: HTTPRequest.Method, _ match: RouteMatch, status: Int) {
        figures(of: match).count(method, status: status)
    }

    private func figures(of match: RouteMatch) -> RouteFigures {
        guard match.route != nil, let path = match.path else { return figuresOfNone }
        return figures[path.number]
    }

    private func keep(
        _ refusals: [RefusalNote], _ facts: RequestNotes.Facts, of request: APIRequest, method: String, status: Int
    ) {
        let time = now()
        for note in refusals {
            let isKept = journal.keep(
                RefusalRecord(
                    requestID: request.id, at: time, method: method, route: request.match.template, status: status,
                    note: note, principal: facts.principal, sourceAddress: request.sourceAddress))
            if !isKept { metrics.droppedRefusal() }
        }
    }

    /// Makes the answer to a request that the server refuses, in the form of its route.
    func response(
        to failure: ServerFailure, of method: HTTPRequest.Method, in match: RouteMatch, requestID: String,
        source: IPAddress?
    ) -> ServerResponse {
        var metadata: Logger.Metadata = ["method": "\(Self.name(of: method))", "route": "\(match.template)"]
        if let source { metadata["client"] = "\(source)" }
        return response(to: failure, in: match, requestID: requestID, metadata)
    }

    /// Makes the answer to a request whose head the server refuses, in the form of its path. A protocol that answers
    /// everything with 200 has no clients that send such a head; whoever does gets a problem.
    func response(to failure: ServerFailure, in match: RouteMatch, requestID: String) -> ServerResponse {
        let isRefusal = match.answer(to: Problem(failure), requestID: requestID).head.status.code >= 400
        return response(
            to: failure, in: isRefusal ? match : .unreadable, requestID: requestID, ["route": "\(match.template)"])
    }

    /// Makes the answer to input that never became a request.
    func response(to failure: ServerFailure, requestID: String) -> ServerResponse {
        response(to: failure, in: .unreadable, requestID: requestID, [:])
    }

    private func response(
        to failure: ServerFailure, in match: RouteMatch, requestID: String, _ facts: Logger.Metadata
    ) -> ServerResponse {
        let problem = Problem(failure)
        var response = match.answer(to: problem, requestID: requestID)
        metrics.refused(code: problem.code)
        var metadata = facts
        metadata["request.id"] = "\(requestID)"
        metadata["status"] = "\(response.head.status.code)"
        metadata["code"] = "\(problem.code)"
        if let cause = failure.cause { metadata["cause"] = "\(cause)" }
        logger.info("Request refused", metadata: metadata)
        response.head.headerFields.append(.requestID, requestID)
        return response
    }

    /// The name of a method in logs. It is bounded, since clients may send any token.
    private static func name(of method: HTTPRequest.Method) -> String {
        switch method {
        case .get, .head, .post, .put, .delete, .options, .patch: method.rawValue
        default: "other"
        }
    }
}

extension Duration {
    /// Whole nanoseconds, up to 292 years.
    var nanoseconds: Int64 {
        // Durations under nine seconds need only one division.
        if let attoseconds = Int64(exactly: attoseconds) { return attoseconds / 1_000_000_000 }
        return Int64(clamping: attoseconds / 1_000_000_000)
    }
}

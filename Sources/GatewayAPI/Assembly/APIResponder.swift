import Foundation
import GatewayCore
public import HTTPServing
import HTTPTypes
import Logging

/// Answers HTTP requests: `Observe → CrossOrigin → RenderProblems → Authenticate → endpoint`.
///
/// The body of the answer to a `HEAD` is that of the `GET`; the server leaves it out.
///
/// A class, as are the parts that every request passes: none of them is copied on its way.
public final class APIResponder: HTTPResponder {
    /// Which routes a listener serves.
    public enum Listener: Sendable {
        /// All of them, where there is one listener only.
        case everything
        /// Those of app users.
        case app
        /// Those of admins and operators.
        case inner
    }

    let router: Router
    private let settings: APISettings
    private let observe: Observe
    private let crossOrigin: CrossOrigin
    private let renderProblems: RenderProblems
    private let authenticate: Authenticate
    private let makeID: @Sendable () -> String

    /// Puts the API of one listener together.
    public init(_ parts: APIParts, _ settings: APISettings, on listener: Listener) {
        let metrics = RequestMetrics(factory: parts.metricsFactory)
        let makeRate = {
            settings.requestsPerSecond.map { RequestRate("requests", perSecond: $0, burst: 2 * $0, from: .now) }
        }
        let rate = makeRate()
        let routes = Routes(parts, settings, metrics, rate)
        switch listener {
        case .everything: router = Router(routes.app + routes.inner)
        case .app: router = Router(routes.app)
        case .inner: router = Router(routes.inner)
        }
        self.settings = settings
        observe = Observe(
            logger: parts.logger, requestLog: parts.requestLog, metrics: metrics, paths: router.paths)
        crossOrigin = CrossOrigin(allowedOrigins: settings.allowedOrigins)
        renderProblems = RenderProblems(logger: parts.logger)
        authenticate = Authenticate(
            authenticator: parts.authenticator, advancePolicy: parts.advancePolicy,
            idempotency: Idempotency(store: parts.idempotency, logger: parts.logger), rate: rate,
            ticketRate: makeRate())
        makeID = { [now = parts.now, randomBytes = parts.randomBytes] in
            // Without random bytes nothing will be issued, but the answer that says so is still to be named.
            UUID.version7(at: now(), randomBytes: (try? randomBytes(10)) ?? []).lowercaseText
        }
    }

    /// How much of a body the route takes; a path that does not exist takes a little, so that the answer can say so.
    public func bodyPlan(for head: RequestHead) -> BodyPlan {
        if let route = router.route(head.method, literal: head.target) {
            return plan(for: head, on: route)
        }
        guard let target = try? RequestTarget(head.target),
            case .route(let route, _, _) = router.match(head.method, target.segments)
        else { return .collect(maxBytes: Route.defaultMaxBodyBytes) }
        return plan(for: head, on: route)
    }

    private func plan(for head: RequestHead, on route: Route) -> BodyPlan {
        guard case .collect(let maxBytes) = route.bodyPlan, maxBytes > 0, head.headerFields.nameContentCoding else {
            return route.bodyPlan
        }
        // It will be refused, and not be read for that.
        return .stream(maxBytes: Int64(maxBytes))
    }

    /// Answers a request.
    public func respond(to request: ServerRequest) async -> ServerResponse {
        let request = makeRequest(request)
        observe.begins()
        var response: ServerResponse
        do {
            response = try await dispatch(request)
        } catch {
            response = renderProblems.response(to: error, of: request)
        }
        crossOrigin.allow(&response, to: request)
        observe.ends(request, with: &response)
        return response
    }

    /// Answers what never became a request, in the form of every other problem.
    public func response(to failure: ServerFailure) -> ServerResponse {
        observe.response(to: Problem(failure), requestID: makeID())
    }

    private func makeRequest(_ request: ServerRequest) -> APIRequest {
        let start = ContinuousClock.now
        let headers = request.head.headerFields
        let (target, match) = router.match(request.head.method, raw: request.head.target)
        let peer = IPAddress(request.remoteAddress)
        let isFromProxy = if let peer { settings.trustedProxies.trusts(peer) } else { false }
        return APIRequest(
            id: (isFromProxy ? Self.requestID(in: headers) : nil) ?? makeID(),
            start: start,
            method: request.head.method,
            headers: headers,
            target: target,
            match: match,
            body: request.body,
            sourceAddress: isFromProxy ? peer.flatMap { settings.trustedProxies.source(of: $0, headers) } : peer
        )
    }

    /// The id that a trusted proxy gave the request, if it is one that can stand in logs.
    private static func requestID(in headers: HeaderFields) -> String? {
        let ids = headers[values: .requestID]
        guard ids.count == 1, let id = ids.first, 8...64 ~= id.utf8.count,
            id.utf8.allSatisfy({
                Character(Unicode.Scalar($0)).isLetter && $0 < 0x80 || "0123456789-_.".utf8.contains($0)
            })
        else { return nil }
        return id
    }

    private func dispatch(_ request: APIRequest) async throws -> ServerResponse {
        guard request.target != nil else { throw APIError.malformedTarget }
        switch request.match {
        case .none:
            throw APIError.noSuchRoute
        case .route(let route, _, _):
            return try await authenticate.answer(request, on: route)
        case .otherMethod(let path):
            guard request.method == .options else { throw APIError.methodNotAllowed(path.allowedMethods) }
            let allow = path.allowedMethods.map(\.rawValue).joined(separator: ", ")
            return ServerResponse(head: ResponseHead(status: .noContent, headerFields: [.allow: allow]))
        }
    }
}

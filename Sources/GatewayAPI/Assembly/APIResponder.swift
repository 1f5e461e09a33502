import Foundation
import GatewayCore
public import HTTPServing
import HTTPTypes
import Logging

/// Answers HTTP requests. ``respond(to:)`` takes the steps that every request takes; `answer(_:)`, in their midst,
/// those that lead to an endpoint.
///
/// The body of the answer to a `HEAD` is that of the `GET`; the server leaves it out.
///
/// A class, as are the steps that every request takes: none of them is copied on its way.
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
    private let limitRate: LimitRate
    private let longBodies = LongBodies()
    private let idempotency: Idempotency
    private let makeID: @Sendable () -> String

    /// Puts the API of one listener together.
    public init(_ parts: APIParts, _ settings: APISettings, on listener: Listener) {
        let metrics = RequestMetrics(factory: parts.metricsFactory)
        limitRate = LimitRate(perSecond: settings.requestsPerSecond)
        let routes = Routes(parts, settings, metrics, limitRate.bearers)
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
        authenticate = Authenticate(parts.authenticator, advancePolicy: parts.advancePolicy)
        idempotency = Idempotency(parts.idempotency, logger: parts.logger)
        makeID = { [now = parts.now, randomBytes = parts.randomBytes] in
            // Without random bytes nothing will be issued, but the answer that says so still needs an id.
            UUID.version7(at: now(), randomBytes: (try? randomBytes(10)) ?? []).lowercaseText
        }
    }

    // MARK: The steps

    /// Finds the operation, once, and with it how much of a body is read. A target that leads to none may have a short
    /// body, so that the answer can say so.
    public func begin(_ head: RequestHead) -> RequestPlan {
        let match = router.match(head.method, head.target)
        return RequestPlan(match.bodyPlan(for: head.headerFields), context: match)
    }

    /// Answers a request.
    public func respond(to received: ServerRequest) async -> ServerResponse {
        let request = makeRequest(received)
        observe.begins()
        var response: ServerResponse
        do {
            response = try await answer(request)
        } catch {
            response = renderProblems.response(to: error, of: request)
        }
        crossOrigin.allow(&response, to: request)
        observe.ends(request, with: &response)
        return response
    }

    // The steps are called from here, and do not wrap one another: with two asynchronous calls more around the
    // endpoint, the server took 47.4 µs for a request instead of 34.8, at 64 connections.
    private func answer(_ request: APIRequest) async throws -> ServerResponse {
        guard let route = request.match.route else { return try request.match.answerWithoutRoute(to: request.method) }
        switch route.endpoint {
        case .open(let endpoint):
            return try await endpoint(request)
        case .authenticated(let endpoint):
            let caller = try await authenticate.caller(of: request)
            try limitRate.check(caller, for: request)
            try RequireRole.check(caller, for: request)
            guard request.bytesToGather == nil else { return try await gather(request, from: caller, endpoint) }
            try request.refuseCodedBody()
            guard Idempotency.concerns(request) else { return try await endpoint(request, caller) }
            return try await idempotency.answer(request, from: caller, endpoint)
        }
    }

    /// The steps of a request with a long body, once its caller is known.
    private func gather(
        _ request: APIRequest, from caller: Caller,
        _ endpoint: @Sendable (APIRequest, Caller) async throws -> ServerResponse
    ) async throws -> ServerResponse {
        try await longBodies.hold(request.bytesToGather ?? 0, of: caller.principal) {
            let request = try await request.withBody()
            // An admin's key may have been removed while the body arrived.
            let caller = try await authenticate.caller(of: request)
            try RequireRole.check(caller, for: request)
            guard Idempotency.concerns(request) else { return try await endpoint(request, caller) }
            return try await idempotency.answer(request, from: caller, endpoint)
        }
    }

    /// Answers what never became a request, in the form of every other problem.
    public func response(to failure: ServerFailure) -> ServerResponse {
        observe.response(to: Problem(failure), requestID: makeID())
    }

    // MARK: The request

    private func makeRequest(_ received: ServerRequest) -> APIRequest {
        let start = ContinuousClock.now
        let headers = received.head.headerFields
        let peer = IPAddress(received.remoteAddress)
        let isFromProxy = if let peer { settings.trustedProxies.trusts(peer) } else { false }
        return APIRequest(
            id: (isFromProxy ? Self.requestID(in: headers) : nil) ?? makeID(),
            start: start,
            method: received.head.method,
            headers: headers,
            match: received.context as? RouteMatch ?? router.match(received.head.method, received.head.target),
            body: received.body,
            sourceAddress: isFromProxy ? peer.flatMap { settings.trustedProxies.source(of: $0, headers) } : peer
        )
    }

    /// The id that a trusted proxy gave the request, if logs can hold it.
    private static func requestID(in headers: HeaderFields) -> String? {
        let ids = headers[values: .requestID]
        guard ids.count == 1, let id = ids.first, 8...64 ~= id.utf8.count,
            id.utf8.allSatisfy({
                Character(Unicode.Scalar($0)).isLetter && $0 < 0x80 || "0123456789-_.".utf8.contains($0)
            })
        else { return nil }
        return id
    }
}

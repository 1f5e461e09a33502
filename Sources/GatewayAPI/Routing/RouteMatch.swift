import HTTPServing
import HTTPTypes

/// What a method and a target lead to: found once, when the head of a request has arrived, and then carried by the
/// request.
final class RouteMatch: Sendable {
    /// The target, taken apart; `nil` where it cannot be read in one way only.
    let target: RequestTarget?
    /// The path; `nil` where there is no such path.
    let path: Router.Path?
    /// The operation; `nil` where the path does not have the method.
    let route: Route?
    /// The segments that fill the parameters of the path's template, in order.
    let parameters: [String]

    init(target: RequestTarget?, path: Router.Path? = nil, route: Route? = nil, parameters: [String] = []) {
        self.target = target
        self.path = path
        self.route = route
        self.parameters = parameters
    }

    /// A target that cannot be read.
    static let unreadable = RouteMatch(target: nil)

    /// The template of the path. Metrics and logs use it instead of the path that the client sent.
    var template: String { path?.template ?? Self.noTemplate }

    /// The name of all paths that do not exist.
    static let noTemplate = "none"
}

extension RouteMatch {
    /// How much of a body the server reads.
    func bodyPlan(for headers: HeaderFields) -> BodyPlan {
        guard let route else { return .collect(maxBytes: Route.defaultMaxBodyBytes) }
        guard case .collect(let maxBytes) = route.bodyPlan, maxBytes > 0, headers.nameContentCoding else {
            return route.bodyPlan
        }
        // The body will be refused, and need not be read for that.
        return .stream(maxBytes: Int64(maxBytes))
    }

    /// The answer where the target leads to no operation: to `OPTIONS` the methods of the path.
    ///
    /// - Throws: Why there is no operation.
    func answerWithoutRoute(to method: HTTPRequest.Method) throws(APIError) -> ServerResponse {
        guard target != nil else { throw .malformedTarget }
        guard let path else { throw .noSuchRoute }
        guard method == .options else { throw .methodNotAllowed(path.allowedMethods) }
        let allow = path.allowedMethods.map(\.rawValue).joined(separator: ", ")
        return ServerResponse(head: ResponseHead(status: .noContent, headerFields: [.allow: allow]))
    }
}

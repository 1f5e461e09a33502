import HTTPServing
import HTTPTypes

/// The route to which a method and a target lead. It is found once, when the head of a request has arrived, and the
/// request carries it from then on.
final class RouteMatch: Sendable {
    /// The parsed target; `nil` where it can be read in more than one way, or not at all.
    let target: RequestTarget?
    /// The path; `nil` where no such path exists.
    let path: Router.Path?
    /// The operation; `nil` where the path does not support the method.
    let route: Route?
    /// The segments that match the parameters of the path's template, in order.
    let parameters: [String]

    init(target: RequestTarget?, path: Router.Path? = nil, route: Route? = nil, parameters: [String] = []) {
        self.target = target
        self.path = path
        self.route = route
        self.parameters = parameters
    }

    /// The match of a target that cannot be read.
    static let unreadable = RouteMatch(target: nil)

    /// The template of the path. Metrics and logs use it instead of the path that the client sent.
    var template: String { path?.template ?? Self.noTemplate }

    /// The template that stands for all paths that do not exist.
    static let noTemplate = "none"
}

extension RouteMatch {
    /// Decides how much of a body the server reads.
    func bodyPlan(for headers: HeaderFields) -> BodyPlan {
        guard let route else { return .collect(maxBytes: Route.defaultMaxBodyBytes) }
        guard case .collect(let maxBytes, _) = route.bodyPlan, maxBytes > 0, headers.nameContentCoding else {
            return route.bodyPlan
        }
        // The body will be refused; it need not be read first.
        return .stream(maxBytes: Int64(maxBytes))
    }

    /// Makes the answer for a problem, in the form of the route.
    func answer(to problem: Problem, requestID: String) -> ServerResponse {
        guard let form = route?.refusalForm else { return problem.response(requestID: requestID) }
        return form(problem, requestID)
    }

    /// Answers where the target leads to no operation. `OPTIONS` is answered with the methods of the path.
    ///
    /// - Throws: The reason why there is no operation.
    func answerWithoutRoute(to method: HTTPRequest.Method) throws(APIError) -> ServerResponse {
        guard target != nil else { throw .malformedTarget }
        guard let path else { throw .noSuchRoute }
        guard method == .options else { throw .methodNotAllowed(path.allowedMethods) }
        let allow = path.allowedMethods.map(\.rawValue).joined(separator: ", ")
        return ServerResponse(head: ResponseHead(status: .noContent, headerFields: [.allow: allow]))
    }
}

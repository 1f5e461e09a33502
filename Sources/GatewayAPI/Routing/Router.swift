import HTTPServing
import HTTPTypes
import Bytes

/// Finds the route of a request by the segments of its path, which are decoded once. A literal segment has precedence
/// over `{parameter}:verb`, which has precedence over `{parameter}`.
final class Router: Sendable {
    /// One path with all its operations.
    final class Path: Sendable {
        let template: String
        let routes: [Route]
        /// The index of the path among all paths of the router.
        let number: Int

        fileprivate init(template: String, routes: [Route], number: Int) {
            self.template = template
            self.routes = routes
            self.number = number
        }

        /// The methods that `Allow` lists. `GET` implies `HEAD`, and `OPTIONS` always works.
        var allowedMethods: [HTTPRequest.Method] {
            routes.map(\.method) + (routes.contains { $0.method == .get } ? [.head, .options] : [.options])
        }

        /// The operation for a method; `GET` also answers `HEAD`.
        fileprivate func route(_ method: HTTPRequest.Method) -> Route? {
            let wanted = method == .head ? .get : method
            return routes.first { $0.method == wanted }
        }
    }

    /// A path without parameters, as most requests have. Its matches are made in advance, so no request allocates one.
    private struct Literal: Sendable {
        let path: Path
        private let matches: [RouteMatch]
        private let withoutRoute: RouteMatch

        init(_ path: Path, _ target: RequestTarget) {
            self.path = path
            matches = path.routes.map { RouteMatch(target: target, path: path, route: $0) }
            withoutRoute = RouteMatch(target: target, path: path)
        }

        func match(_ method: HTTPRequest.Method) -> RouteMatch {
            let wanted = method == .head ? .get : method
            return matches.first { $0.route?.method == wanted } ?? withoutRoute
        }
    }

    private struct Node: Sendable {
        var literals: [String: Int] = [:]
        var parameter: Int?
        /// The node for `{parameter}:verb`, by verb.
        var verbs: [String: Int] = [:]
        var path: Path?
        /// The path of all targets that begin with this node, unless a literal segment follows that has paths of its
        /// own.
        var rest: Path?

        /// The value in `value:verb`, and the node for the verb.
        func verb(of segment: String) -> (value: String, next: Int)? {
            guard !verbs.isEmpty, let colon = segment.utf8.lastIndex(of: UInt8(ascii: ":")), colon > segment.startIndex,
                let next = verbs[String(segment[segment.utf8.index(after: colon)...])]
            else { return nil }
            return (String(segment[..<colon]), next)
        }
    }

    private let nodes: [Node]
    /// Paths without parameters, by length in bytes; few have the same length.
    private let literals: [[Literal]]
    /// Every route, in the given order.
    let routes: [Route]
    /// Every path, at its number.
    let paths: [Path]

    /// Builds the tree of routes.
    ///
    /// - Precondition: No two routes have the same method and template.
    init(_ routes: [Route]) {
        var layout = Layout()
        for route in routes { layout.insert(route) }
        self.routes = routes
        nodes = layout.nodes
        literals = layout.literals
        paths = layout.paths
    }

    /// The tree while it is built, one route after another.
    private struct Layout {
        var nodes = [Node()]
        var literals: [[Literal]] = []
        var paths: [Path] = []

        mutating func insert(_ route: Route) {
            var current = 0
            let segments = route.template.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
            for segment in route.takesRest ? segments.dropLast() : segments[...] {
                current = child(of: current, for: segment)
            }
            let end = route.takesRest ? \Node.rest : \Node.path
            let known = nodes[current][keyPath: end]
            precondition(
                known.map { $0.template == route.template && !$0.routes.contains { $0.method == route.method } }
                    ?? true,
                "\(route.method) \(route.template) contradicts another route."
            )
            let path = Path(
                template: route.template, routes: (known?.routes ?? []) + [route], number: known?.number ?? paths.count)
            if path.number < paths.count { paths[path.number] = path } else { paths.append(path) }
            nodes[current][keyPath: end] = path
            if !route.template.contains("{"), let target = try? RequestTarget(route.template) {
                setLiteral(Literal(path, target))
            }
        }

        private mutating func setLiteral(_ literal: Literal) {
            let length = literal.path.template.utf8.count
            while literals.count <= length { literals.append([]) }
            literals[length].removeAll { $0.path.template == literal.path.template }
            literals[length].append(literal)
        }

        /// Returns the node for a segment of a template; makes it where it does not exist.
        private mutating func child(of parent: Int, for segment: Substring) -> Int {
            let slot: WritableKeyPath<Node, Int?> =
                if !segment.hasPrefix("{") {
                    \Node.literals[String(segment)]
                } else if let verb = segment.split(separator: ":").dropFirst().first {
                    \Node.verbs[String(verb)]
                } else {
                    \Node.parameter
                }
            if let known = nodes[parent][keyPath: slot] { return known }
            nodes.append(Node())
            nodes[parent][keyPath: slot] = nodes.count - 1
            return nodes.count - 1
        }
    }

    /// Finds the route for a method and a raw target.
    func match(_ method: HTTPRequest.Method, _ target: String) -> RouteMatch {
        if let literal = literal(target) { return literal.match(method) }
        guard let target = try? RequestTarget(target) else { return .unreadable }
        guard let (path, parameters) = find(target.segments) else { return RouteMatch(target: target) }
        return RouteMatch(target: target, path: path, route: path.route(method), parameters: parameters)
    }

    /// Finds a route for a raw target, where the method is not known. The routes of a path refuse in the same form.
    func match(_ target: String) -> RouteMatch {
        let found = match(.get, target)
        guard found.route == nil, let method = found.path?.routes.first?.method else { return found }
        return match(method, target)
    }

    /// The path without parameters that is equal to a raw target, byte for byte.
    private func literal(_ target: String) -> Literal? {
        let length = target.utf8.count
        guard length < literals.count else { return nil }
        return literals[length].first { $0.path.template.isSameBytes(as: target) }
    }

    /// Finds the path for decoded segments, and the segments that match its parameters.
    private func find(_ segments: [String]) -> (path: Path, parameters: [String])? {
        var current = 0
        var parameters: [String] = []
        for (index, segment) in segments.enumerated() {
            if let rest = nodes[current].rest, nodes[current].literals[segment] == nil {
                return (rest, parameters + [segments[index...].joined(separator: "/")])
            }
            if let next = nodes[current].literals[segment] {
                current = next
            } else if let (value, next) = nodes[current].verb(of: segment) {
                parameters.append(value)
                current = next
            } else if let next = nodes[current].parameter, !segment.isEmpty {
                parameters.append(segment)
                current = next
            } else {
                return nil
            }
        }
        return nodes[current].path.map { ($0, parameters) }
    }
}

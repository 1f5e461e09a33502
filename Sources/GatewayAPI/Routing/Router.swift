import HTTPServing
import HTTPTypes
import LibCrypto

/// Finds the route of a request by its segments, decoded once; literal segments go before
/// `{parameter}:verb`, and that before `{parameter}`.
final class Router: Sendable {
    /// What a target leads to.
    enum Match: Sendable {
        /// An operation and the segments that fill its template, in order.
        case route(Route, Path, parameters: [String])
        /// A path that exists, but not with this method.
        case otherMethod(Path)
        /// No such path.
        case none
    }

    /// One path with all its operations.
    final class Path: Sendable {
        let template: String
        let routes: [Route]
        /// Its place among all paths of the router.
        let number: Int

        fileprivate init(template: String, routes: [Route], number: Int) {
            self.template = template
            self.routes = routes
            self.number = number
        }

        /// What `Allow` lists: `GET` brings `HEAD`, and `OPTIONS` always works.
        var allowedMethods: [HTTPRequest.Method] {
            routes.map(\.method) + (routes.contains { $0.method == .get } ? [.head, .options] : [.options])
        }
    }

    /// A path without parameters, as most requests name it.
    private struct Literal: Sendable {
        var path: Path
        let target: RequestTarget
    }

    private struct Node: Sendable {
        var literals: [String: Int] = [:]
        var parameter: Int?
        /// By verb, what `{parameter}:verb` leads to.
        var verbs: [String: Int] = [:]
        var path: Path?
        /// What all paths that begin like this one lead to.
        var rest: Path?

        /// What stands before the verb of `value:verb`, and where that leads.
        func verb(of segment: String) -> (value: String, next: Int)? {
            guard !verbs.isEmpty, let colon = segment.utf8.lastIndex(of: UInt8(ascii: ":")), colon > segment.startIndex,
                let next = verbs[String(segment[segment.utf8.index(after: colon)...])]
            else { return nil }
            return (String(segment[..<colon]), next)
        }
    }

    private let nodes: [Node]
    /// Paths without parameters, by the number of bytes: of one length there are few.
    private let literals: [[Literal]]
    /// Every route, in the order given.
    let routes: [Route]
    /// Every path, by its number.
    let paths: [Path]

    /// Lays out routes.
    ///
    /// - Precondition: No two have the same method and template.
    init(_ routes: [Route]) {
        var layout = Layout()
        for route in routes { layout.insert(route) }
        self.routes = routes
        nodes = layout.nodes
        literals = layout.literals
        paths = layout.paths
    }

    /// Paths as they are laid out, one route after another.
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
                setLiteral(Literal(path: path, target: target))
            }
        }

        private mutating func setLiteral(_ literal: Literal) {
            let length = literal.path.template.utf8.count
            while literals.count <= length { literals.append([]) }
            literals[length].removeAll { $0.path.template == literal.path.template }
            literals[length].append(literal)
        }

        /// The node behind a segment of a template, made where there is none.
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

    private func literal(_ target: String) -> Literal? {
        let length = target.utf8.count
        guard length < literals.count else { return nil }
        return literals[length].first { $0.path.template.isSameBytes(as: target) }
    }

    /// The route of a raw target that is a template without parameters, byte for byte, as most targets are.
    func route(_ method: HTTPRequest.Method, literal target: String) -> Route? {
        literal(target)?.path.routes.first { $0.method == method }
    }

    /// Takes a raw target apart and finds what a method on it leads to; no target where it cannot be taken apart.
    func match(_ method: HTTPRequest.Method, raw: String) -> (target: RequestTarget?, match: Match) {
        if let literal = literal(raw) { return (literal.target, match(method, literal.path, [])) }
        let target = try? RequestTarget(raw)
        return (target, target.map { match(method, $0.segments) } ?? .none)
    }

    /// Finds what a method on decoded segments leads to. `HEAD` is answered by the route of `GET`.
    func match(_ method: HTTPRequest.Method, _ segments: [String]) -> Match {
        var current = 0
        var parameters: [String] = []
        for (index, segment) in segments.enumerated() {
            if let rest = nodes[current].rest {
                return match(method, rest, parameters + [segments[index...].joined(separator: "/")])
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
                return .none
            }
        }
        guard let path = nodes[current].path else { return .none }
        return match(method, path, parameters)
    }

    private func match(_ method: HTTPRequest.Method, _ path: Path, _ parameters: [String]) -> Match {
        let wanted = method == .head ? .get : method
        guard let route = path.routes.first(where: { $0.method == wanted }) else { return .otherMethod(path) }
        return .route(route, path, parameters: parameters)
    }
}

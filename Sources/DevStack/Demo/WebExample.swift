import EmbeddedFiles
public import HTTPServing
import HTTPTypes

/// Serves the example for browsers beside the gateway, at `/examples/web/`, and the client that it uses. The gateway
/// answers all other requests.
public final class WebExample: HTTPResponder {
    /// The path of the page.
    public static let path = "/examples/web/index.html"

    private let gateway: any HTTPResponder
    private let policy: String
    private let files: [String: [UInt8]]

    /// Serves the example in front of a gateway.
    ///
    /// - Parameters:
    ///   - gateway: What answers all other requests.
    ///   - store: Origin of the store to which the page may upload, such as `http://127.0.0.1:9000`.
    public init(before gateway: any HTTPResponder, store: String) {
        self.gateway = gateway
        policy = """
            default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' \(store); \
            img-src data: blob: \(store); base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """
        files = Dictionary(uniqueKeysWithValues: EmbeddedFile.examples.map { ("/" + $0.name, $0.bytes) })
    }

    /// A request for a file has no body.
    public func begin(_ head: RequestHead) -> RequestPlan {
        path(of: head) == nil ? gateway.begin(head) : RequestPlan(.collect(maxBytes: 0))
    }

    /// Answers with the file, or as the gateway does.
    public func respond(to request: ServerRequest) async -> ServerResponse {
        guard let path = path(of: request.head), let bytes = files[path] else {
            return await gateway.respond(to: request)
        }
        let fields: HeaderFields = [
            .contentType: Self.type(of: path), .cacheControl: "no-cache", .contentSecurityPolicy: policy,
            .xContentTypeOptions: "nosniff",
        ]
        return ServerResponse(head: ResponseHead(status: .ok, headerFields: fields), body: .bytes(bytes))
    }

    /// Answers as the gateway does.
    public func response(to failure: ServerFailure) -> ServerResponse { gateway.response(to: failure) }

    /// Answers as the gateway does.
    public func response(to failure: ServerFailure, of head: RefusedHead) -> ServerResponse {
        gateway.response(to: failure, of: head)
    }

    /// Answers as the gateway does.
    public func response(to failure: ServerFailure, of request: RefusedRequest) -> ServerResponse {
        gateway.response(to: failure, of: request)
    }

    /// The path of the file that a request asks for; `nil` if it asks for none.
    private func path(of head: RequestHead) -> String? {
        guard head.method == .get || head.method == .head else { return nil }
        let path = String(head.target.prefix { $0 != "?" })
        if path == "/examples/web/" { return Self.path }
        return files[path] == nil ? nil : path
    }

    private static func type(of path: String) -> String {
        switch path.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        default: "text/javascript; charset=utf-8"
        }
    }
}

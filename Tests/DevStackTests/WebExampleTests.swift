import Foundation
import HTTPServing
import HTTPTypes
import Testing

@testable import DevStack

@Suite("The example for browsers")
struct WebExampleTests {
    /// Stands for the gateway.
    private final class Gateway: HTTPResponder {
        func begin(_ head: RequestHead) -> RequestPlan { RequestPlan(.collect(maxBytes: 7)) }
        func respond(to request: ServerRequest) async -> ServerResponse {
            ServerResponse(head: ResponseHead(status: .accepted))
        }
        func response(to failure: ServerFailure) -> ServerResponse {
            ServerResponse(head: ResponseHead(status: .accepted))
        }
        func response(to failure: ServerFailure, of head: RefusedHead) -> ServerResponse {
            ServerResponse(head: ResponseHead(status: .created))
        }
    }

    private let example = WebExample(before: Gateway(), store: "http://127.0.0.1:9000")

    private func send(_ method: HTTPRequest.Method, _ target: String) async -> ServerResponse {
        let head = RequestHead(method: method, target: target)
        #expect((example.begin(head).body == .collect(maxBytes: 7)) == !Self.isFile(method, target))
        return await example.respond(to: ServerRequest(head: head))
    }

    private static func isFile(_ method: HTTPRequest.Method, _ target: String) -> Bool {
        method == .get && (target.hasPrefix("/examples/web/") || target == "/clients/javascript/sluice.js")
            && !target.hasSuffix(".md") && !target.contains("..")
    }

    @Test(arguments: [
        ("/examples/web/index.html?a=b", "examples/web/index.html", "text/html; charset=utf-8"),
        ("/examples/web/", "examples/web/index.html", "text/html; charset=utf-8"),
        ("/examples/web/app.js", "examples/web/app.js", "text/javascript; charset=utf-8"),
        ("/examples/web/style.css", "examples/web/style.css", "text/css; charset=utf-8"),
        ("/clients/javascript/sluice.js", "clients/javascript/sluice.js", "text/javascript; charset=utf-8"),
    ])
    func `files are served as they stand in the repository`(_ target: String, _ name: String, _ type: String)
        async throws
    {
        let answer = await send(.get, target)
        let file = URL(filePath: #filePath).appending(path: "../../../\(name)").standardized
        guard case .bytes(let bytes) = answer.body else {
            Issue.record("the file is not sent as it is")
            return
        }
        let expected = Array(try Data(contentsOf: file))
        #expect(answer.head.status == .ok && bytes == expected)
        #expect(answer.head.headerFields[.contentType] == type)
        #expect(
            answer.head.headerFields[.contentSecurityPolicy]
                == "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' http://127.0.0.1:9000; "
                + "img-src data: blob: http://127.0.0.1:9000; base-uri 'none'; form-action 'none'; "
                + "frame-ancestors 'none'")
    }

    @Test(
        arguments: [
            (.get, "/v1/access"), (.get, "/examples/web"), (.get, "/examples/web/README.md"),
            (.get, "/examples/web/../web/"),
            (.post, "/examples/web/app.js"), (.get, "/"),
        ] as [(HTTPRequest.Method, String)])
    func `the gateway answers everything else`(_ method: HTTPRequest.Method, _ target: String) async {
        #expect(await send(method, target).head.status == .accepted)
        #expect(example.response(to: .uriTooLong, of: RefusedHead(target: target)).head.status == .created)
    }
}

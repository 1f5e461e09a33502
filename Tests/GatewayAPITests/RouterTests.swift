import HTTPServing
import HTTPTypes
import Testing

@testable import GatewayAPI

@Suite("Router")
struct RouterTests {
    private static func route(_ method: HTTPRequest.Method, _ template: String) -> Route {
        Route(public: method, template) { _ in ServerResponse(head: ResponseHead(status: .ok)) }
    }

    private let router = Router([
        route(.get, "/v1/things"), route(.post, "/v1/things"), route(.get, "/v1/things/{id}"),
        route(.post, "/v1/things:apply"), route(.get, "/v1/things/{id}/parts/{part}"), route(.get, "/v1/things/mine"),
        route(.post, "/v1/things/{id}:confirm"),
    ])

    private func found(_ method: HTTPRequest.Method, _ raw: String) throws -> String {
        let target = try RequestTarget(raw)
        switch router.match(method, target.segments) {
        case .route(let route, _, let parameters): return ([route.template] + parameters).joined(separator: " ")
        case .otherMethod(let path): return "not " + path.allowedMethods.map(\.rawValue).joined(separator: " ")
        case .none: return "none"
        }
    }

    @Test(
        "finds the operation by decoded segments",
        arguments: [
            (.get, "/v1/things", "/v1/things"), (.get, "/v1/things?x=1", "/v1/things"),
            (.head, "/v1/things", "/v1/things"), (.get, "/v1/%74hings", "/v1/things"),
            (.get, "/v1/things/a", "/v1/things/{id} a"), (.get, "/v1/things/mine", "/v1/things/mine"),
            (.get, "/v1/things/a%2Fb", "/v1/things/{id} a/b"), (.get, "/v1/things/%2e%2e", "/v1/things/{id} .."),
            (.get, "/v1/things/a%252Fb", "/v1/things/{id} a%2Fb"),
            (.get, "/v1/things/a/parts/%C3%A9", "/v1/things/{id}/parts/{part} a é"),
            (.post, "/v1/things:apply", "/v1/things:apply"), (.get, "/v1/things/group:x", "/v1/things/{id} group:x"),
            (.post, "/v1/things/a:confirm", "/v1/things/{id}:confirm a"),
            (.post, "/v1/things/a:b:confirm", "/v1/things/{id}:confirm a:b"),
            (.get, "/v1/things/a:confirm", "not POST OPTIONS"),
            (.get, "/v1/things/:confirm", "/v1/things/{id} :confirm"),
            (.get, "/v1/things/a:confirms", "/v1/things/{id} a:confirms"),
            (.get, "/v1/things/a:confirm/parts/1", "none"),
            (.put, "/v1/things", "not GET POST HEAD OPTIONS"), (.options, "/v1/things:apply", "not POST OPTIONS"),
            (.get, "/v1/things/", "none"), (.get, "/v1//things", "none"), (.get, "/v1/things/a/", "none"),
            (.get, "/", "none"), (.get, "/v1", "none"), (.get, "/V1/things", "none"),
            (.get, "/v1/things/a/parts", "none"),
            (.get, "/v1/../v1/things", "none"), (.get, "/v1%2Fthings", "none"),
        ] as [(HTTPRequest.Method, String, String)]
    )
    func matches(method: HTTPRequest.Method, raw: String, expected: String) throws {
        #expect(try found(method, raw) == expected)
    }
}

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
        let match = router.match(method, raw)
        _ = try #require(match.target)
        guard let path = match.path else { return "none" }
        guard let route = match.route else {
            return "not " + path.allowedMethods.map(\.rawValue).joined(separator: " ")
        }
        #expect(route.template == path.template && match.template == path.template)
        return ([route.template] + match.parameters).joined(separator: " ")
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

    @Test("what most targets lead to is found without anything being made for it")
    func literals() {
        #expect(router.match(.get, "/v1/things") === router.match(.get, "/v1/things"))
        #expect(router.match(.head, "/v1/things") === router.match(.get, "/v1/things"))
        #expect(router.match(.get, "/v1/things").target?.segments == ["v1", "things"])
        #expect(router.match(.get, "/v1/things").route?.method == .get)
        #expect(router.match(.post, "/v1/things").route?.method == .post)
    }

    @Test("a target that cannot be read leads nowhere", arguments: ["", "*", "v1/things", "/%zz", "/v1/things%00"])
    func unreadable(raw: String) {
        let match = router.match(.get, raw)
        #expect(match.target == nil && match.path == nil && match.route == nil && match.template == "none")
    }
}

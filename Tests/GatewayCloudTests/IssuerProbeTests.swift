import GatewayCore
import HTTPServing
import HTTPTesting
import HTTPTypes
import Testing

@testable import GatewayCloud

/// What a token endpoint is asked when an issuer is checked, on real sockets.
@Suite struct IssuerProbeTests {
    private static let origin = "https://sluice.example"

    /// A token endpoint that refuses every code, and permits an origin as the test says.
    private func peer(_ permitted: String?, preflight: Int = 204, status: Int = 400) -> StandIn {
        StandIn { request in
            var fields: HeaderFields = [.contentType: "application/json"]
            fields[.accessControlAllowOrigin] = permitted
            let isPreflight = request.head.method == .options
            return ServerResponse(
                head: ResponseHead(
                    status: HTTPResponse.Status(code: isPreflight ? preflight : status), headerFields: fields),
                body: .bytes(isPreflight ? [] : Array(#"{"error":"invalid_grant"}"#.utf8)))
        }
    }

    private func ask(
        _ peer: StandIn, clientID: String = "console", origin: String? = origin, path: String = "/token?tenant=1"
    ) async throws -> TokenEndpointAnswer {
        try await peer.serve { address in
            let client = OutboundClient(policy: try OutboundPolicy(origins: [address]))
            return await IssuerProbe(client: client).exchange(at: address + path, clientID: clientID, origin: origin)
        }
    }

    @Test func `it is asked as the console asks, with a code that nobody issued`() async throws {
        let peer = peer("https://sluice.example")
        let answer = try await ask(peer, clientID: "cön sole&x=1")
        #expect(answer.status == 400 && answer.permitsOrigin && answer.preflightPermitsOrigin)
        #expect(answer.content == .success(Array(#"{"error":"invalid_grant"}"#.utf8)))
        let asked = try #require(peer.requests.first { $0.head.method == .post })
        let exchange = asked.head
        #expect(exchange.target == "/token?tenant=1" && exchange.headerFields[.origin] == Self.origin)
        #expect(exchange.headerFields[.contentType] == "application/x-www-form-urlencoded")
        #expect(exchange.headerFields[.authorization] == nil)
        let form = String(decoding: asked.body, as: UTF8.self).split(separator: "&")
        #expect(form.contains("grant_type=authorization_code") && form.contains("client_id=c%C3%B6n%20sole%26x%3D1"))
        #expect(form.contains("redirect_uri=https%3A%2F%2Fsluice.example%2Fconsole%2F"))
        let verifier = try #require(form.first { $0.hasPrefix("code_verifier=") }).dropFirst(14)
        #expect(43...128 ~= verifier.count, "RFC 7636, section 4.1")
        #expect(!form.contains { $0.hasPrefix("client_secret") })
        let preflight = try #require(peer.heads.first { $0.method == .options })
        #expect(preflight.headerFields[.origin] == Self.origin)
        #expect(preflight.headerFields[.accessControlRequestMethod] == "POST")
    }

    @Test func `only the origin itself or any origin is a permission`() async throws {
        for (permitted, isPermitted) in [
            (nil, false), ("*", true), (Self.origin, true), ("https://other.example", false), ("null", false),
            ("https://sluice.example/", false),
        ] as [(String?, Bool)] {
            let answer = try await ask(peer(permitted))
            #expect(answer.permitsOrigin == isPermitted && answer.preflightPermitsOrigin == isPermitted)
        }
        #expect(try await !ask(peer("*", preflight: 405)).preflightPermitsOrigin)
        let silent = peer("*")
        let answer = try await ask(silent, origin: nil)
        #expect(!answer.permitsOrigin && !answer.preflightPermitsOrigin)
        #expect(silent.heads.map(\.method) == [.post], "without an origin there is nothing to preflight")
    }

    @Test func `addresses that are not allowed are not asked`() async throws {
        let peer = peer("*")
        let answer = try await peer.serve { address in
            let client = OutboundClient(policy: try OutboundPolicy())
            return await IssuerProbe(client: client).exchange(
                at: address.replacing("http://", with: "https://"), clientID: "c", origin: Self.origin)
        }
        #expect(answer.content == .failure(.blocked) && answer.status == nil && peer.requests.isEmpty)
    }
}

import GatewayCore
import HTTPServing
import HTTPTypes
import Testing

@testable import GatewayAPI

@Suite("Where a request comes from")
struct TrustedProxyTests {
    private func source(
        _ field: TrustedProxies.Field, _ name: HTTPField.Name, _ values: [String], peer: String = "10.0.0.1"
    ) throws -> IPAddress? {
        let networks = try ["10.0.0.0/8", "2001:db8:f::/48"].map { try #require(IPNetwork($0)) }
        var headers = HeaderFields()
        headers[values: name] = values
        return TrustedProxies(networks: networks, field: field).source(of: try #require(IPAddress(peer)), headers)
    }

    @Test(
        "is the right-most address of X-Forwarded-For that is no trusted proxy's",
        arguments: [
            (["203.0.113.1"], "203.0.113.1"), (["198.51.100.9, 203.0.113.1"], "203.0.113.1"),
            (["203.0.113.1, 10.0.0.2"], "203.0.113.1"), (["203.0.113.1", "10.0.0.2"], "203.0.113.1"),
            (["10.0.0.3, 10.0.0.2"], "10.0.0.3"), ([], "10.0.0.1"), (["203.0.113.1:4711"], "203.0.113.1"),
            (["2001:db8::1"], "2001:db8::1"), (["[2001:db8::1]:80, 2001:db8:f::7"], "2001:db8::1"),
            (["203.0.113.1, unknown"], nil), (["203.0.113.1,"], nil), ([""], nil), (["1.2.3"], nil), (["[::1"], nil),
            (["evil, 203.0.113.1"], "203.0.113.1"), (["198.51.100.9\u{600}, 203.0.113.1"], "203.0.113.1"),
            (["203.0.113.1, 198.51.100.9\u{600}"], nil),
        ] as [([String], String?)]
    )
    func forwardedFor(values: [String], expected: String?) throws {
        #expect(try source(.xForwardedFor, .forwardedFor, values) == expected.flatMap { IPAddress($0) })
    }

    @Test(
        "is read from Forwarded where that is configured",
        arguments: [
            (["for=203.0.113.1"], "203.0.113.1"),
            (["For=\"[2001:db8::1]:4711\";proto=https, for=10.0.0.2"], "2001:db8::1"),
            (["for=\"a,b\", for=203.0.113.1"], "203.0.113.1"), (["for=\"\u{600}\", for=203.0.113.1"], "203.0.113.1"),
            (["for=203.0.113.1;for=198.51.100.1"], nil),
            // What a client writes before the proxy's own element does not hide that one.
            (["for=198.51.100.7;x=\"\\\"\", for=203.0.113.1"], "203.0.113.1"),
            (["for=198.51.100.7;x=\", for=203.0.113.1"], nil), (["for=198.51.100.7;x=\"\\\", for=203.0.113.1"], nil),
            (["for=198.51.100.7;x=\", for=\"[2001:db8::1]\""], nil),
            (["proto=https"], nil), (["for=unknown"], nil), (["for=_hidden"], nil), (["for=\""], nil),
        ] as [([String], String?)]
    )
    func forwarded(values: [String], expected: String?) throws {
        #expect(try source(.forwarded, .forwarded, values) == expected.flatMap { IPAddress($0) })
    }

    @Test("is the peer, whatever it says, unless the peer is trusted; the field that is not configured is not read")
    func untrusted() throws {
        #expect(
            try source(.xForwardedFor, .forwardedFor, ["10.0.0.9"], peer: "203.0.113.5") == IPAddress("203.0.113.5"))
        #expect(try source(.xForwardedFor, .forwarded, ["for=203.0.113.1"]) == IPAddress("10.0.0.1"))
    }
}

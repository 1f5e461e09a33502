import Foundation
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@testable import GatewayAPI
@testable import GatewayCore

@Suite struct `Traces that callers began` {
    private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00-\(traceID)-00f067aa0ba902b7-01"

    private func trace(_ fields: [(String, String)]) async -> TraceContext? {
        let gateway = TestGateway()
        var headers = HeaderFields()
        for (name, value) in fields { HTTPField.Name(name).map { headers.append($0, value) } }
        #expect(await gateway.send(.get, "/healthz", headers: headers).status == 200)
        return gateway.requestLog.requests.withLock { $0.last?.trace }
    }

    @Test func `a request has its caller's trace and a span of its own in its line`() async throws {
        let trace = try #require(await trace([("TraceParent", Self.parent)]))
        #expect(trace.traceID == Self.traceID && trace.spanID != "00f067aa0ba902b7")
        #expect(trace.spanID.utf8.count == 16 && trace.isSampled && trace.state == nil)
        #expect(trace.parent == "00-\(Self.traceID)-\(trace.spanID)-01")
    }

    @Test func `a request without one has none`() async {
        #expect(await trace([]) == nil)
        #expect(await trace([("tracestate", "a=b")]) == nil)
    }

    @Test(arguments: [
        "", "00", "00-\(traceID)-00f067aa0ba902b7", "00-\(traceID)-00f067aa0ba902b7-1",
        "00-\(traceID)-00f067aa0ba902b7-01-", "00-\(traceID)-00f067aa0ba902b7-01-more",
        "00-\(traceID)-00f067aa0ba902b7-0g", "ff-\(traceID)-00f067aa0ba902b7-01",
        "0-\(traceID)-00f067aa0ba902b7-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-\(traceID)-0000000000000000-01", "00-\(traceID.uppercased())-00f067aa0ba902b7-01",
        "00_\(traceID)-00f067aa0ba902b7-01", "00-\(traceID)_00f067aa0ba902b7-01", "01-\(traceID)-00f067aa0ba902b7-01x",
        "00-\(traceID)-00f067aa0ba902b7-01,00-\(traceID)-00f067aa0ba902b7-01", "00-\(traceID) -0f067aa0ba902b7-01",
        "0g-\(traceID)-00f067aa0ba902b7-01", "00-é\(traceID.dropFirst(2))-00f067aa0ba902b7-01",
    ])
    func `one that breaks the rules is ignored`(value: String) async {
        #expect(await trace([("traceparent", value)]) == nil)
    }

    @Test func `two of them are none, even if they are the same`() async {
        #expect(await trace([("traceparent", Self.parent), ("traceparent", Self.parent)]) == nil)
    }

    @Test func `a later version may say more, and only whether it is sampled is passed on`() async throws {
        for (value, isSampled) in [
            ("01-\(Self.traceID)-00f067aa0ba902b7-ff", true), ("fe-\(Self.traceID)-00f067aa0ba902b7-02-more", false),
        ] {
            let trace = try #require(await trace([("traceparent", value)]))
            #expect(trace.isSampled == isSampled)
            #expect(trace.parent == "00-\(Self.traceID)-\(trace.spanID)-\(isSampled ? "01" : "00")")
        }
    }

    @Test func `what other systems noted is kept as it came`() async throws {
        let fields = [
            ("traceparent", Self.parent), ("tracestate", "rojo=1,  b@c=x y"), ("tracestate", "congo=t61rcWkgMzE"),
        ]
        #expect(try #require(await trace(fields)).state == "rojo=1,  b@c=x y,congo=t61rcWkgMzE")
        #expect(try #require(await trace([("traceparent", Self.parent), ("tracestate", "é=1")])).state == nil)
    }

    /// A tab is as good as a space between the members, and no other server gets one.
    @Test func `what other systems noted has spaces for tabs, and 512 bytes at most`() async throws {
        func state(_ text: String) async throws -> String? {
            try #require(await trace([("traceparent", Self.parent), ("tracestate", text)])).state
        }
        #expect(try await state("a=1,\tb=2") == "a=1, b=2")
        let long = "a=" + String(repeating: "x", count: 510)
        #expect(try await state(long) == long)
        #expect(try await state(long + "x") == nil)
    }

    @Test func `the use cases of a request run in its trace, and those of others do not`() async throws {
        let seen = Mutex<[String?]>([])
        var parts = TestGateway().parts
        parts.advancePolicy = { () async throws(GatewayError) in
            seen.withLock { $0.append(TraceContext.current?.traceID) }
        }
        let responder = APIResponder(parts, APISettings(), on: .everything)
        for parent in [Self.parent, nil] {
            var fields: HeaderFields = [.authorization: "Bearer admin-token"]
            if let parent { fields[.traceParent] = parent }
            let head = RequestHead(method: .get, target: "/admin/v1/caller", headerFields: fields)
            let request = ServerRequest(head: head, body: .collected([]), remoteAddress: "192.0.2.7")
            _ = await responder.respond(to: request)
        }
        #expect(seen.withLock { $0 } == [Self.traceID, nil])
    }
}

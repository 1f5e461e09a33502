import Foundation
import HTTPServing
import HTTPTypes
import MicroHTTPD
import Synchronization
import Testing

/// Traces that callers begin, from the request to the log and to the stores.
@Suite(.timeLimit(.minutes(2))) struct TraceTests {
    private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let fields = [
        (name: "traceparent", value: "00-\(traceID)-00f067aa0ba902b7-01"),
        (name: "tracestate", value: "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
    ]

    /// A store that has no object, and records the heads of requests.
    private final class Store: HTTPResponder {
        private let seen = Mutex<[RequestHead]>([])

        var heads: [RequestHead] { seen.withLock { $0 } }

        func begin(_ head: RequestHead) -> RequestPlan { RequestPlan(.collect(maxBytes: 1 << 16)) }

        func respond(to request: ServerRequest) async -> ServerResponse {
            seen.withLock { $0.append(request.head) }
            return ServerResponse(head: ResponseHead(status: .notFound))
        }

        func response(to failure: ServerFailure) -> ServerResponse {
            ServerResponse(head: ResponseHead(status: failure.status))
        }
    }

    @Test func `a trace is in the log and in requests to stores, and in no link`() async throws {
        let store = Store()
        try await store.serve { origin in
            try await Deployment.with(settings: ["SLUICE_OUTBOUND_ALLOW": origin]) { site in
                try await site.makeBucket("traced", endpoint: origin)
                let user = try await site.makeUser("alice")
                try await site.grant(["PutObject"], to: user.principal, in: "traced")
                let upload: JSON = [
                    "action": "PutObject", "bucket": "traced", "key": "k", "contentType": "image/png",
                    "contentLength": 3,
                ]
                let issued = try await user.ask(upload, headers: Self.fields)
                #expect(issued.status == 201, "\(issued.text)")
                for text in [Self.traceID, "traceparent", "tracestate", "rojo"] {
                    #expect(!issued.text.lowercased().contains(text))
                }
                let id = try #require(issued.json["id"].text)
                for fields in [Self.fields, []] {
                    _ = try await user.client.call("POST", "/v1/issuances/\(id):confirm", headers: fields)
                }
                try await waitUntil("both have lines") { site.log.split(separator: ":confirm ").count > 2 }
                let lines = site.log.split(separator: "\n").filter { $0.contains(":confirm ") }
                let span = try #require(lines[0].firstMatch(of: #/ spanId=([0-9a-f]{16}) .* traceId=([0-9a-f]{32}) /#))
                #expect(span.2 == Self.traceID && span.1 != "00f067aa0ba902b7")
                #expect(!lines[1].contains("spanId") && !lines[1].contains("traceId"))
                let heads = store.heads
                try #require(heads.count == 2)
                let told = heads.map { head in
                    ["traceparent", "tracestate"].map { HTTPField.Name($0).flatMap { head.headerFields[$0] } }
                }
                #expect(told == [["00-\(Self.traceID)-\(span.1)-01", Self.fields[1].value], [nil, nil]])
                #expect(heads.allSatisfy { !$0.target.contains(Self.traceID) && !$0.target.contains("traceparent") })
            }
        }
    }
}

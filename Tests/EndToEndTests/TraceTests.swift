import Foundation
import HTTPServing
import HTTPTesting
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Traces that callers begin, from the request to the log and to the stores.
@Suite(.timeLimit(.minutes(2))) struct TraceTests {
    private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let fields = [
        (name: "traceparent", value: "00-\(traceID)-00f067aa0ba902b7-01"),
        (name: "tracestate", value: "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
    ]

    /// A store that has no object, its token service, which fails now and then, and an issuer's key set.
    private static func store(keySet: [UInt8] = []) -> StandIn {
        let attempts = Atomic(0)
        return StandIn { request in
            switch request.head.method {
            case .get: return ServerResponse(head: ResponseHead(status: .ok), body: .bytes(keySet))
            case .post:
                // The first attempt of each session fails.
                let attempt = attempts.add(1, ordering: .relaxed).newValue
                guard attempt.isMultiple(of: 2) else { return .bytes("", status: .internalServerError) }
                return .bytes(assumedRole(accessKeyID: "ASIA1"))
            default: return .bytes("", status: .notFound)
            }
        }
    }

    @Test func `a trace is in the log and in requests to stores, and in no link`() async throws {
        let store = Self.store()
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

    @Test func `each attempt at a store's or an issuer's server is in the trace of its request, and no secret is`()
        async throws
    {
        let issuer = try await TokenTests.TokenIssuer("https://id.example")
        let store = Self.store(keySet: try await issuer.keySet().bytes)
        try await store.serve { origin in
            try await Deployment.with(settings: ["SLUICE_OUTBOUND_ALLOW": origin]) { site in
                let secret = "secret-\(UUID().uuidString)"
                site.keepSecret(secret)
                let role: JSON = [
                    "roleARN": "arn:aws:iam::123456789012:role/app", "service": "aws", "endpoint": "\(origin)",
                    "region": "eu-west-1",
                ]
                let credential = try await site.create(
                    "storage-credentials",
                    ["name": "main", "accessKeyID": "AKID", "secretAccessKey": "\(secret)", "sessionRole": role])
                try await site.create(
                    "buckets",
                    [
                        "name": "traced", "endpoint": "\(origin)", "region": "eu-west-1", "addressing": "path",
                        "credentialID": credential["id"],
                    ])
                try await site.create(
                    "issuers",
                    [
                        "issuer": "https://id.example", "audiences": ["sluice"], "algorithms": ["RS256"],
                        "principalPrefix": "id:", "groupPrefix": "id:", "keys": ["url": "\(origin)/keys"],
                    ])
                let user = try await site.makeUser("alice")
                // Sessions bind neither the headers of answers nor versions.
                try await site.grant(
                    ["GetObject"], to: user.principal, in: "traced",
                    options: ["conditions": ["allowResponseContentType": true, "allowVersions": true]])
                let token = try await issuer.token([:])
                site.keepSecret(token)

                // A caller that repeats a request repeats the fields as well.
                for prefix in ["a/", "b/"] {
                    let answer = try await user.client.call(
                        "POST", "/v1/sts", ["bucket": "traced", "prefix": "\(prefix)", "actions": ["GetObject"]],
                        headers: Self.fields)
                    #expect([200, 201].contains(answer.status), "\(answer.text)")
                }
                _ = try await site.client(token: token).ask(.download("k", from: "traced"), headers: Self.fields)
                // In no trace.
                _ = try await user.client.call(
                    "POST", "/v1/sts", ["bucket": "traced", "prefix": "c/", "actions": ["GetObject"]])

                let heads = store.heads
                try #require(heads.map(\.method) == [.post, .post, .post, .post, .get, .post, .post])
                let parents = heads.map { $0.headerFields[HTTPField.Name("traceparent")!] }
                let form = #/00-([0-9a-f]{32})-([0-9a-f]{16})-01/#
                let spans = try parents.prefix(5).map { parent in
                    let match = try #require(parent?.wholeMatch(of: form), "\(parent ?? "")")
                    #expect(match.1 == Self.traceID && match.2 != "00f067aa0ba902b7")
                    return String(match.2)
                }
                #expect(parents.suffix(2) == [nil, nil])
                // Both attempts for a request have its span; other requests have others.
                #expect(spans[0] == spans[1] && spans[2] == spans[3] && Set(spans).count == 3)
                for head in heads {
                    let state = head.headerFields[HTTPField.Name("tracestate")!]
                    #expect(state == nil || state == Self.fields[1].value)
                    for hidden in [secret, token, user.client.token] { #expect(!"\(head)".contains(hidden)) }
                }
                // The lines of the attempts that failed, and those of the requests, name the same.
                try await waitUntil("every request has a line") {
                    Set(spans).allSatisfy { span in
                        site.log.split(separator: "\n").contains {
                            $0.contains("Request answered") && $0.contains("spanId=\(span)")
                        }
                    }
                }
                func failures() -> [Substring] {
                    site.log.split(separator: "\n").filter { $0.contains("session not opened") }
                }
                try await waitUntil("every failure has a line") { failures().count >= 3 }
                let failures = failures()
                try #require(failures.count == 3)
                #expect(failures[0].contains("spanId=\(spans[0]) ") && failures[1].contains("spanId=\(spans[2]) "))
                #expect(!failures[2].contains("spanId"))
            }
        }
    }
}

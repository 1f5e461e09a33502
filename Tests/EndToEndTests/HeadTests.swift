import HTTPTesting
import Testing

/// How much the heads of requests and answers may take.
@Suite struct HeadTests {
    @Test func `the setting moves the limit, and the refusal says it`() async throws {
        try await Deployment.with(settings: ["SLUICE_HTTP_MAX_HEAD": "64"]) { site in
            try await withConnection(to: site.gateways[0].port) { connection in
                for (length, status) in [(60_000, 200), (66_000, 431)] {
                    let filler = String(repeating: "a", count: length)
                    try connection.send("GET /healthz HTTP/1.1\r\nHost: a\r\nX-Filler: \(filler)\r\n\r\n")
                    let answer = try connection.response()
                    #expect(answer.status == status)
                    if status == 431 { #expect(Answer(answer).json["maxBytes"].integer == 65_536) }
                }
            }
        }
    }

    /// The path and the header of the request and the link in the answer are longer together than what a connection
    /// holds.
    @Test func `a redirect arrives, however long the link`() async throws {
        try await Deployment.with { site in
            try await site.makeBucket("heads", options: ["allowsRedirects": true])
            let user = try await site.makeUser("heads")
            try await site.grant(["GetObject"], to: user.principal, in: "heads")
            let key = String(repeating: "%25", count: 1_023)
            for length in [1_000, 4_000, 4_500] {
                try await withConnection(to: site.gateways[0].port) { connection in
                    let filler = String(repeating: "a", count: length)
                    try connection.send(
                        "GET /v1/objects/heads/\(key) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(user.client.token)\r\n"
                            + "X-Filler: \(filler)\r\n\r\n")
                    let answer = try connection.response()
                    #expect(answer.status == 303, "\(answer.text)")
                    #expect(answer["Location"]?.contains("/\(key)?") == true)
                }
            }
        }
    }
}

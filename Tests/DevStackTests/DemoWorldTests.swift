import Foundation
import HTTPServing
import HTTPTypes
import Signing
import Testing

@testable import DevStack

@Suite struct DemoWorldTests {
    @Test func `the printed lines, pasted into bash, upload and download`() async throws {
        let fixture = try StoreFixture(now: Boto.now)
        try await withServer(fixture.store) { storePort in
            let gateway = StandInGateway(fixture: fixture, storePort: storePort, token: "it's a $token")
            try await withServer(gateway) { port in
                let origin = "http://127.0.0.1:\(port)"
                let lines = DemoWorld.commands(gateway: origin, token: "it's a $token")
                #expect(lines.count == 3)
                let outcome = try await bash(lines.joined(separator: "\n"))
                let output = outcome.output.split(separator: "\n")
                try #require(outcome.succeeded && output.count == 7, "\(outcome.output)")
                #expect(output[0].hasPrefix("http://127.0.0.1:\(storePort)/demo/users/alice/hello.txt?"))
                #expect(output[1] == "200")
                #expect(output[2].hasPrefix("http://127.0.0.1:\(storePort)/demo/users/alice/hello.txt?"))
                #expect(output[3...] == ["Hello from Sluice", "200", "201", "201"])

                let printed = DemoWorld.instructions(
                    gateway: origin, token: "it's a $token", strangerToken: "s",
                    store: "http://127.0.0.1:\(storePort)")
                for line in lines { #expect(printed.contains("\n\(line)\n")) }

                let refused = try await bash(DemoWorld.commands(gateway: origin, token: "other")[0])
                #expect(!refused.output.contains("X-Amz-Signature") && refused.output.contains("403"))
            }
        }
    }

    @Test func `the greeting has lines that name the gateway and the keys, at the usual address too`() throws {
        let keys = try JSONDecoder().decode(
            DemoKeys.self,
            from: Data(
                #"""
                {"masterKey":"m","adminKey":"admin","userToken":"user","strangerToken":"s","storeAccessKeyID":"i",
                "storeSecretAccessKey":"k"}
                """#.utf8))
        let lines = Greeting.exports(gateway: "http://127.0.0.1:8080", keys: keys).split(separator: "\n")
        #expect(
            lines.filter { $0.hasPrefix("export ") } == [
                "export SLUICE_ADMIN_URL=http://127.0.0.1:8080", "export SLUICE_ADMIN_KEY=admin",
                "export SLUICE_URL=http://127.0.0.1:8080", "export SLUICE_KEY=user",
            ])
    }

    private func bash(_ script: String) async throws -> Command.Outcome {
        // Nothing listens there.
        try await Command(["/bin/bash"], variables: ["http_proxy": "http://127.0.0.1:1"]).run(input: script + "\n")
    }
}

/// Answers as the gateway documents, for a caller that knows the token.
private final class StandInGateway: HTTPResponder {
    private struct Asked: Decodable {
        let action: String
        let bucket: String
        let key: String
        let contentType: String?
        let contentLength: Int?
    }

    let fixture: StoreFixture
    let storePort: UInt16
    let token: String

    init(fixture: StoreFixture, storePort: UInt16, token: String) {
        self.fixture = fixture
        self.storePort = storePort
        self.token = token
    }

    func begin(_ head: RequestHead) -> RequestPlan { RequestPlan(.collect(maxBytes: 1024)) }

    func respond(to request: ServerRequest) async -> ServerResponse {
        guard request.head.headerFields[.authorization] == "Bearer \(token)",
            case .collected(let bytes) = request.body,
            let url = try? link(JSONDecoder().decode(Asked.self, from: Data(bytes)))
        else { return ServerResponse(head: ResponseHead(status: .forbidden)) }
        let answer = #"{"id":"1","method":"PUT","url":"\#(url)","headers":{"content-type":"text/plain"}}"#
        return ServerResponse(head: ResponseHead(status: .created), body: .bytes(Array(answer.utf8)))
    }

    func response(to failure: ServerFailure) -> ServerResponse {
        ServerResponse(head: ResponseHead(status: failure.status))
    }

    private func link(_ asked: Asked) throws -> String {
        var bound: [String: String] = [:]
        bound["content-type"] = asked.contentType
        bound["content-length"] = asked.contentLength.map(String.init)
        return try fixture.url(
            asked.action == "PutObject" ? .put : .get, asked.key, bound: bound, bucket: asked.bucket,
            authority: "127.0.0.1:\(storePort)", at: Boto.now())
    }
}

import Foundation
import HTTPServing
import HTTPTesting
import HTTPTypes
import Signing
import Testing

@testable import DevStack

@Suite struct DemoWorldTests {
    @Test func `the printed lines, pasted into bash, upload and download`() async throws {
        let fixture = try StoreFixture(now: Boto.now)
        try await fixture.store.serve { store in
            try await gateway(fixture, at: store, token: "it's a $token").serve { origin in
                let lines = DemoWorld.commands(gateway: origin, token: "it's a $token")
                #expect(lines.count == 3)
                let outcome = try await bash(lines.joined(separator: "\n"))
                let output = outcome.output.split(separator: "\n")
                try #require(outcome.succeeded && output.count == 7, "\(outcome.output)")
                #expect(output[0].hasPrefix("\(store)/demo/users/alice/hello.txt?"))
                #expect(output[1] == "200")
                #expect(output[2].hasPrefix("\(store)/demo/users/alice/hello.txt?"))
                #expect(output[3...] == ["Hello from Sluice", "200", "201", "201"])

                let printed = DemoWorld.instructions(
                    gateway: origin, token: "it's a $token", strangerToken: "s", store: store)
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

    /// Answers as the gateway documents, for a caller that knows the token.
    private func gateway(_ fixture: StoreFixture, at store: String, token: String) -> StandIn {
        StandIn { request in
            guard request.head.headerFields[.authorization] == "Bearer \(token)",
                let asked = try? JSONDecoder().decode(Asked.self, from: Data(request.body)),
                let url = try? fixture.url(
                    asked.action == "PutObject" ? .put : .get, asked.key, bound: asked.bound, bucket: asked.bucket,
                    origin: store, at: Boto.now())
            else { return .bytes("", status: .forbidden) }
            let answer = #"{"id":"1","method":"PUT","url":"\#(url)","headers":{"content-type":"text/plain"}}"#
            return .bytes(answer, status: .created)
        }
    }

    private struct Asked: Decodable {
        let action: String
        let bucket: String
        let key: String
        let contentType: String?
        let contentLength: Int?

        /// The header fields to which the URL is bound.
        var bound: [String: String] {
            var bound: [String: String] = [:]
            bound["content-type"] = contentType
            bound["content-length"] = contentLength.map(String.init)
            return bound
        }
    }

    private func bash(_ script: String) async throws -> Command.Outcome {
        // Nothing listens there.
        try await Command(["/bin/bash"], variables: ["http_proxy": "http://127.0.0.1:1"]).run(input: script + "\n")
    }
}

import Foundation
import HTTPTesting
import HTTPTypes
import Testing

@testable import DevStack

@Suite struct StoreOverSocketTests {
    /// Runs curl; returns its output, with the status of the answer as the last line.
    private func curl(_ arguments: [String]) async throws -> [Substring] {
        let words = ["/usr/bin/curl", "-sS", "--path-as-is", "-w", "\n%{http_code}"] + arguments
        return try await Command(words).run().output.replacing("\r\n", with: "\n")
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    @Test func `a large body streams in and out unchanged`() async throws {
        let fixture = try StoreFixture()
        let file = "\(fixture.directory)/large"
        let made = try await Command(["/bin/dd", "if=/dev/urandom", "of=\(file)", "bs=1M", "count=64"]).run()
        try #require(made.succeeded, "\(made.output)")
        try await fixture.store.serve { origin in
            let put = try fixture.url(.put, "large", origin: origin)
            #expect(try await curl(["-T", file, put]).last == "200")
            let get = try fixture.url(.get, "large", origin: origin)
            let copy = "\(fixture.directory)/copy"
            #expect(try await curl(["-o", copy, get]).last == "200")
            #expect(try await Command(["/usr/bin/cmp", file, copy]).run().succeeded)
        }
    }

    @Test func `a client that hangs up leaves nothing behind`() async throws {
        let fixture = try StoreFixture()
        try await fixture.store.serve { origin in
            let url = try fixture.url(.put, "k", origin: origin)
            let path = try #require(url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true).last)
            let port = origin.split(separator: ":")[2]
            let script = """
                exec 3<>/dev/tcp/127.0.0.1/\(port)
                printf 'PUT /%s HTTP/1.1\\r\\nHost: 127.0.0.1:\(port)\\r\\nContent-Length: 1000000\\r\\n\\r\\nstart' '\(path)' >&3
                for attempt in $(seq 1 500); do
                    [[ -n $(ls '\(fixture.directory)/incoming') ]] && exit 0
                    sleep 0.02
                done
                exit 1
                """
            let outcome = try await Command(["/bin/bash"]).run(input: script)
            try #require(outcome.succeeded, "the upload never began: \(outcome.output)")
            let deadline = ContinuousClock.now + .seconds(30)
            while fixture.fileCount > 0, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(fixture.fileCount == 0)
        }
    }

    @Test func `HEAD has the length of the object and no body`() async throws {
        let fixture = try StoreFixture()
        try await fixture.put("k", "hello")
        try await fixture.store.serve { origin in
            let head = try await curl(["-I", try fixture.url(.head, "k", origin: origin)])
            #expect(head.last == "200")
            #expect(head.contains { $0.lowercased().hasPrefix("content-length: 5") })
            let missing = try await curl(["-I", try fixture.url(.head, "missing", origin: origin)])
            #expect(missing.last == "404")
            let get = try fixture.url(.get, "k", origin: origin)
            let part = try await curl(["-H", "Range: bytes=1-2", get])
            #expect(part == ["el", "206"])
            let unchanged = try await curl(["-i", "-H", "If-None-Match: *", get])
            #expect(unchanged.last == "304")
            #expect(unchanged.contains { $0.lowercased().hasPrefix("content-length: 5") }, "\(unchanged)")
            #expect(!unchanged.contains { $0.hasPrefix("hello") }, "\(unchanged)")
        }
    }

    @Test func `hostile targets get an answer and touch nothing`() async throws {
        let fixture = try StoreFixture()
        try await fixture.put("k", "hello")
        try await fixture.store.serve { origin in
            let url = try fixture.url(.get, "k", origin: origin)
            for path in [
                "/demo/%2e%2e/demo/k", "/demo/../demo/k", "/demo/k%00", "/%00", "/demo/%2F..%2Fk", "//demo/k",
                "/demo/k%ff", "/demo/%", "/demo/\(String(repeating: "%2e%2e%2f", count: 300))k",
            ] {
                let answer = try await curl([url.replacing("/demo/k", with: path)])
                #expect(answer.last == "403" || answer.last == "400", "\(path)")
            }
            let chunked = try fixture.url(.put, "c", origin: origin)
            let answer = try await curl(["-X", "PUT", "-H", "Transfer-Encoding: chunked", "-d", "x", chunked])
            #expect(["411", "501"].contains(answer.last))
            #expect(fixture.fileCount == 2)
        }
    }
}

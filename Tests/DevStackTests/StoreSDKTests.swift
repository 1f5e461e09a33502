import Foundation
import HTTPTesting
import Signing
import TestSupport
import Testing

@testable import DevStack

/// The stores' own SDKs against the embedded store, over a socket: every scheme, in the header and in URLs, right and
/// tampered with. `SDKs/store.py` holds the expectations.
@Suite(.python(with: "the SDKs"))
struct StoreSDKTests {
    @Test(arguments: [("s3", 259), ("sessions-s3", 31), ("oss", 85), ("sessions-oss", 24)])
    func `the SDKs get what they ask for, and no more`(part: String, leastChecks: Int) async throws {
        let python = try Python.path
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "SDKs/store.py").path
        let fixture = try StoreFixture(now: Boto.now)
        try fixture.store.makeBucket("demo-oss")
        try await fixture.store.serve { origin in
            let asked = [
                "endpoint": origin, "id": StoreFixture.credential.accessKeyID,
                "secret": StoreFixture.credential.secretAccessKey, "part": part,
            ]
            let input = String(decoding: try JSONEncoder().encode(asked), as: UTF8.self)
            let outcome = try await Command([python, program]).run(input: input)
            let lines = outcome.output.split(separator: "\n")
            let count = lines.last.flatMap { $0.wholeMatch(of: /checked (\d+)/) }.flatMap { Int($0.1) }
            #expect(outcome.succeeded && lines.count == 1 && (count ?? 0) >= leastChecks, "\(outcome.output)")
        }
    }
}

import Foundation
import Testing

@testable import SluiceClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct RetryTests {
    /// The cases of `clients/retries.json`.
    private static func cases() throws -> [[String: Any]] {
        let bytes = try sharedTable("retries.json")
        let table = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        return try #require(table["cases"] as? [[String: Any]])
    }

    /// The error that a client makes of the refusal.
    private static func error(_ refusal: [String: Any]) throws -> SluiceError {
        let status = try #require(refusal["status"] as? Int)
        let seconds = refusal["retryAfter"] as? Int
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let response = HTTPURLResponse(
            url: url, statusCode: status, httpVersion: nil, headerFields: seconds.map { ["Retry-After": "\($0)"] })
        let head = try #require(AnswerHead(response))
        var body = Data("<html>".utf8)
        if let problem = refusal["problem"] { body = try JSONSerialization.data(withJSONObject: problem) }
        if let code = refusal["code"] as? String { body = Data("<Error><Code>\(code)</Code></Error>".utf8) }
        switch refusal["from"] as? String {
        case "store": return SluiceError(storeRefusal: Answer(head: head, body: body))
        case "part":
            let answer = Data(#"{"results": ["#.utf8) + body + Data("]}".utf8)
            let found = #expect(throws: SluiceError.self) {
                _ = try Coding.decode(OnlyResult<Sluice.Link>.self, from: answer)
            }
            return try #require(found)
        default: return SluiceError(refusal: Answer(head: head, body: body))
        }
    }

    @Test("what is sent again, and how long that waits, is what clients/retries.json says")
    func table() throws {
        let cases = try Self.cases()
        #expect(cases.count > 30)
        for refusal in cases {
            let error = try Self.error(refusal)
            let wanted = (refusal["waits"] as? Int).map { Duration.seconds($0) }
            let found = error.mayPass ? error.retryAfter ?? .zero : nil
            let name = try #require(refusal["name"] as? String)
            #expect(found == wanted, "\(name)")
        }
    }
}

/// Reads a table that the clients share.
private func sharedTable(_ name: String) throws -> Data {
    let root = URL(fileURLWithPath: #filePath).pathComponents.dropLast(5).joined(separator: "/").dropFirst()
    return try Data(contentsOf: URL(fileURLWithPath: "\(root)/clients/\(name)"))
}

/// `clients/uploads-gone.json`: what somebody answers about an upload that was interrupted.
private struct Gone: Decodable {
    struct Case: Decodable {
        let name: String
        let at: String
        let status: Int
        let code: String?
        let resume: String

        var path: String { at == "parts" ? "/parts" : "/v1/multipart-uploads/" }
        var body: String { code.map { #"{"status": \#(status), "code": "\#($0)"}"# } ?? "\(status) page" }
        /// Whether the upload begins anew.
        var endsUpload: Bool { resume == "anew" }
    }

    let cases: [Case]
}

extension RunningTests {
    @Test("another link is asked for as often as a first one")
    func renewals() async throws {
        let path = "/v1/presigned-urls"
        let over = Fault(
            kind: "answer", method: "POST", path: path, status: 201,
            body: """
                {"id": "i", "method": "PUT", "bucket": "b", "key": "k", "url": "http://127.0.0.1:1/", "headers": {}, \
                "expiresAt": "2026-01-01T00:00:00Z", "expiresIn": 0, "enforcedBy": "none"}
                """)
        let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)renewals")
        for (kind, status) in [("answer", 503), ("answer", 429), ("lose", nil)] as [(String, Int?)] {
            for (isOver, retries) in [(false, 0), (false, 2), (true, 0), (true, 2)] {
                var troubles = Array(
                    repeating: Fault(kind: kind, method: "POST", path: path, status: status), count: 12)
                if !isOver {
                    troubles[0].skip = 1
                    try await plan(world.store, .expired)
                }
                try await plan(world.gateway, isOver ? [over] + troubles : troubles)
                let client = world.client { $0.retries = retries }
                let error = await refusal { try await client.upload(file: world.file("one.bin"), to: target).value }
                #expect(error?.status == status ?? 0, "\(isOver)")
                let left = try await plan(world.gateway)
                #expect(troubles.count - left.count == retries + 1, "\(kind) \(isOver)")
                try await expectAllHappened(world.store)
            }
        }
    }

    @Test("an upload is over when the gateway says so, and not when something else answers in its place")
    func untrueEnd() async throws {
        let cases = try JSONDecoder().decode(Gone.self, from: sharedTable("uploads-gone.json")).cases
        for (number, told) in cases.enumerated() {
            let store = RecordingStore(MemoryStateStore())
            let client = world.client(states: store) {
                $0.partSize = 5 << 20
                $0.parallel = 1
            }
            let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)untrue-\(number)")
            func upload() async throws -> Sluice.UploadResult {
                try await client.upload(file: world.file("six.bin"), to: target).value
            }
            try await plan(world.store, Fault(kind: "answer", method: "PUT", skip: 1, status: 501))
            _ = await refusal { try await upload() }
            try await expectAllHappened(world.store)
            let first = try #require(store.ids.last)
            try await plan(
                world.gateway,
                Fault(kind: "answer", method: "GET", path: told.path, status: told.status, body: told.body))
            if !told.endsUpload {
                let error = await refusal { try await upload() }
                #expect(error?.status == told.status, "\(told.body)")
                #expect(store.last?.uploadID == first, "\(told.body)")
            }
            let done = try await upload()
            #expect((done.id != first) == told.endsUpload, "\(told.body)")
            #expect(done.state == .landed)
            try await expectAllHappened(world.gateway)
        }
    }
}

import Foundation
import HTTPTesting
import Testing

@testable import GatewayTransport
@testable import LibCurl
@testable import ObjectClient

/// The rule for what is sent again, which three clients share, and what a refusal means for an upload in parts.
@Suite(.timeLimit(.minutes(5))) struct RetryTests {
    /// The bytes of a table that the clients share.
    private static func table(_ name: String) throws -> Data {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try Data(contentsOf: root.appending(path: "clients/\(name)"))
    }

    /// The cases of `clients/retries.json`.
    private static func cases() throws -> [[String: Any]] {
        let bytes = try table("retries.json")
        let table = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        return try #require(table["cases"] as? [[String: Any]])
    }

    /// The failure that a client makes of the refusal.
    private static func failure(_ refusal: [String: Any]) throws -> ClientFailure {
        let status = try #require(refusal["status"] as? Int)
        let seconds = refusal["retryAfter"] as? Int
        var body = Array("<html>".utf8)
        if let problem = refusal["problem"] { body = Array(try JSONSerialization.data(withJSONObject: problem)) }
        if let code = refusal["code"] as? String { body = Array("<Error><Code>\(code)</Code></Error>".utf8) }
        switch refusal["from"] as? String {
        case "store": return .store(StoreRefusal(status: status, body: body), retryAfter: seconds)
        case "part": return ClientFailure(try JSONDecoder().decode(Problem.self, from: Data(body)))
        default:
            let client = try GatewayClient(
                url: "http://127.0.0.1:1", key: "key", timeout: .seconds(1),
                retries: Retries(limit: 0, stop: StopFlag()))
            let fields = seconds.map { [(name: "Retry-After", value: "\($0)")] } ?? []
            return client.refusal(RemoteGateway.Answer(head: .init(status: status, fields: fields), body: body))
        }
    }

    @Test func `what is sent again, and how long that waits, is as the table of the clients says`() throws {
        let cases = try Self.cases()
        #expect(cases.count > 30)
        for refusal in cases {
            let failure = try Self.failure(refusal)
            let found = failure.mayPass ? failure.retryAfter ?? 0 : nil
            let wanted = refusal["waits"] as? Int
            let name = try #require(refusal["name"] as? String)
            #expect(found == wanted, "\(name)")
        }
    }

    /// `clients/uploads-gone.json`: what somebody answers about an upload that was interrupted.
    struct Gone: Decodable {
        struct Case: Decodable {
            let name: String
            let at: String
            let status: Int
            let code: String?
            let resume: String
            let abort: String?

            var body: String { code.map { #"{"status":\#(status),"code":"\#($0)"}"# } ?? "\(status) page" }
            /// Whether the gateway knows the upload, and this is the answer to a request for its parts.
            var isForParts: Bool { at == "parts" }
            /// Whether the next run begins anew.
            var endsUpload: Bool { resume == "anew" }
            /// Whether the upload can be given up.
            var isAborted: Bool { isForParts || abort == "gone" }
        }

        let cases: [Case]
    }

    @Test(arguments: [false, true])
    func `an upload is over when the gateway says so, and not when something else answers in its place`(
        isGivenUp: Bool
    ) async throws {
        let cases = try JSONDecoder().decode(Gone.self, from: try Self.table("uploads-gone.json")).cases
        #expect(cases.count > 8)
        for told in cases { try await check(told, isGivenUp: isGivenUp) }
    }

    private func check(_ told: Gone.Case, isGivenUp: Bool) async throws {
        // The second part of the first upload does not arrive.
        let store = try FaultyProxy(to: 1) { line, _ in
            line.hasPrefix("PUT /1/2 ") ? .answer(501) : .answer(200, fields: ["ETag": "\"tag\""])
        }
        defer { store.close() }
        let gateway = try FaultyProxy(to: 1) { [origin = store.origin] line, earlier in
            let refusal = FaultyProxy.Fate.answer(told.status, body: told.body)
            let number = earlier.count(where: Self.isStart)
            let links = (1...2).map { Self.link(to: "\(origin)/\(number)/\($0)") }.joined(separator: ",")
            return switch line.split(separator: " ").prefix(2).joined(separator: " ") {
            case "POST /v1/multipart-uploads": .answer(201, body: #"{"id":"\#(number + 1)","state":"open"}"#)
            case "POST /v1/multipart-uploads/\(number)/parts": .answer(200, body: #"{"results":[\#(links)]}"#)
            case "POST /v1/multipart-uploads/2:complete": .answer(200, body: #"{"id":"2","state":"completed"}"#)
            case "GET /v1/multipart-uploads/1" where told.isForParts:
                .answer(200, body: #"{"id":"1","state":"open"}"#)
            case "DELETE /v1/multipart-uploads/1" where told.isForParts: .answer(204)
            default: refusal
            }
        }
        defer { gateway.close() }
        try await withFile { file, memory in
            let address = try ObjectAddress("photos/a")
            let upload = Self.upload(by: try Self.client(of: gateway, retries: 0), memory)
            func isKept() -> Bool {
                (try? FileManager.default.contentsOfDirectory(atPath: memory.directory))?.isEmpty == false
            }
            await #expect(throws: ClientFailure.self) { _ = try await upload.send(file, to: address) }
            try #require(isKept())
            if isGivenUp {
                let end = try? await upload.abort(file.path, to: address)
                let wanted: ObjectUpload.GivenUp? = told.isAborted ? .aborted : nil
                #expect(end == wanted, "\(told.name)")
                #expect(isKept() == !told.isAborted, "\(told.name)")
            } else {
                let outcome = try? await upload.send(file, to: address)
                #expect(outcome?.id == (told.endsUpload ? "2" : nil), "\(told.name)")
                #expect(isKept() == !told.endsUpload, "\(told.name)")
            }
            let begun = gateway.lines.count(where: Self.isStart)
            #expect(begun == (told.endsUpload && !isGivenUp ? 2 : 1), "\(told.name)")
        }
    }

    /// What takes a link.
    enum Use: CaseIterable {
        case file, part, listing

        var path: String { self == .part ? "/v1/multipart-uploads/1/parts" : "/v1/presigned-urls" }
    }

    /// Why the gateway gives no other link.
    enum Trouble: CaseIterable {
        case busy, tooMany, cut

        var fate: FaultyProxy.Fate {
            switch self {
            case .busy: .answer(503)
            case .tooMany: .answer(429, body: #"{"status":429,"code":"TooManyRequests"}"#)
            // Nobody listens behind the proxy, so the connection ends.
            case .cut: .cutAnswer(0)
            }
        }
    }

    @Test(arguments: Use.allCases, Trouble.allCases)
    func `another link is asked for as often as a first one`(use: Use, trouble: Trouble) async throws {
        for (isOver, retries) in [(false, 0), (false, 2), (true, 0), (true, 2)] {
            let store = try FaultyProxy(to: 1) { _, _ in .answer(403) }
            defer { store.close() }
            let link = Self.link(
                to: "\(store.origin)/object", method: use == .listing ? "GET" : "PUT", life: isOver ? 0 : 900)
            let gateway = try FaultyProxy(to: 1) { line, earlier in
                if Self.isStart(line) { return .answer(201, body: #"{"id":"1","state":"open"}"#) }
                if earlier.contains(where: { !Self.isStart($0) }) { return trouble.fate }
                return .answer(200, body: use == .part ? #"{"results":[\#(link)]}"# : link)
            }
            defer { gateway.close() }
            let client = try Self.client(of: gateway, retries: retries)
            try await withFile(length: use == .part ? 2 : 1) { file, memory in
                let address = try ObjectAddress("photos/a")
                await #expect(throws: ClientFailure.self) {
                    if use == .listing {
                        let listing = ObjectListing(client: client, stop: client.retries.stop)
                        _ = try await listing.entries(of: address, recursive: true)
                    } else {
                        _ = try await Self.upload(by: client, memory).send(file, to: address)
                    }
                }
            }
            let asked = gateway.lines.count { $0.hasPrefix("POST \(use.path) ") }
            #expect(asked == 1 + retries + 1, "\(isOver)")
            #expect(store.lines.count == (isOver ? 0 : 1))
        }
    }

    private static func isStart(_ line: String) -> Bool { line.hasPrefix("POST /v1/multipart-uploads ") }

    /// A link as a gateway answers it, which lives for some seconds.
    private static func link(to url: String, method: String = "PUT", life: Int = 900) -> String {
        #"{"id":"i","method":"\#(method)","url":"\#(url)","headers":{},"expiresAt":"","expiresIn":\#(life)}"#
    }

    private static func client(of gateway: FaultyProxy, retries: Int) throws -> GatewayClient {
        try GatewayClient(
            url: gateway.origin, key: "key", timeout: .seconds(30),
            retries: Retries(limit: retries, stop: StopFlag()) { _ in })
    }

    /// Uploads in parts of 1 MiB, of files with more than one byte.
    private static func upload(by client: GatewayClient, _ memory: TransferMemory) -> ObjectUpload {
        var options = ObjectUpload.Options(contentType: "text/plain")
        options.partSize = 1
        options.parallel = 1
        options.confirms = false
        return ObjectUpload(
            client: client, memory: memory, options: options, stop: client.retries.stop, meter: TransferMeter())
    }

    /// Runs a test with a file, which has two parts unless its length is given.
    private func withFile(
        length: Int = (1 << 20) + 1, _ body: (LocalFile, TransferMemory) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-retry-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(count: length).write(to: URL(fileURLWithPath: "\(folder)/file"))
        try await body(LocalFile("\(folder)/file"), TransferMemory(directory: "\(folder)/memory"))
    }
}

import Foundation
import Testing

@testable import SluiceClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What `script/check-swift-client` has started: a gateway and a store, both behind proxies that can fail, and a demo.
struct World: Decodable, Sendable {
    struct Demo: Decodable, Sendable {
        let url: URL
        /// Where the links of its OSS bucket lead.
        let store: URL
        let key: String
    }

    /// Nil if the tests run without it. A description that cannot be read fails the tests.
    static let shared = ProcessInfo.processInfo.environment["SLUICE_TEST_WORLD"].map { path in
        Result { try JSONDecoder().decode(World.self, from: Data(contentsOf: URL(fileURLWithPath: path))) }
    }

    private enum CodingKeys: String, CodingKey {
        case gateway, store = "store_", tokens, bucket, strictBucket, folder, files, demo
    }

    let gateway: URL
    let store: URL
    let tokens: [String: String]
    let bucket: String
    let strictBucket: String
    let folder: String
    let files: String
    let demo: Demo

    var token: String { tokens["alice"] ?? "" }

    func file(_ name: String) -> URL { URL(fileURLWithPath: "\(files)/\(name)") }

    func client(
        states: any StateStore = MemoryStateStore(), _ change: (inout Sluice.Options) -> Void = { _ in }
    ) -> Sluice {
        var options = Sluice.Options()
        options.temporaryDirectory = file("temporary")
        change(&options)
        return Sluice(url: gateway, states: states, options: options, token: token)
    }
}

/// A fault that a proxy is to make of a request that fits. `script/lib/javascript/faults.py` describes them.
struct Fault: Codable, Sendable {
    var kind: String
    var method: String?
    var path: String?
    var skip: Int?
    var after: Int?
    var status: Int?
    var retryAfter: Int?
    var seconds: Double?
    var body: String?

    static let expired = Fault(
        kind: "answer", method: "PUT", status: 403,
        body: "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>")

    /// The answer for a part whose link a quota forbids. Without a number, the quota has no periods.
    static func usedUp(resetsIn seconds: Int?) -> Fault {
        let end = seconds.map { #""period": "day", "resetsIn": \#($0)"# } ?? #""period": "total""#
        return Fault(
            kind: "answer", method: "POST", path: "/parts", status: 200,
            body: """
                {"results": [{"type": "/problems/quota-exceeded", "title": "A quota is used up", "status": 429, \
                "code": "QuotaExceeded", "quota": {"id": "q", "metric": "urls", "limit": 1, \(end)}, "remaining": 0}]}
                """)
    }
}

/// Replaces the plan of a proxy, and answers the kinds of what of the last one has not happened.
@discardableResult
func plan(_ proxy: URL, _ faults: Fault...) async throws -> [String] { try await plan(proxy, faults) }

@discardableResult
func plan(_ proxy: URL, _ faults: [Fault]) async throws -> [String] {
    var request = URLRequest(url: proxy.appendingPathComponent(".faults"))
    request.httpMethod = "POST"
    request.httpBody = try JSONEncoder().encode(faults)
    let (data, _) = try await URLSession.shared.data(for: request)
    return try JSONDecoder().decode([Fault].self, from: data).map(\.kind)
}

/// The kinds of what of the plan has not happened yet.
func left(_ proxy: URL) async throws -> [String] {
    let (data, _) = try await URLSession.shared.data(from: proxy.appendingPathComponent(".faults"))
    return try JSONDecoder().decode([Fault].self, from: data).map(\.kind)
}

/// Bytes that differ along the way.
func bytes(_ count: Int, seed: Int = 7) -> Data {
    Data((0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 + seed + ($0 >> 8)) })
}

/// Runs a test with a directory of its own, and with files in it.
func withDirectory<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("sluice-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory)
}

extension URL {
    /// A new file of this directory.
    func file(_ name: String, _ content: Data) throws -> URL {
        let file = appendingPathComponent(name)
        try content.write(to: file)
        return file
    }
}

/// Compares bytes. `#expect` would look for the differences, which takes minutes for a file.
func expectSame(_ found: Data, _ wanted: Data, sourceLocation: SourceLocation = #_sourceLocation) {
    let isSame = found == wanted
    #expect(isSame, "\(found.count) bytes, and \(wanted.count) are wanted", sourceLocation: sourceLocation)
}

/// What the work throws, which has to be a `SluiceError`.
func refusal<Result>(
    _ work: () async throws -> Result, sourceLocation: SourceLocation = #_sourceLocation
) async -> SluiceError? {
    await #expect(throws: SluiceError.self, sourceLocation: sourceLocation) { _ = try await work() }
}

/// Tests of what runs, one at a time because they share the proxies.
@Suite(
    .serialized, .timeLimit(.minutes(2)),
    .enabled(if: World.shared != nil, "script/check-swift-client starts what these need"))
struct RunningTests {
    let world: World

    init() throws {
        world = try #require(World.shared).get()
    }

    /// What is at the store, read by a link.
    func content(_ bucket: String, _ key: String) async throws -> Data {
        try await withDirectory { directory in
            let file = directory.appendingPathComponent("content")
            _ = try await world.client().download(.init(bucket: bucket, key: key), to: file).value
            return try Data(contentsOf: file)
        }
    }

    func expectAllHappened(_ proxies: URL..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for proxy in proxies {
            let left = try await plan(proxy)
            #expect(left == [], sourceLocation: sourceLocation)
        }
    }
}

/// What a provider of tokens was asked.
actor Asked {
    private(set) var all: [Bool] = []

    func note(_ isRefresh: Bool) {
        all.append(isRefresh)
    }
}

/// Notes the identifiers of the uploads whose states pass through it, each once.
final class RecordingStore: StateStore {
    private let store: MemoryStateStore
    private let seen = Locked<(ids: [String], newest: TransferState?)>(([], nil))

    init(_ store: MemoryStateStore) {
        self.store = store
    }

    var ids: [String] { seen.withLock { $0.ids } }
    var last: TransferState? { seen.withLock { $0.newest } }

    func state(named name: String) async throws -> TransferState? { store.state(named: name) }

    func setState(_ state: TransferState?, named name: String) async throws {
        store.setState(state, named: name)
        seen.withLock {
            $0.newest = state
            if let id = state?.uploadID, $0.ids.last != id { $0.ids.append(id) }
        }
    }
}

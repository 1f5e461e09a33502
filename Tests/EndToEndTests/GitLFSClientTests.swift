import Foundation
import HTTPServing
import HTTPTesting
import HTTPTypes
import LibCrypto
import Synchronization
import TestSupport
import Testing

/// Git LFS with real repositories, against a store that really verifies.
@Suite(
    .enabled(if: StoreKind.radosgw.isExpected, "radosgw does not run; CONTRIBUTING.md says how to start it"),
    .timeLimit(.minutes(5)))
struct GitLFSClientTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = environment["SLUICE_TEST_LFS_OBJECTS"].flatMap(Int.init) ?? 200
    /// Size of one more object, in MiB.
    private static let large = environment["SLUICE_TEST_LFS_LARGE"].flatMap(Int.init) ?? 100

    /// Makes a folder for repositories.
    private static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-lfs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// Runs one step of the script; returns what it prints.
    private func run(_ step: String, _ job: JSON) async throws -> JSON {
        let script = try #require(
            Bundle.module.url(forResource: "ProtocolClients/git_lfs", withExtension: "py"), "the script is a resource")
        let argument = String(decoding: try job.with(["step": "\(step)"]).bytes, as: UTF8.self)
        let process = try RunningProcess(
            ["/usr/bin/python3", script.path(percentEncoded: false), argument], environment: [:])
        let status = await process.exitStatus()
        try #require(status == 0, "\(step): \(process.errors)")
        return try JSON(Array(process.output.utf8))
    }

    @Test("objects are pushed and pulled, also after a quota, a kill and by nobody else")
    func repositories() async throws {
        let options: [String: JSON] = [
            "provider": "s3", "honoursUnsignedHeaders": true, "protocols": ["git-lfs"],
        ]
        try await StoreBench.with(.radosgw, options: options, reachesStore: true) { bench in
            let site = bench.deployment
            // Verifications go to the first gateway, whose address the second one knows.
            let first = try #require(site.gateways.first).port
            let gateway = try await site.startGateway(["SLUICE_PUBLIC_URL": "http://127.0.0.1:\(first)"])
            let folder = try Self.folder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let prefix = "lfs/\(UUID().uuidString)"
            let stranger = try await site.makeUser("mallory")
            let all = Self.count + (Self.large > 0 ? 1 : 0)
            let job: JSON = [
                "folder": "\(folder.path(percentEncoded: false))", "gateway": "http://127.0.0.1:\(gateway.port)",
                "bucket": "\(bench.bucket)", "prefix": "\(prefix)", "key": "\(bench.user.client.token)",
                "stranger": "\(stranger.client.token)", "count": .number(Self.count), "large": .number(Self.large),
            ]
            _ = try await run("create", job)

            let quota = try await site.quota(Self.count / 2, for: bench.user.principal)
            let full = try await run("push", job)
            #expect(
                full["status"] != 0 && full["output"].text?.contains("At most \(Self.count / 2) urls") == true,
                "\(full)")
            try await site.delete("quotas", quota)

            let killed = try await run("kill", job)
            let sent = try #require(killed["sent"].integer)
            #expect(killed["status"] == -9 && 0 < sent && sent < all, "\(killed)")
            let pushed = try await run("push", job)
            #expect(pushed["status"] == 0, "\(pushed)")
            let recorded = try await site.number(
                """
                SELECT count(DISTINCT object_key) FROM issuances
                WHERE object_key LIKE '\(prefix)/%' AND action = 'PutObject'
                """)
            let landed = try await site.number(
                """
                SELECT count(DISTINCT i.object_key) FROM issuances i JOIN landings l ON l.issuance_id = i.id
                WHERE i.object_key LIKE '\(prefix)/%' AND l.finding = 'landed'
                """)
            // What was sent and not yet verified when the push was killed is simply there at the next one.
            #expect(recorded == all && landed > all / 2 && landed <= all, "\(landed)")
            let again = try await run("push", job)
            #expect(again["status"] == 0, "\(again)")

            let pulled = try await run("pull", job)
            #expect(pulled["status"] == 0 && pulled["same"].integer == all, "\(pulled)")

            let strangers = try await run("stranger", job)
            for step in ["push", "pull"] {
                #expect(strangers[step]["status"] != 0, "\(strangers)")
                #expect(strangers[step]["output"].text?.contains("Access denied") == true, "\(strangers)")
            }
            // Other bytes, fewer bytes, the right ones, and the right ones once more.
            let tampered = try await run("tamper", job)
            let statuses = tampered["statuses"].items.compactMap(\.integer)
            #expect(statuses.count == 4 && statuses[0] >= 400 && statuses[1] >= 400, "\(tampered)")
            #expect(statuses.dropFirst(2) == [200, 412], "\(tampered)")
        }
    }

    @Test(
        "each documented way to sign in pushes and pulls, also where uploads are verified",
        arguments: ["url", "helper", "bearer", "basic"])
    func signIn(way: String) async throws {
        let options: [String: JSON] = [
            "provider": "s3", "honoursUnsignedHeaders": true, "protocols": ["git-lfs"],
        ]
        try await StoreBench.with(.radosgw, options: options, reachesStore: true) { bench in
            let site = bench.deployment
            let first = try #require(site.gateways.first).port
            let second = try await site.startGateway(["SLUICE_PUBLIC_URL": "http://127.0.0.1:\(first)"]).port
            for (port, isVerified) in [(first, false), (second, true)] {
                let folder = try Self.folder()
                defer { try? FileManager.default.removeItem(at: folder) }
                let prefix = "lfs/\(UUID().uuidString)"
                let job: JSON = [
                    "folder": "\(folder.path(percentEncoded: false))", "gateway": "http://127.0.0.1:\(port)",
                    "bucket": "\(bench.bucket)", "prefix": "\(prefix)", "key": "\(bench.user.client.token)",
                    "count": 2, "large": 0, "signIn": "\(way)",
                    "origins": ["http://127.0.0.1:\(first)", "http://127.0.0.1:\(second)"],
                ]
                _ = try await run("create", job)
                let pushed = try await run("push", job)
                #expect(pushed["status"] == 0, "\(pushed)")
                let landed = try await site.number(
                    """
                    SELECT count(*) FROM issuances i JOIN landings l ON l.issuance_id = i.id
                    WHERE i.object_key LIKE '\(prefix)/%' AND l.finding <> 'absent'
                    """)
                #expect(landed == (isVerified ? 2 : 0))
                let pulled = try await run("pull", job)
                #expect(pulled["status"] == 0 && pulled["same"].integer == 2, "\(pulled)")
            }
        }
    }

    /// What becomes of an object after it was uploaded, and before the client has it verified.
    private enum Fate: String, CaseIterable {
        case kept, removed, shortened, lengthened, replaced

        /// The text that the object becomes; `nil` if it is removed.
        func text(of uploaded: String) -> String? {
            switch self {
            case .kept: uploaded
            case .removed: nil
            case .shortened: String(uploaded.dropLast())
            case .lengthened: uploaded + "."
            case .replaced: String(uploaded.reversed())
            }
        }
    }

    @Test("a push fails unless what was uploaded is still at the store when it is verified")
    func verification() async throws {
        let relay = Relay()
        try await relay.serve { origin in
            let options: [String: JSON] = [
                "provider": "s3", "honoursUnsignedHeaders": true, "protocols": ["git-lfs"],
            ]
            let settings = ["SLUICE_PUBLIC_URL": origin]
            try await StoreBench.with(.radosgw, settings: settings, options: options, reachesStore: true) { bench in
                let gateway = try #require(bench.deployment.gateways.first).port
                for fate in Fate.allCases {
                    let folder = try Self.folder()
                    defer { try? FileManager.default.removeItem(at: folder) }
                    let prefix = "lfs/\(UUID().uuidString)"
                    let text = "object 0 of \(prefix)"
                    let oid = DigestAlgorithm.sha256.digest(of: Array(text.utf8)).hex
                    let key = "\(prefix)/\(oid.prefix(2))/\(oid.dropFirst(2).prefix(2))/\(oid)"
                    relay.lead(to: gateway) {
                        if fate == .kept { return }
                        let other = fate.text(of: text)
                        let answer = try await bench.asOwner(other == nil ? "DELETE" : "PUT", key, body: other ?? "")
                        try #require(answer.status == (other == nil ? 204 : 200), "\(answer.text)")
                    }
                    let job: JSON = [
                        "folder": "\(folder.path(percentEncoded: false))", "gateway": "http://127.0.0.1:\(gateway)",
                        "bucket": "\(bench.bucket)", "prefix": "\(prefix)", "key": "\(bench.user.client.token)",
                        "count": 1, "large": 0,
                    ]
                    _ = try await run("create", job)
                    let pushed = try await run("push", job)
                    #expect((pushed["status"] == 0) == (fate == .kept), "\(fate): \(pushed)")
                    #expect(relay.count > 0, "\(fate): the client asked for a verification")
                }
            }
        }
    }
}

/// Stands before a gateway, and lets a test act before each request goes on to it.
private final class Relay: HTTPResponder {
    private struct State {
        var port: UInt16 = 0
        var count = 0
        var act: @Sendable () async throws -> Void = {}
    }

    private let state = Mutex(State())

    /// Sets where requests go, and what happens before. Their count begins anew.
    func lead(to port: UInt16, after act: @escaping @Sendable () async throws -> Void) {
        state.withLock { $0 = State(port: port, act: act) }
    }

    /// Number of requests.
    var count: Int { state.withLock(\.count) }

    func begin(_ head: RequestHead) -> RequestPlan { RequestPlan(.collect(maxBytes: 65_536)) }

    func respond(to request: ServerRequest) async -> ServerResponse {
        let (port, act) = state.withLock { state in
            state.count += 1
            return (state.port, state.act)
        }
        guard case .collected(let body) = request.body else { return response(to: .contentTooLarge(maxBytes: 65_536)) }
        var fields = request.head.headerFields.map { (name: $0.name.rawName, value: $0.value) }
        fields.removeAll { $0.name.lowercased() == "connection" }
        fields.append((name: "Connection", value: "close"))
        let onward = RawRequest(request.head.method.rawValue, request.head.target, headers: fields, body: body)
        do {
            try await act()
            let answer = try await onward.answer(fromPort: port)
            return ServerResponse(
                head: ResponseHead(
                    status: .init(code: answer.status), headerFields: [.contentType: answer["Content-Type"] ?? ""]),
                body: .bytes(answer.body))
        } catch {
            Issue.record(error)
            return ServerResponse(head: ResponseHead(status: .badGateway))
        }
    }

    func response(to failure: ServerFailure) -> ServerResponse {
        ServerResponse(head: ResponseHead(status: failure.status))
    }
}

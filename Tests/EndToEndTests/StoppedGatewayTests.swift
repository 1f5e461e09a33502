import Foundation
import HTTPTesting
import PostgresTesting
import Synchronization
import TestSupport
import Testing

/// Gateways that stop between two statements, like a paused container or a swapped-out process. The state that
/// PostgreSQL holds for them must delay nobody.
@Suite struct StoppedGatewayTests {
    /// Number of last statements of each kind of work at which the gateway is stopped. They count from the end of the
    /// work, where the gateway holds everything that matters.
    private static let stops = setting("SLUICE_TEST_STOPS", default: 3)
    /// Number of calls of each kind of work before the gateway is stopped.
    private static let calls = 3
    /// Longest time that a revoke may take.
    private static let patience = Duration.seconds(6)

    /// Two gateways on one database; one of them can be stopped.
    private struct Scene: Sendable {
        let site: Deployment
        let proxy: StoppingProxy
        /// The gateway that is stopped.
        let stopped: GatewayProcess
        let alice: User
        let quota: String
        let credential: String
        let key: String

        /// Sends a request to the gateway that is stopped, as the admin unless a user is given.
        func send(
            _ method: String, _ target: String, _ body: JSON? = nil, by user: User? = nil, key: String? = nil
        ) async throws -> Answer {
            var headers = [(name: String, value: String)]()
            if let key { headers.append(("Idempotency-Key", key)) }
            if method == "PATCH" { headers.append(("If-Match", "*")) }
            let answer = try await (user?.client ?? site.admin).at(stopped.port).call(
                method, target, body, headers: headers)
            site.keepSecret(urlOf: answer)
            if target.contains("api-keys") { site.keepSecret(answer.json["key"].text ?? "") }
            return answer
        }

        func importGrants(_ note: Int) async throws -> Answer {
            let lines = (0..<3).map {
                #"{"principal":"user:i\#($0)","bucket":"stops","prefix":"i/","actions":["GetObject"],"note":"\#(note)"}"#
            }
            var request = RawRequest(
                "POST", "/admin/v1/grants:import",
                headers: [
                    ("Host", "127.0.0.1:\(stopped.port)"), ("Authorization", "Bearer \(site.admin.token)"),
                    ("Content-Type", "application/x-ndjson"), ("Connection", "close"),
                ])
            request.body = Array(lines.joined(separator: "\n").utf8)
            request.headers.append(("Content-Length", "\(request.body.count)"))
            return Answer(try await request.answer(fromPort: stopped.port))
        }
    }

    /// An operation of a gateway, with another number each time.
    private struct Work {
        let name: String
        let run: @Sendable (Scene, Int) async throws -> Answer

        init(_ name: String, _ run: @escaping @Sendable (Scene, Int) async throws -> Answer) {
            self.name = name
            self.run = run
        }
    }

    private static let works = [
        Work("an upload with a key") { scene, number in
            try await scene.send(
                "POST", "/v1/presigned-urls", .upload("\(number)", to: "stops"), by: scene.alice,
                key: "single-\(number)")
        },
        Work("the same upload again") { scene, _ in
            try await scene.send(
                "POST", "/v1/presigned-urls", .upload("again", to: "stops"), by: scene.alice, key: "again")
        },
        Work("a batch with a key") { scene, number in
            let items = (0..<3).map { JSON.upload("\(number)/\($0)", to: "stops") }
            return try await scene.send(
                "POST", "/v1/presigned-urls/batch", ["items": .array(items)], by: scene.alice, key: "batch-\(number)")
        },
        Work("a ticket with a key") { scene, number in
            try await scene.send(
                "POST", "/v1/tickets", ["bucket": "stops", "prefix": "\(number)/"], by: scene.alice,
                key: "ticket-\(number)"
            )
        },
        Work("a grant") { scene, number in
            try await scene.send("POST", "/admin/v1/grants", grant(to: "user:new", number))
        },
        Work("a template with a key") { scene, number in
            let grant: JSON = [
                "principal": "user:t\(number)", "bucket": "stops", "template": "u/${sub}/", "actions": ["GetObject"],
            ]
            return try await scene.send("POST", "/admin/v1/grants", grant, key: "grant-\(number)")
        },
        Work("a changed quota") { scene, number in
            try await scene.send("PATCH", "/admin/v1/quotas/\(scene.quota)", ["limit": .number(100_000 + number)])
        },
        Work("a reset quota with a key") { scene, number in
            try await scene.send(
                "POST", "/admin/v1/quotas/\(scene.quota):reset", ["all": true], key: "reset-\(number)")
        },
        Work("a rotated credential") { scene, number in
            let secret = "secret-\(UUID().uuidString)"
            scene.site.keepSecret(secret)
            return try await scene.send(
                "PATCH", "/admin/v1/storage-credentials/\(scene.credential)",
                ["accessKeyID": "AKID\(number)", "secretAccessKey": "\(secret)"])
        },
        Work("a rotated key of a user") { scene, _ in
            try await scene.send("POST", "/admin/v1/api-keys/\(scene.key):rotate", ["overlapSeconds": 0])
        },
        Work("a secret for events") { scene, _ in
            try await scene.send("POST", "/admin/v1/buckets/stops/event-secret", ["overlapSeconds": 0])
        },
        Work("a list of grants with a key") { scene, number in
            let writes = (0..<3).map { grant(to: "user:l\($0)", number) }
            return try await scene.send(
                "POST", "/admin/v1/grants:apply", ["writes": .array(writes)], key: "list-\(number)")
        },
        Work("an import") { scene, number in try await scene.importGrants(number) },
    ]

    private static func grant(to principal: String, _ number: Int) -> JSON {
        ["principal": "\(principal)", "bucket": "stops", "prefix": "\(number)/", "actions": ["GetObject"]]
    }

    private func withScene(_ body: (Scene) async throws -> Void) async throws {
        let proxy = try StoppingProxy(to: try await TestCluster.shared())
        defer { proxy.close() }
        try await Deployment.with { site in
            try await site.makeBucket("stops")
            let alice = try await site.makeUser("alice")
            try await site.grant(["GetObject", "PutObject"], to: alice.principal, in: "stops")
            let other = try await site.create(
                "storage-credentials", ["name": "other", "accessKeyID": "AKID", "secretAccessKey": "other-secret-1"])
            let stopped = try await site.startGateway([
                "SLUICE_DATABASE_URL": proxy.connectionString(database: site.databaseName)
            ])
            defer { proxy.goOn() }
            try await body(
                Scene(
                    site: site, proxy: proxy, stopped: stopped, alice: alice,
                    quota: try await site.quota(100_000, for: alice.principal),
                    credential: try #require(other["id"].text), key: try await site.makeUser("carol").keyID))
        }
    }

    private final class Ending: Sendable {
        let hasCome = Atomic(false)
    }

    /// Stops the gateway after `count` statements of some work, lets others work, and resumes it. Returns whether it
    /// stopped: the log may be read for two parts of the work at once, so that the work takes a statement less.
    private func stop(after count: Int, of work: Work, _ number: Int, _ scene: Scene) async throws -> Bool {
        let revoked = try await scene.site.grant(["GetObject"], to: "user:bob", in: "stops")
        let ending = Ending()
        scene.proxy.stop(after: count)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { scene.proxy.goOn() }
            group.addTask {
                _ = try? await work.run(scene, number)
                ending.hasCome.store(true, ordering: .releasing)
            }
            try await waitUntil("the gateway stops or is done") {
                scene.proxy.hasStopped || ending.hasCome.load(ordering: .acquiring)
            }
            let start = ContinuousClock.now
            // PostgreSQL may end the wait of a change a moment before it ends the session that the change waits for.
            var answer = try await scene.site.admin.call("DELETE", "/admin/v1/grants/\(revoked)")
            if answer.status == 503 {
                answer = try await scene.site.admin.call("DELETE", "/admin/v1/grants/\(revoked)")
            }
            let link = try await scene.alice.ask(.download("a", from: "stops"))
            let time = ContinuousClock.now - start
            #expect(
                answer.status == 204 && link.status == 201 && time < Self.patience,
                "\(work.name), stopped after \(count): a revoke is \(answer.status), a link \(link.status), in \(time)")
            scene.site.keepSecret(urlOf: link)
        }
        return scene.proxy.hasStopped
    }

    @Test func `whatever a gateway does as it stops, nobody's revoke waits for it`() async throws {
        try await withScene { scene in
            for work in Self.works {
                var counts: [Int] = []
                for number in 0..<Self.calls {
                    let before = scene.proxy.passed
                    let answer = try await work.run(scene, number)
                    #expect(200..<300 ~= answer.status, "\(work.name): \(answer.text)")
                    counts.append(scene.proxy.passed - before)
                }
                // The first call prepares the statements. Into any of them, the gateway may put statements of its own,
                // so that the work may end before it has come to the count.
                let count = try #require(counts.dropFirst().min())
                var stopped = 0
                for (number, stop) in (0..<count).reversed().enumerated() where stopped < Self.stops {
                    if try await self.stop(after: stop, of: work, number + Self.calls, scene) { stopped += 1 }
                }
                #expect(stopped > 0, "\(work.name): \(count) statements, and no stop at any of them")
            }
        }
    }
}

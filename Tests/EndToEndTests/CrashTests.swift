import Foundation
import HTTPTesting
import LibPQ
import PostgresTesting
import Synchronization
import Testing

extension LoadTests {
    /// The gateway, and PostgreSQL, are killed again and again while clients ask; what a client received is on record.
    @Suite struct CrashTests {
        private static let clients = 32
        private static let kills = setting("SLUICE_TEST_KILLS", default: 5)

        /// The port that clients are to call; gateways come and go.
        private final class Target: Sendable {
            private let current: Mutex<UInt16>

            init(_ port: UInt16) { current = Mutex(port) }
            var port: UInt16 { current.withLock { $0 } }
            func move(to port: UInt16) { current.withLock { $0 = port } }
        }

        @Test(arguments: Asking.allCases)
        func `every URL that was received has its row, however often the gateway is killed`(
            asking: Asking
        ) async throws {
            try await withDurableDeployment { site, user in
                let tally = Tally()
                let target = Target(user.client.port)
                try await underLoad(by: user, asking, at: target, tally, expected: [201]) {
                    for _ in 0..<Self.kills {
                        let before = tally.count(of: 201)
                        try await waitUntil("URLs are issued") { tally.count(of: 201) >= before + 100 }
                        let gateway = try #require(site.gateways.first)
                        await site.end(gateway) { await gateway.crash() }
                        target.move(to: try await site.startGateway().port)
                    }
                    let before = tally.count(of: 201)
                    try await waitUntil("URLs are issued") { tally.count(of: 201) >= before + 100 }
                }
                #expect(tally.wrong.isEmpty)
                #expect(tally.lost >= Self.kills, "the kills hit clients that were asking")
                try await expectRows(of: tally, at: site)
            }
        }

        @Test(arguments: Asking.allCases)
        func `while PostgreSQL is gone the answer is 503, and afterwards all is well without a restart`(
            asking: Asking
        ) async throws {
            try await withDurableDeployment { site, user in
                let tally = Tally()
                let gateway = site.gateways[0]
                try await underLoad(by: user, asking, at: Target(gateway.port), tally, expected: [201, 503]) {
                    for _ in 0..<Self.kills {
                        let issued = tally.count(of: 201)
                        try await waitUntil("URLs are issued") { tally.count(of: 201) >= issued + 100 }
                        try await site.cluster.kill()
                        let refused = tally.count(of: 503)
                        try await waitUntil("every client is refused") {
                            tally.count(of: 503) >= refused + 2 * Self.clients
                        }
                        try await waitUntil("the gateway says that it is not ready") {
                            try await site.client().call("GET", "/readyz").status == 503
                        }
                        #expect(try await site.client().call("GET", "/healthz").status == 200)
                        try await site.cluster.start()
                        try await waitUntil("the gateway is ready again") {
                            try await site.client().call("GET", "/readyz").status == 200
                        }
                    }
                    let issued = tally.count(of: 201)
                    try await waitUntil("URLs are issued") { tally.count(of: 201) >= issued + 100 }
                }
                #expect(tally.wrong.isEmpty)
                #expect(tally.lost == 0, "a gateway that runs answers every request")
                #expect(gateway.process.isRunning)
                try await expectRows(of: tally, at: site)
            }
        }

        /// A gateway on a server that keeps what it says is committed, as the very sessions that record have seen; and a user.
        private func withDurableDeployment(_ body: (Deployment, User) async throws -> Void) async throws {
            var options = ClusterOptions()
            options.fsync = true
            let cluster = try await TestCluster(options)
            try await Deployment.with(cluster: cluster) { site in
                // The gateway does not rely on how the database is set.
                try await site.session().runScript(
                    "ALTER DATABASE \(site.databaseName) SET synchronous_commit = off; \(Self.watchSettings)")
            } _: { site in
                let user = try await site.makeUser("alice")
                try await site.allowAsking(by: [user], in: "crash")
                try await body(site, user)
                let seen = try await site.session().texts("SELECT settings FROM seen_settings")
                #expect(seen == ["fsync=on synchronous_commit=on"])
            }
            try await cluster.stop()
        }

        private static let watchSettings = """
            CREATE TABLE seen_settings (settings text PRIMARY KEY);
            CREATE FUNCTION see_settings() RETURNS trigger LANGUAGE plpgsql AS $$
            DECLARE
                v_settings text :=
                    format('fsync=%s synchronous_commit=%s', current_setting('fsync'), current_setting('synchronous_commit'));
            BEGIN
                IF NOT EXISTS (SELECT FROM seen_settings s WHERE s.settings = v_settings) THEN
                    INSERT INTO seen_settings VALUES (v_settings) ON CONFLICT DO NOTHING;
                END IF;
                RETURN NULL;
            END
            $$;
            CREATE TRIGGER settings_are_seen AFTER INSERT ON issuances FOR EACH STATEMENT EXECUTE FUNCTION see_settings();
            """

        /// Runs `body` while clients ask without a pause, also after their connection was lost.
        private func underLoad(
            by user: User, _ asking: Asking, at target: Target, _ tally: Tally, expected: Set<Int>,
            _ body: @escaping @Sendable () async throws -> Void
        ) async throws {
            let isOver = Flag()
            let request = try asking.request(for: "k", in: "crash", by: user)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await onThreads(Self.clients) { _ in
                        var connection = KeptConnection()
                        while !isOver.isRaised {
                            do {
                                let answer = try connection.exchange(request, port: target.port)
                                tally.note(answer, expected: expected)
                                if answer.status == 503, answer["Retry-After"].flatMap({ Int($0) }) ?? 0 < 1 {
                                    tally.complain("503 without Retry-After")
                                }
                                if answer.status == 503 { Thread.sleep(forTimeInterval: 0.005) }
                            } catch {
                                tally.noteLoss()
                                Thread.sleep(forTimeInterval: 0.005)
                            }
                        }
                    }
                }
                group.addTask {
                    defer { isOver.raise() }
                    try await body()
                }
                try await group.waitForAll()
            }
        }

        private func expectRows(of tally: Tally, at site: Deployment) async throws {
            let recorded = try await site.recordedNames()
            let received = Set(tally.issued)
            #expect(received.count > 100 * Self.kills)
            #expect(received.subtracting(recorded).isEmpty)
        }
    }
}

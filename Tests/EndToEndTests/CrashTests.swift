import Foundation
import HTTPTesting
import LibPQ
import PostgresTesting
import Synchronization
import TestSupport
import Testing

extension LoadTests {
    /// The gateway and PostgreSQL are killed repeatedly while clients ask. Whatever a client received must be recorded.
    @Suite struct CrashTests {
        private static let clients = 36
        private static let kills = setting("SLUICE_TEST_KILLS", default: 6)
        /// Number of credentials issued in each way between two kills.
        private static let issued = 10

        /// The port that clients call, since gateways come and go.
        private final class Target: Sendable {
            private let current: Mutex<UInt16>

            init(_ port: UInt16) { current = Mutex(port) }
            var port: UInt16 { current.withLock { $0 } }
            func move(to port: UInt16) { current.withLock { $0 = port } }
        }

        @Test func `what was received has its row, however often the gateway is killed`() async throws {
            try await withDurableDeployment { site, asker, ways in
                let tallies = ways.map { _ in Tally() }
                let target = Target(site.gateways[0].port)
                try await underLoad(by: asker, ways, at: target, tallies, expected: [201]) {
                    for _ in 0..<Self.kills {
                        try await waitUntilIssued(tallies)
                        let gateway = try #require(site.gateways.first)
                        await site.end(gateway) { await gateway.crash() }
                        target.move(to: try await site.startGateway().port)
                    }
                    try await waitUntilIssued(tallies)
                }
                let lost = tallies.map(\.lost).reduce(0, +)
                #expect(lost >= Self.kills, "the kills hit clients that were asking")
                try await expectRows(of: tallies, ways, at: site)
            }
        }

        @Test func `while PostgreSQL is gone the answer is 503, and afterwards all is well without a restart`()
            async throws
        {
            try await withDurableDeployment { site, asker, ways in
                let tallies = ways.map { _ in Tally() }
                let gateway = site.gateways[0]
                try await underLoad(by: asker, ways, at: Target(gateway.port), tallies, expected: [201, 503]) {
                    for _ in 0..<Self.kills {
                        try await waitUntilIssued(tallies)
                        try await site.cluster.kill()
                        let refused = tallies.map { $0.count(of: 503) }
                        try await waitUntil("every client is refused") {
                            zip(tallies, refused).allSatisfy { $0.count(of: 503) >= $1 + 2 * Self.clients / ways.count }
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
                    try await waitUntilIssued(tallies)
                }
                #expect(tallies.allSatisfy { $0.lost == 0 }, "a gateway that runs answers every request")
                #expect(gateway.process.isRunning)
                try await expectRows(of: tallies, ways, at: site)
            }
        }

        private func waitUntilIssued(_ tallies: [Tally]) async throws {
            let before = tallies.map { $0.count(of: 201) }
            try await waitUntil("something is issued in every way") {
                zip(tallies, before).allSatisfy { $0.count(of: 201) >= $1 + Self.issued }
            }
        }

        /// Runs `body` with a gateway on a durable server, and a user. Durability is checked in the very sessions that
        /// record.
        private func withDurableDeployment(_ body: (Deployment, Asker, [Way]) async throws -> Void) async throws {
            var options = ClusterOptions()
            options.fsync = true
            // Nothing else writes out a commit that did not wait for the disk.
            options.settings["wal_writer_delay"] = "'10s'"
            let cluster = try await TestCluster(options)
            try await Deployment.with(cluster: cluster, settings: AskingGround.settings) { site in
                try await site.session().runScript(Self.watchSettings)
            } _: { site in
                let ground = try await site.makeAskingGround()
                try await body(site, try await site.makeAsker("alice", at: ground).asker, ground.ways)
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

        /// Runs `body` while clients ask without a pause, even after their connection was lost.
        private func underLoad(
            by asker: Asker, _ ways: [Way], at target: Target, _ tallies: [Tally], expected: Set<Int>,
            _ body: @escaping @Sendable () async throws -> Void
        ) async throws {
            let isOver = Flag()
            let requests = try ways.map { try $0.request(for: "k", by: asker) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await onThreads(Self.clients) { index in
                        let (request, tally) = (requests[index % ways.count], tallies[index % ways.count])
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

        private func expectRows(of tallies: [Tally], _ ways: [Way], at site: Deployment) async throws {
            let recorded = try await site.recordedNames()
            for (way, tally) in zip(ways, tallies) {
                let received = Set(tally.issued)
                #expect(received.count > Self.issued * Self.kills, "\(way)")
                #expect(received.subtracting(recorded).isEmpty, "\(way)")
                #expect(tally.wrong.isEmpty, "\(way)")
            }
            // The commit of a reservation does not wait for the disk.
            let withoutReservation = try await site.number(
                """
                SELECT count(*) FROM issuances i
                WHERE i.delivery = '\(Way.byPart.delivery)'
                    AND NOT EXISTS (SELECT FROM multipart_parts p WHERE p.issuance_id = i.id)
                """)
            #expect(withoutReservation == 0)
        }
    }
}

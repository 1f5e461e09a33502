import Foundation
import HTTPTesting
import PostgresTesting
import TestSupport
import Testing

/// Gateways that reach two primaries, and a database that goes back in time.
@Suite(.timeLimit(.minutes(3))) struct FailoverTests {
    @Test func `with two primaries alive, no link is lost and none rests on old policy`() async throws {
        let pair = try await SynchronousPair()
        try await Deployment.with(cluster: pair.primary, gateways: 0) { site in
            let servers = [pair.primary, pair.standby]
            let url =
                "host=\(servers.map(\.directory).joined(separator: ","))"
                + " port=\(servers.map { "\($0.port)" }.joined(separator: ",")) user=postgres"
                + " dbname=\(site.databaseName) target_session_attrs=read-write"
            let began = ContinuousClock.now
            for _ in 0..<3 { try await site.startGateway(["SLUICE_DATABASE_URL": url]) }
            let starts = ContinuousClock.now - began
            try await site.makeBucket("twins")
            let (alice, bob) = (try await site.makeUser("alice"), try await site.makeUser("bob"))
            try await site.grant(["GetObject"], to: alice.principal, in: "twins")
            let grant = try await site.grant(["GetObject"], to: bob.principal, in: "twins")
            let tallies = (0..<3).map { _ in Tally() }
            let (isRevoked, isOver, afterRevoke) = (Flag(), Flag(), Tally())
            let requests = try [alice, bob].map {
                try $0.client.request("POST", "/v1/presigned-urls", .download("k", from: "twins"))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await onThreads(6) { index in
                        var connection = KeptConnection()
                        let port = site.gateways[index % 3].port
                        while !isOver.isRaised {
                            let revokedBefore = isRevoked.isRaised
                            let answer = try connection.exchange(requests[index / 3], port: port)
                            if index < 3 {
                                tallies[index].note(answer, expected: [201, 503])
                            } else if revokedBefore {
                                afterRevoke.note(answer, expected: [403, 503])
                            }
                            if answer.status != 201 { Thread.sleep(forTimeInterval: 0.002) }
                        }
                    }
                }
                group.addTask {
                    defer { isOver.raise() }
                    try await self.waitForLinks(tallies)
                    try await pair.standby.promote()
                    let promoted = ContinuousClock.now
                    try await self.waitForLinks(tallies, 1)
                    let away = ContinuousClock.now - promoted
                    // Three starts, which look for a primary as well, tell how busy this machine is.
                    #expect(away < max(.seconds(3), starts * 3), "\(away) after the new primary accepts, \(starts)")
                    try await site.delete("grants", grant)
                    isRevoked.raise()
                    // Worse than any failover: the old primary confirms commits alone.
                    try await pair.primary.administrate("ALTER SYSTEM RESET synchronous_standby_names")
                    try await pair.primary.administrate("SELECT pg_reload_conf()")
                    try await waitUntil("no commit waits on the old primary") {
                        try await site.number(
                            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 0
                    }
                    let left = try await site.number("SELECT count(*) FROM issuances")
                    for _ in 0..<5 {
                        try await pair.standby.endSessions(where: "application_name = 'sluice'")
                        try await self.waitForLinks(tallies)
                    }
                    #expect(try await site.number("SELECT count(*) FROM issuances") == left)
                }
                try await group.waitForAll()
            }
            let recorded = try await site.recordedNames(in: pair.standby)
            let issued = tallies.flatMap(\.issued)
            let lost = issued.filter { !recorded.contains($0) }
            #expect(lost.isEmpty, "\(lost.count) of \(issued.count) links have no row on the new primary")
            #expect(afterRevoke.count(of: 201) == 0 && afterRevoke.count(of: 403) > 0, "\(afterRevoke.statuses)")
            #expect(tallies.filter { !$0.wrong.isEmpty }.isEmpty)
            for gateway in site.gateways {
                #expect(gateway.log.contains("another server is the primary"))
                // Once, however often the gateways look at it.
                #expect(gateway.log.split(separator: "not the primary any more takes writes; it is refused").count == 2)
                let metrics = try await APIClient(port: gateway.port).call("GET", "/metrics").text
                #expect(metrics.contains("\nsluice_database_primary_changes_total 1\n"))
            }
        }
        try await pair.standby.kill()
    }

    /// Waits until each gateway has issued more links.
    private func waitForLinks(_ tallies: [Tally], _ count: Int = 30) async throws {
        let before = tallies.map { $0.count(of: 201) }
        try await waitUntil("every gateway issues", seconds: 30) {
            zip(tallies, before).allSatisfy { $0.count(of: 201) >= $1 + count }
        }
    }

    @Test func `a database that went back in time is followed, with one line in the log`() async throws {
        try await Deployment.with { site in
            try await site.makeBucket("past")
            let (alice, bob) = (try await site.makeUser("alice"), try await site.makeUser("bob"))
            let grant = try await site.grant(["GetObject"], to: alice.principal, in: "past")
            #expect(try await alice.ask(.download("k", from: "past")).status == 201)
            let (name, copy) = (site.databaseName, "\(site.databaseName)_copy")
            try await closed(site) { try await site.cluster.administrate("CREATE DATABASE \(copy) TEMPLATE \(name)") }
            try await waitUntil("links flow again", seconds: 15) {
                try await alice.ask(.download("k", from: "past")).status == 201
            }
            try await site.delete("grants", grant)
            try await site.grant(["GetObject"], to: bob.principal, in: "past")
            #expect(try await alice.ask(.download("k", from: "past")).code == "AccessDenied")
            #expect(try await bob.ask(.download("k", from: "past")).status == 201)
            #expect(!site.log.contains("back in time"))
            try await closed(site) {
                try await site.cluster.dropDatabase(name)
                try await site.cluster.administrate("ALTER DATABASE \(copy) RENAME TO \(name)")
            }
            try await waitUntil("the restored grant holds", seconds: 15) {
                try await alice.ask(.download("k", from: "past")).status == 201
            }
            #expect(try await bob.ask(.download("k", from: "past")).code == "AccessDenied")
            #expect(site.log.split(separator: "the database went back in time").count == 2)
            let metrics = try await site.client().call("GET", "/metrics").text
            #expect(metrics.contains("\nsluice_database_setbacks_total 1\n"))
        }
    }

    /// Runs `body` while nobody is connected to the database.
    private func closed(_ site: Deployment, _ body: () async throws -> Void) async throws {
        let name = site.databaseName
        try await site.cluster.administrate("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
        try await site.cluster.endSessions(where: "datname = '\(name)'")
        try await body()
        try await site.cluster.administrate("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
    }
}

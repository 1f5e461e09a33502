import Foundation
import HTTPTesting
import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// The answer of `/readyz`, and whether anything is issued, while something is wrong. Both recover when the fault ends.
@Suite(.timeLimit(.minutes(3))) struct ReadinessTests {
    @Test func `what goes wrong with a database is named, and nothing is issued`() async throws {
        try await Deployment.with { site in
            let user = try await makeUser(at: site)
            for fault in [Fault.functionsGone, .functionsDiffer, .schemaEdited, .diskFull, .readOnly, .clockOff] {
                try await expect(fault, at: site, user)
            }
            try await expectNothingIssuedAfterMigration(at: site, user)
        }
    }

    /// Requests with keys record over connections of their own.
    @Test func `a full disk is named where all requests have idempotency keys`() async throws {
        try await Deployment.with { site in
            let user = try await makeUser(at: site)
            let link = JSON.download("k", from: "ready")
            func ask() async throws -> Int {
                let headers = [(name: "Idempotency-Key", value: UUID().uuidString)]
                return try await user.client.call("POST", "/v1/presigned-urls", link, headers: headers).status
            }
            #expect(try await ask() == 201)
            try await Fault.diskFull.begin(site)
            try await waitUntil("nothing is issued", seconds: 15) { try await ask() == 503 }
            try await expectFlaw(("recordings", "disk is full"), "the full disk", at: user.client.port)
            try await Fault.diskFull.end(site)
            try await waitUntil("ready again", seconds: 15) {
                try await readiness(at: user.client.port).status == 200
            }
            #expect(try await ask() == 201)
        }
    }

    /// Nobody saw it for half a minute, in which another gateway started with another key of the same name.
    @Test func `a gateway whose master keys no longer fit after an absence says so, and serves`() async throws {
        try await Deployment.with { site in
            let user = try await makeUser(at: site)
            let session = try site.session()
            let rival = Deployment.rival
            // Again and again, because a heartbeat that is under way ends the absence before it is seen.
            try await waitUntil("the gateway is not ready", seconds: 30) {
                try await session.runScript(
                    """
                    UPDATE gateways SET last_seen_at = now() - interval '31 s' WHERE id <> '\(rival)';
                    SELECT note_gateway(
                        '\(rival)', '1.0.0', now(), now(), NULL, NULL, '{k1:0123456789abcdef}', 1, '')
                    """)
                return try await readiness(at: user.client.port).status == 503
            }
            try await expectFlaw(("masterKeys", "master keys do not fit"), "another key", at: user.client.port)
            #expect(try await user.ask(.download("k", from: "ready")).status == 201)
            try await session.runScript("DELETE FROM gateways WHERE id = '\(rival)'")
            try await waitUntil("ready again", seconds: 15) {
                try await readiness(at: user.client.port).status == 200
            }
            let gateway = site.gateways[0]
            try await waitUntil("the log says so") { gateway.log.contains("the master keys fit again") }
            let lines = gateway.log.split(separator: "\n")
            let told = lines.filter { $0.contains("its master keys no longer fit") }
            #expect(told.count == 1, "\(told.joined(separator: "\n"))")
            #expect(told.first?.contains("running gateways have another master key 'k1': \(rival)") == true)
            #expect(told.first?.contains("All gateways of a database need the same keys.") == true)
            #expect(told.first?.contains("end it, or reload it with the right ones, before another gateway") == true)
            await session.close()
        }
    }

    @Test func `a locked ledger is named, and nothing is issued`() async throws {
        try await Deployment.with { site in
            try await expect(.ledgerLocked, at: site, try await makeUser(at: site))
        }
    }

    @Test func `grants that are locked are named once no rows are in memory, and links flow until then`() async throws {
        try await Deployment.with { site in
            let user = try await makeUser(at: site)
            let link = JSON.download("k", from: "ready")
            #expect(try await user.client.call("POST", "/v1/presigned-urls", link).status == 201)
            let holder = try site.session()
            try await holder.runScript("BEGIN; LOCK TABLE grants IN ACCESS EXCLUSIVE MODE")
            #expect(try await user.client.call("POST", "/v1/presigned-urls", link).status == 201)
            #expect(try await readiness(at: user.client.port).status == 200)
            await holder.close()
            try await expect(.grantsLocked, at: site, user)
        }
    }

    @Test func `sessions that are ended over and over, and a locked ledger, have two lines in the log`() async throws {
        try await Deployment.with { site in
            let user = try await makeUser(at: site)
            try await expectTwoLines(about: .sessionsEnded, refused: 50, at: site, user)
            try await expectTwoLines(about: .ledgerLocked, refused: 12, precededByOthers: true, at: site, user)
        }
    }

    @Test func `a first host that is dead is no fault`() async throws {
        try await Deployment.with { site in
            let user = try await makeUser(at: site)
            let dead = try RunningProcess(["/usr/bin/perl", "-e", Self.listener], environment: [:])
            try await waitUntil("somebody listens who never answers") { dead.output.hasSuffix("\n") }
            let port = dead.output.trimmingCharacters(in: .whitespacesAndNewlines)
            let url =
                "host=127.0.0.1,\(site.cluster.directory) port=\(port),\(site.cluster.port) user=postgres"
                + " dbname=\(site.databaseName)"
            let gateway = try await site.startGateway(["SLUICE_DATABASE_URL": url])
            try await waitUntil("the gateway is ready", seconds: 15) {
                try await readiness(at: gateway.port).status == 200
            }
            try await waitUntil("links flow", seconds: 15) {
                try await user.client.at(gateway.port).ask(.download("k", from: "ready")).status == 201
            }
            #expect(try await readiness(at: gateway.port).status == 200)
            dead.signal(SIGKILL)
        }
    }

    @Test func `what goes wrong with a server is named, has two lines in the log, and recovers`() async throws {
        var options = ClusterOptions()
        options.settings["max_connections"] = "50"
        let cluster = try await TestCluster(options)
        try await Deployment.with(cluster: cluster) { site in
            let user = try await makeUser(at: site)
            for fault in [Fault.noConnectionLeft, .standbyDown, .suspended] {
                try await expect(fault, at: site, user)
            }
            try await expectTwoLines(about: .stopped, at: site, user)
        }
        try await cluster.stop()
    }

    /// Accepts connections and never answers on them.
    private static let listener = """
        use Socket; $| = 1;
        socket(S, PF_INET, SOCK_STREAM, 0) && bind(S, sockaddr_in(0, INADDR_LOOPBACK)) && listen(S, 9) or die;
        print((sockaddr_in(getsockname S))[0], "\\n");
        sleep;
        """

    private func makeUser(at site: Deployment) async throws -> User {
        try await site.makeBucket("ready")
        let user = try await site.makeUser("alice")
        try await site.grant(["GetObject"], to: user.principal, in: "ready")
        try await waitUntil("the gateway is ready", seconds: 10) {
            try await readiness(at: user.client.port).status == 200
        }
        return user
    }

    /// Asks whether a gateway is ready; the answer comes at once, whatever hangs.
    private func readiness(at port: UInt16) async throws -> Answer {
        // A gateway that asked a database which hangs would take three seconds each time; a machine may stop once.
        for isLast in [false, true] {
            let start = ContinuousClock.now
            let answer = try await APIClient(port: port).call("GET", "/readyz")
            if ContinuousClock.now - start < .milliseconds(2500) { return answer }
            if isLast { Issue.record("answers come from memory") }
        }
        return try await APIClient(port: port).call("GET", "/readyz")
    }

    /// Applies a fault, checks its effects, and ends it.
    private func expect(_ fault: Fault, at site: Deployment, _ user: User) async throws {
        let link = JSON.download("k", from: "ready")
        #expect(try await user.ask(link).status == 201, "before: \(fault.name)")
        try await fault.begin(site)
        if let flaw = fault.flaw {
            // Both at once, since a recording that hangs is waited for.
            async let isRefused: Void = waitUntil("\(fault.name): answer \(fault.status)", seconds: 30) {
                try await user.ask(link).status == fault.status
            }
            try await expectFlaw(flaw, fault.name, at: user.client.port)
            try await isRefused
        } else {
            try await expectReady(fault, at: site, user)
        }
        try await fault.end(site)
        try await waitUntil("after \(fault.name): ready again", seconds: 15) {
            try await readiness(at: user.client.port).status == 200
        }
        try await waitUntil("after \(fault.name): links flow again", seconds: 15) {
            try await user.ask(link).status == 201
        }
    }

    private func expectFlaw(_ flaw: (check: String, text: String), _ name: String, at port: UInt16) async throws {
        var said = ""
        do {
            try await waitUntil("\(name) is named", seconds: 30) {
                let answer = try await readiness(at: port)
                said = answer.text
                guard answer.status == 503 else { return false }
                return answer.json["checks"].items.contains {
                    $0["name"].text == flaw.check && $0["flaw"].text?.contains(flaw.text) == true
                }
            }
        } catch {
            Issue.record("\(name): /readyz says \(said)")
        }
    }

    /// Expects that the gateway stays ready through several checks, over its existing connections.
    private func expectReady(_ fault: Fault, at site: Deployment, _ user: User) async throws {
        let session = try #require(site.heldSessions.first)
        let gateway = site.gateways[0]
        let outages = gateway.log.count(of: "outage begins")
        var looks: Set<Int64> = []
        try await waitUntil("\(fault.name): the gateway has looked", seconds: 10) {
            #expect(try await readiness(at: user.client.port).status == 200, "\(fault.name)")
            looks.insert(try await session.number(Self.lastLook))
            return looks.count == 4
        }
        for _ in 0..<10 {
            #expect(try await user.ask(.download("k", from: "ready")).status == fault.status, "\(fault.name)")
        }
        #expect(try await readiness(at: user.client.port).status == 200, "\(fault.name)")

        // A request with a key records over a connection of its own, for which there is none.
        let headers = [(name: "Idempotency-Key", value: UUID().uuidString)]
        let link = JSON.download("k", from: "ready")
        #expect(try await user.client.call("POST", "/v1/presigned-urls", link, headers: headers).status == 503)
        try await waitUntil("\(fault.name): the log tells of it", seconds: 15) {
            gateway.log.contains("connections failed while others worked")
        }
        #expect(gateway.log.count(of: "outage begins") == outages, "\(fault.name)")
    }

    /// The time when a gateway last checked whether recordings succeed, in microseconds.
    private static let lastLook = """
        SELECT coalesce(max(extract(epoch FROM query_start) * 1000000), 0) FROM pg_stat_activity
        WHERE application_name = 'sluice' AND query LIKE '%INSERT INTO reservations%WHERE false%'
        """

    /// Expects that no link is issued after the commit of a migration, whatever the gateway holds in memory.
    private func expectNothingIssuedAfterMigration(at site: Deployment, _ user: User) async throws {
        let link = JSON.download("k", from: "ready")
        #expect(try await user.ask(link).status == 201)
        let before = site.gateways[0].log.split(separator: "\n").count
        try await Fault.schemaChanged.begin(site)
        let issued = try await site.number("SELECT count(*) FROM issuances")
        for _ in 0..<20 { #expect(try await user.ask(link).status == 503) }
        try await expectFlaw(("schema", "serves gateways from schema version"), "schema changed", at: user.client.port)
        let lines = site.gateways[0].log.split(separator: "\n").dropFirst(before).filter {
            $0.contains("run 'sluice migrate', or start") && !$0.contains("outage ends")
        }
        // Whoever notices first may not know what differs. It is said once.
        let isDetailed = lines.map { $0.contains("serves gateways from schema version") }
        #expect(isDetailed == [true] || isDetailed == [false, true], "\(lines.joined(separator: "\n"))")
        #expect(try await site.number("SELECT count(*) FROM issuances") == issued)
        try await Fault.schemaChanged.end(site)
        try await waitUntil("links flow again", seconds: 15) { try await user.ask(link).status == 201 }
    }

    /// Expects two log lines for an outage under load: one when it begins, one when it ends, and between them only
    /// lines of requests.
    private func expectTwoLines(
        about fault: Fault, refused: Int = 300, precededByOthers: Bool = false, at site: Deployment, _ user: User
    ) async throws {
        let gateway = site.gateways[0]
        try await waitUntil("the outage before is over") {
            gateway.log.count(of: "outage begins") == gateway.log.count(of: "outage ends")
        }
        let before = gateway.log.split(separator: "\n").count
        let outages = gateway.log.count(of: "outage ends")
        let request = try user.client.request("GET", "/v1/access")
        let asking = try user.client.request("POST", "/v1/presigned-urls", .download("k", from: "ready"))
        let tally = Tally()
        let isOver = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await onThreads(8) { index in
                    var connection = KeptConnection()
                    while !isOver.isRaised {
                        // The requests ask different stores of rows.
                        let start = ContinuousClock.now
                        let answer = try connection.exchange(index == 0 ? request : asking, port: gateway.port)
                        let took = ContinuousClock.now - start
                        if answer.status == 503 { #expect(answer["Retry-After"] != nil && took < .seconds(16)) }
                        tally.note(answer, expected: [200, 201, 503])
                        if answer.status == 503 { Thread.sleep(forTimeInterval: 0.005) }
                    }
                }
            }
            group.addTask {
                defer { isOver.raise() }
                try await waitUntil("links flow") { tally.count(of: 201) >= 50 }
                try await fault.begin(site)
                try await waitUntil("many are refused") { tally.count(of: 503) >= refused }
                if let flaw = fault.flaw { try await expectFlaw(flaw, fault.name, at: gateway.port) }
                try await fault.end(site)
                let issued = tally.count(of: 201)
                try await waitUntil("links flow again", seconds: 20) { tally.count(of: 201) >= issued + 50 }
                try await waitUntil("the outage is over", seconds: 20) {
                    gateway.log.count(of: "outage ends") > outages
                }
            }
            try await group.waitForAll()
        }
        var lines = gateway.log.split(separator: "\n").dropFirst(before).filter { !$0.contains("Request answered") }
        // A lock is waited for, in vain, before it is an outage: by the database, or until the request's deadline.
        if precededByOthers {
            lines.removeAll { line in
                !line.contains("outage") && ["lock timeout", "deadline exceeded"].contains { line.contains($0) }
            }
        }
        #expect(lines.count == 2, "\(lines.joined(separator: "\n"))")
        #expect(lines.first?.contains("outage begins") == true)
        #expect(lines.last?.contains("outage ends") == true)
        guard !precededByOthers else { return }
        #expect(lines.last?.contains("requests.refused=\(tally.count(of: 503))") == true, "\(lines.last ?? "")")
    }
}

extension String {
    fileprivate func count(of text: String) -> Int {
        split(separator: text, omittingEmptySubsequences: false).count - 1
    }
}

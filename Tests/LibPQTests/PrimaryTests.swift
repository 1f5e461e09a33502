import Figures
import Logging
import PostgresTesting
import TestSupport
import Testing

@testable import LibPQ

/// Servers that take writes at the same time, and connections that must go to one of them only.
@Suite(.timeLimit(.minutes(2))) struct PrimaryTests {
    private static let port = query("SELECT current_setting('unix_socket_directories')", as: String.self)
    /// When each other session was asked last.
    private static let questions = query(
        """
        SELECT query_start::text FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND query_start IS NOT NULL
        """, as: String.self)

    private func configuration(
        _ clusters: [TestCluster], _ primary: Primary?
    ) throws -> PostgresConfiguration {
        var configuration = try PostgresConfiguration(
            connectionString: "host=\(clusters.map(\.directory).joined(separator: ",")) "
                + "port=\(clusters.map { "\($0.port)" }.joined(separator: ",")) user=postgres dbname=postgres "
                + "target_session_attrs=read-write",
            applicationName: "judged")
        configuration.primary = primary
        return configuration
    }

    /// Waits until a connection leads somewhere, and expects that this is a cluster.
    private func expectLead(of connection: PostgresConnection, to cluster: TestCluster) async throws {
        var directories: [String]?
        try await eventually {
            directories = try? await connection.execute(Self.port)
            return directories != nil
        }
        #expect(directories == [cluster.directory])
    }

    @Test func `a primary that another has replaced gets no connection, whatever it says`() async throws {
        let old = try await TestCluster(ClusterOptions())
        let new = try await TestCluster(standbyOf: old)
        let primary = Primary(logger: quiet)
        let changes = Counter()
        primary.onChange { changes.add() }
        // The old primary comes first in the list, and it takes writes at every time.
        let configuration = try configuration([old, new], primary)
        let watch = PrimaryWatch(configuration, primary: primary)
        try await watch.look()
        let watching = Task { await watch.run() }
        defer { watching.cancel() }
        let connection = PostgresConnection(configuration, logger: quiet)
        #expect(try await connection.execute(Self.port) == [old.directory])
        let before = try #require(primary.identity)
        #expect(before.timeline == 1)

        // A statement that is under way on the old primary ends when the new one is seen.
        let busy = PostgresConnection(configuration, logger: quiet)
        let sleep = query("SELECT pg_sleep(60)::text", as: String.self)
        async let cut = postgresError { _ = try await busy.execute(sleep) }
        let start = ContinuousClock.now
        try await new.promote()
        guard case .connectionLost(let reason)? = await cut else { return #expect(Bool(false), "it was not cut") }
        #expect(reason.contains("another server") && ContinuousClock.now - start < .seconds(30))
        #expect(primary.identity == ServerIdentity(system: before.system, timeline: 2))
        #expect(changes.value == 1)

        let direct = try PostgresConnection(self.configuration([new], nil), logger: quiet)
        // How long a session takes on this machine while a server accepts.
        var longest = Duration.zero
        for _ in 0..<10 {
            try await direct.endSessions(where: "backend_type = 'client backend'")
            let start = ContinuousClock.now
            let again = PostgresConnection(configuration, logger: quiet)
            try await expectLead(of: again, to: new)
            longest = max(longest, ContinuousClock.now - start)
        }
        // With the new one gone, the old one is no substitute.
        try await new.kill()
        for _ in 0..<20 {
            let error = await postgresError { _ = try await connection.execute(Self.port) }
            guard case .unavailable? = error else {
                #expect(Bool(false), "\(String(describing: error))")
                break
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        try await new.start()
        let accepts = ContinuousClock.now
        try await expectLead(of: connection, to: new)
        let took = ContinuousClock.now - accepts
        #expect(took < max(.seconds(3), longest * 10), "\(took), usually \(longest)")
        watching.cancel()
        await watching.value
        try await old.kill()
        try await new.kill()
    }

    @Test func `while no server serves, a call fails at once`() async throws {
        let primary = Primary(logger: quiet)
        let cluster = try await TestCluster(ClusterOptions())
        let configuration = try configuration([cluster], primary)
        let watch = PrimaryWatch(configuration, primary: primary)
        try await watch.look()
        let connection = PostgresConnection(configuration, logger: quiet)
        #expect(try await connection.execute(Self.port) == [cluster.directory])
        // A server that stands still takes connections and answers on none.
        try await cluster.suspend()
        await connection.close()
        let begin = ContinuousClock.now
        await #expect(throws: PostgresError.self) { try await watch.look() }
        let look = ContinuousClock.now - begin
        let start = ContinuousClock.now
        for _ in 0..<10 { #expect(await postgresError { _ = try await connection.execute(Self.port) } != nil) }
        #expect(ContinuousClock.now - start < look, "calls do not wait for the server, as a look does")
        try await cluster.resume()
        try await eventually { await postgresError { try await watch.look() } == nil }
        #expect(try await connection.execute(Self.port) == [cluster.directory])
        try await cluster.kill()
    }

    @Test func `while no server serves, looks that fail count as failed attempts to connect`() async throws {
        let primary = Primary(logger: quiet)
        let (old, new) = (try await TestCluster(ClusterOptions()), try await TestCluster(ClusterOptions()))
        var configuration = try configuration([old, new], primary)
        let outage = Outage(logger: quiet)
        configuration.outage = outage
        try await new.kill()
        let watch = PrimaryWatch(configuration, primary: primary, interval: .milliseconds(20))
        let watching = Task { await watch.run() }
        try await eventually { primary.identity != nil }
        let before = outage.failedConnections.value
        let observer = PostgresConnection(try self.configuration([old], nil), logger: quiet)
        var looks: Set<String> = []
        try await eventually {
            let times = try await observer.execute(Self.questions)
            looks.formUnion(times)
            return looks.count >= 10
        }
        #expect(outage.failedConnections.value == before, "one server serves")
        await observer.close()
        try await old.kill()
        try await eventually { outage.failedConnections.value >= before + 3 }
        watching.cancel()
        await watching.value
    }
}

/// The choice of a server from what each of them shows.
@Suite struct PrimaryChoiceTests {
    private func seen(_ system: String, _ timeline: UInt32) -> ServerSighting {
        .primary(ServerIdentity(system: system, timeline: timeline))
    }

    @Test func `the highest timeline serves, and a lower one never again`() throws {
        let primary = Primary(logger: quiet)
        #expect(throws: PostgresError.self) { try primary.target() }
        primary.note(seen("a", 1), at: 0)
        #expect(try primary.target() == 0)
        let admission = try primary.admit(seen("a", 1), at: 0)
        primary.note(.standby(system: "a"), at: 1)
        #expect(admission.isCurrent)
        primary.note(seen("a", 2), at: 1)
        #expect(try primary.target() == 1 && !admission.isCurrent)
        #expect(throws: PostgresError.self) { try primary.admit(seen("a", 1), at: 0) }
        primary.note(.failed(.deadlineExceeded), at: 1)
        #expect(throws: PostgresError.self) { try primary.target() }
        primary.note(seen("a", 1), at: 0)
        #expect(throws: PostgresError.self) { try primary.target() }
        primary.note(seen("a", 3), at: 0)
        #expect(try primary.target() == 0)
    }

    @Test func `a login that ends late does not bring back the primary before`() throws {
        let primary = Primary(logger: quiet)
        primary.note(seen("a", 1), at: 0)
        primary.note(seen("a", 2), at: 0)
        #expect(throws: PostgresError.self) { try primary.admit(seen("a", 1), at: 0) }
        #expect(throws: PostgresError.self) { try primary.admit(.standby(system: "a"), at: 0) }
        #expect(try primary.target() == 0)
        #expect(primary.identity?.timeline == 2)
    }

    @Test func `a primary that nobody has replaced is not called stale while no server serves`() throws {
        let primary = Primary(logger: quiet)
        primary.note(seen("a", 1), at: 0)
        primary.note(.failed(.deadlineExceeded), at: 0)
        let vacant = PostgresError.unavailable(reason: "no server serves at the moment")
        #expect(throws: vacant) { try primary.admit(seen("a", 1), at: 0) }
        primary.note(seen("a", 2), at: 1)
        let stale = PostgresError.unavailable(
            reason: "the server was the primary once; another one has taken its place")
        #expect(throws: stale) { try primary.admit(seen("a", 1), at: 0) }
    }

    @Test func `another system is taken only when nothing of the known one is to be seen`() throws {
        let primary = Primary(logger: quiet)
        primary.note(seen("a", 5), at: 0)
        primary.note(.standby(system: "a"), at: 1)
        primary.note(seen("b", 9), at: 2)
        #expect(try primary.target() == 0)
        let admission = try primary.admit(seen("a", 5), at: 0)
        primary.note(.failed(.deadlineExceeded), at: 0)
        #expect(throws: PostgresError.self) { try primary.target() }
        primary.note(.failed(.deadlineExceeded), at: 1)
        #expect(try primary.target() == 2 && !admission.isCurrent)
        #expect(primary.identity == ServerIdentity(system: "b", timeline: 9))
    }

    @Test func `a second address of the primary is no reason to leave the first`() throws {
        let primary = Primary(logger: quiet)
        primary.note(seen("a", 1), at: 1)
        let admission = try primary.admit(seen("a", 1), at: 1)
        primary.note(seen("a", 1), at: 0)
        #expect(try primary.target() == 1 && admission.isCurrent)
    }
}

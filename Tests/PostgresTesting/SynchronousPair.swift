import LibPQ

/// A server whose commits wait for a standby, and that standby.
///
/// The standby may be stopped, killed or suspended like any cluster. The primary's commits then wait for its return.
public final class SynchronousPair: Sendable {
    /// The server that takes all writes until ``failOver()``.
    public let primary: TestCluster
    /// The server that has everything the primary has reported as committed.
    public let standby: TestCluster

    /// Starts both servers.
    public init(_ options: ClusterOptions = ClusterOptions()) async throws {
        var options = options
        options.settings.merge(["wal_retrieve_retry_interval": "'50ms'"]) { given, _ in given }
        primary = try await TestCluster(options)
        standby = try await TestCluster(standbyOf: primary)
        // On the primary alone, and after the copy: the standby waits for nobody once it is promoted.
        try await primary.administrator.runScript("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try await primary.administrator.runScript("SELECT pg_reload_conf()")
        try await waitUntilSynchronous()
    }

    /// Waits until commits wait for the standby, for example after it was started again.
    public func waitUntilSynchronous() async throws {
        while try await primary.administrator.execute(Self.isSynchronous).first != true {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Kills the primary and promotes the standby, with what it had received, whatever its state was.
    public func failOver() async throws {
        try await primary.kill()
        // What a suspended standby has not yet read must die with it. If it were resumed, it would still read that.
        try await standby.kill()
        try await standby.start()
        try await standby.promote()
    }

    private static let isSynchronous = Statement<Void, Bool>(
        "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming')"
    ) { row throws(PostgresError) in try row.decode(0) }
}

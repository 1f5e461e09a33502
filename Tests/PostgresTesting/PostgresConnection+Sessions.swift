public import LibPQ

extension PostgresConnection {
    /// Ends the sessions for which a condition on `pg_stat_activity` holds, and waits until they are gone.
    ///
    /// For a session that ends by itself at the same moment, the server warns. After a write, the connection takes a
    /// warning for a failure, so the server is told not to.
    public func endSessions(where condition: String) async throws {
        try await runScript(
            """
            SET client_min_messages = error;
            SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND \(condition);
            RESET client_min_messages
            """)
    }
}

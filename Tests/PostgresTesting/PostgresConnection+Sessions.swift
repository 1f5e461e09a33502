public import LibPQ
import TestSupport

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

    /// Counts the other sessions of this database that wait for locks.
    ///
    /// - Parameters:
    ///   - statement: What they execute, as a pattern of `LIKE`.
    ///   - event: The kind of lock, as `wait_event` names it; `nil` for any.
    public func blocked(in statement: String = "%", on event: String? = nil) async throws -> Int64 {
        // Otherwise, a transaction would see the sessions and their statements as at its first look.
        try await runScript("SELECT pg_stat_clear_snapshot()")
        return try await number(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'
                AND query LIKE '\(statement)' AND wait_event LIKE '\(event ?? "%")'
            """)
    }

    /// Waits until other sessions of this database wait for locks, a minute at most.
    ///
    /// - Parameters:
    ///   - count: How many at least.
    ///   - statement: What they execute, as a pattern of `LIKE`.
    ///   - event: The kind of lock, as `wait_event` names it; `nil` for any.
    public nonisolated func waitForBlocked(
        _ count: Int64 = 1, in statement: String = "%", on event: String? = nil
    ) async throws {
        try await waitUntil("\(count) or more sessions wait for locks in '\(statement)'") {
            try await blocked(in: statement, on: event) >= count
        }
    }
}

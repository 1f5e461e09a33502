/// Tells one history of a database system from all others.
public struct ServerIdentity: Sendable, Equatable {
    /// The number that `initdb` gave the system. Its standbys and its restored copies have the same one.
    var system: String
    /// Number of the history within the system, from 1. Each promotion begins a new one, with a higher number.
    var timeline: UInt32
}

/// What a look at a server shows.
enum ServerSighting: Sendable {
    /// A server that takes writes.
    case primary(ServerIdentity)
    /// A standby of a system.
    case standby(system: String)
    /// No answer, or one that is an error.
    case failed(PostgresError)

    /// Looks at the server of a session.
    ///
    /// The name of the current WAL file begins with the timeline. The control file has it too, but after a promotion it
    /// shows the old one until the next checkpoint.
    static let look = Statement<Void, Self>(
        """
        SELECT c.system_identifier::text,
            CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END
        FROM pg_control_system() AS c
        """, onlyReads: true
    ) { row throws(PostgresError) in
        let system: String = try row.next()
        guard let file: String = try row.next(as: String?.self) else { return .standby(system: system) }
        guard let timeline = UInt32(file.prefix(8), radix: 16) else {
            throw .decoding(column: 1, reason: "not the name of a WAL file")
        }
        return .primary(ServerIdentity(system: system, timeline: timeline))
    }
}

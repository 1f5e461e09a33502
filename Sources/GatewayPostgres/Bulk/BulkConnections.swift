import GatewayCore
public import LibPQ
public import Logging
import Synchronization

/// Opens connections for long work with temporary tables: one per piece of work, up to a limit.
public final class BulkConnections: Sendable {
    private let configuration: PostgresConfiguration
    private let limit: Int
    private let logger: Logger
    private let open = Mutex(Open())

    /// What a connection is used for.
    enum Work: Sendable {
        /// A batch or an import.
        case changing
        /// An export lasts as long as its client reads. At most half of the connections serve exports, so that slow
        /// clients do not keep admins from changing grants.
        case exporting
    }

    /// Numbers of open connections.
    private struct Open {
        var all = 0
        var exporting = 0
    }

    /// Settings for the sessions.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("synchronous_commit", "on"), ("statement_timeout", "1800s"), ("lock_timeout", "2s"),
        ("idle_in_transaction_session_timeout", "1s"),
        ("temp_buffers", "64MB"), ("work_mem", "64MB"), PostgresConfiguration.endingWithClient,
    ]

    /// Collects failures of the database.
    var outage: Outage? { configuration.outage }

    /// Creates the set without opening a connection.
    ///
    /// - Parameters:
    ///   - configuration: Logs in as the gateway, with ``sessionSettings``.
    ///   - limit: Maximum number of connections open at once. Exports have at most half of them, and at least one.
    ///   - logger: Logger for the connections.
    public init(_ configuration: PostgresConfiguration, limit: Int, logger: Logger) {
        self.configuration = configuration
        self.limit = limit
        self.logger = logger
    }

    /// Holds a connection open for as long as the lease exists.
    final class Lease: Sendable {
        let connection: PostgresConnection
        private let owner: BulkConnections
        private let work: Work

        fileprivate init(_ connection: PostgresConnection, of owner: BulkConnections, for work: Work) {
            self.connection = connection
            self.owner = owner
            self.work = work
        }

        deinit {
            owner.open.withLock { open in
                open.all -= 1
                if work == .exporting { open.exporting -= 1 }
            }
        }
    }

    /// Opens a connection, unless the limit is reached.
    func lease(for work: Work) throws(GatewayError) -> Lease {
        let isFree = open.withLock { open in
            guard open.all < limit, work == .changing || open.exporting < max(1, limit / 2) else { return false }
            open.all += 1
            if work == .exporting { open.exporting += 1 }
            return true
        }
        guard isFree else { throw .slowDown(retryAfter: 5, cause: "all connections for imports and exports are taken") }
        return Lease(PostgresConnection(configuration, logger: logger), of: self, for: work)
    }
}

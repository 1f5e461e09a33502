import GatewayCore
public import LibPQ
public import Logging
import Synchronization

/// Connections for work that takes long and keeps tables of its own: one for each piece of work, and not many at once.
public final class BulkConnections: Sendable {
    private let configuration: PostgresConfiguration
    private let limit: Int
    private let logger: Logger
    private let open = Mutex(0)

    /// Settings that sessions should have.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("synchronous_commit", "on"), ("default_transaction_isolation", "read committed"),
        ("statement_timeout", "1800s"), ("lock_timeout", "2s"), ("idle_in_transaction_session_timeout", "1s"),
        ("jit", "off"), ("temp_buffers", "64MB"), ("work_mem", "64MB"),
    ]

    /// Where failures of the database are gathered.
    var outage: Outage? { configuration.outage }

    /// Opens no connection yet.
    ///
    /// - Parameters:
    ///   - configuration: Logs in as the gateway, with ``sessionSettings``.
    ///   - limit: How many connections there may be at once.
    public init(_ configuration: PostgresConfiguration, limit: Int, logger: Logger) {
        self.configuration = configuration
        self.limit = limit
        self.logger = logger
    }

    /// A connection, as long as somebody holds it.
    final class Lease: Sendable {
        let connection: PostgresConnection
        private let owner: BulkConnections

        fileprivate init(_ connection: PostgresConnection, of owner: BulkConnections) {
            self.connection = connection
            self.owner = owner
        }

        deinit {
            owner.open.withLock { $0 -= 1 }
        }
    }

    /// Makes a connection, unless there are too many.
    func lease() throws(GatewayError) -> Lease {
        let isFree = open.withLock { open in
            guard open < limit else { return false }
            open += 1
            return true
        }
        guard isFree else { throw .slowDown(retryAfter: 5, cause: "all connections for imports and exports are taken") }
        return Lease(PostgresConnection(configuration, logger: logger), of: self)
    }
}

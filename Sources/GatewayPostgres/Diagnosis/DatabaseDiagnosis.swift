public import FoundationEssentials
public import LibPQ

/// Reads from a database what an operator has to get right. It changes nothing: its sessions are read-only.
public struct DatabaseDiagnosis: Sendable {
    private let connection: PostgresConnection

    /// Settings for the sessions. Those for durability are the gateway's, to see whether the server keeps them.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("default_transaction_read_only", "on"), ("synchronous_commit", "on"), ("statement_timeout", "10s"),
        ("lock_timeout", "2s"), ("idle_in_transaction_session_timeout", "5s"),
    ]

    /// Creates a diagnosis.
    ///
    /// - Parameter connection: Logged in as the gateway, with ``sessionSettings``.
    public init(connection: PostgresConnection) {
        self.connection = connection
    }

    /// Reads the server's version and settings. It needs no schema.
    public func server() async throws(PostgresError) -> ServerFacts {
        guard let facts = try await connection.execute(Self.readServer).first else {
            throw .decoding(column: 0, reason: "no row")
        }
        return facts
    }

    /// Reads what the login may do in a migrated database.
    public func login() async throws(PostgresError) -> LoginFacts {
        guard let facts = try await connection.execute(Self.readLogin).first else {
            throw .decoding(column: 0, reason: "no row")
        }
        return facts
    }

    /// Lists functions that are on record as applied and do not exist.
    public func missingFunctions() async throws(PostgresError) -> [String] {
        try await connection.execute(Migrator.readMissingFunctions)
    }

    /// Lists those of today and tomorrow for which the ledger has no partition, by UTC.
    public func missingDays() async throws(PostgresError) -> [String] {
        try await connection.execute(Self.readMissingDays)
    }

    /// Reads how many locks the server has room for, and how many the days of the ledger take.
    public func lockRoom() async throws(PostgresError) -> LockRoom {
        guard let room = try await connection.execute(Self.readLockRoom).first else {
            throw .decoding(column: 0, reason: "no row")
        }
        return room
    }

    /// Counts the rows that each master key seals, by identifier.
    public func sealedRows() async throws(PostgresError) -> [(keyID: String, count: Int64)] {
        try await connection.execute(Self.countSealed)
    }

    /// Lists the gateways that run.
    public func runningGateways() async throws(PostgresError) -> [RunningGateway] {
        try await connection.execute(Self.readGateways)
    }

    /// Lists the URLs that gateways call, with the rows that name them.
    public func endpoints() async throws(PostgresError) -> [CalledEndpoint] {
        try await connection.execute(Self.readEndpoints)
    }
}

/// The version and settings of a server.
public struct ServerFacts: Sendable, Equatable {
    /// Version as a number, for example 150004.
    var versionNumber: Int32
    /// Version as text, for example `15.4`.
    public var version: String
    /// Name of the database.
    public var database: String
    /// Encoding of the database, for example `UTF8`.
    public var encoding: String
    /// Whether the server is a standby.
    public var isStandby: Bool
    /// Whether transactions of a session that sets nothing are read-only.
    public var isReadOnly: Bool
    /// `synchronous_commit` in a session that asked for `on`.
    public var synchronousCommit: String
    /// `synchronous_commit` in a session that asked for nothing.
    var initialSynchronousCommit: String
    /// Whether the server's configuration says that commits may be lost: `sluice.accepts_loss` is on.
    var acceptsLoss: Bool
    /// Names of server settings without which a commit may be lost, and which are off.
    var unsafeSettings: [String]
    /// The synchronous standbys; empty for none.
    public var synchronousStandbys: String
    /// The server's clock.
    public var clock: Date
}

/// How many locks a server has room for, and how many the days of the ledger take.
public struct LockRoom: Sendable, Equatable {
    /// `max_locks_per_transaction`.
    public var setting: Int64
    /// Number of transactions that may run at once. They share a room of the setting for each of them.
    var transactions: Int64
    /// Number of days that the ledger has.
    public var days: Int64
    /// Number of locks that a statement takes that cannot leave days out: one for each table and each index of a day.
    public var ofLedger: Int64

    /// Number of such statements that must have room at once: those of gateways, upkeep, reports and backups.
    private static let statements: Int64 = 4
    /// Number of locks for a day that is over.
    private static let ofDay: Int64 = 7

    /// Number of locks that have room.
    public var room: Int64 { setting * transactions }

    /// Whether the room is too small for the days that there are.
    public var isShort: Bool { room < Self.statements * ofLedger }

    /// A setting that is enough for these days and those of a year more.
    public var sufficientSetting: Int64 {
        let needed = Self.statements * (ofLedger + Self.ofDay * 365) / transactions
        return (needed / 64 + 1) * 64
    }
}

/// What a login may do.
public struct LoginFacts: Sendable, Equatable {
    /// Name of the login.
    public var name: String
    /// Whether it is a superuser.
    public var isSuperuser: Bool
    /// Whether the role `sluice_gateway` exists.
    public var hasGroupRole: Bool
    /// Whether the login has the rights of that role.
    public var isInGroupRole: Bool
    /// Whether the login owns the schema, directly or through a role.
    public var ownsSchema: Bool
    /// Whether it may create objects in the schema.
    public var mayCreate: Bool
    /// Whether it may create temporary tables.
    public var mayCreateTemporary: Bool
    /// Tables of Sluice that it may not read, or not append to although the gateway has to.
    public var missingTables: [String]
    /// Functions that it may not call.
    public var missingFunctions: [String]
    /// Rights that would let it change or delete rows of the ledger and the logs, such as `DELETE on issuances`.
    public var excessRights: [String]
}

/// A gateway that runs.
public struct RunningGateway: Sendable, Equatable {
    /// Identifier of this start of the gateway.
    public var id: UUID
    /// Version of the program.
    public var version: String
    /// Seconds by which its clock is ahead of the database's.
    public var clockDifference: Double
    /// Fingerprints of its master keys, as ``MasterKeyRing/announcement`` lists them.
    public var masterKeys: [String]
}

/// A URL that gateways call.
public struct CalledEndpoint: Sendable, Equatable {
    /// The row that names it, for example `bucket photos`.
    public var row: String
    /// The URL.
    public var url: String
}

public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle

/// Announces a gateway in the database every few seconds, and removes its row when it stops.
///
/// Pruning spares the lines of the policy log that a live gateway has yet to read. No proof rests on the heartbeat: if
/// a gateway's row is missing, or its position was pruned, it starts anew before it records anything.
public struct Heartbeat: Service {
    /// Which gateway it is.
    public struct Identity: Sendable {
        /// Identifier of this run of the gateway.
        public let id: UUID
        /// Version of the program.
        public let version: String
        /// Time of the start.
        public let startedAt: Date
        /// Returns the fingerprints of its master keys, as ``MasterKeyRing/announcement`` lists them.
        public let masterKeys: @Sendable () -> [String]

        /// Puts the facts together.
        public init(
            id: UUID, version: String, startedAt: Date, masterKeys: @escaping @Sendable () -> [String]
        ) {
            self.id = id
            self.version = version
            self.startedAt = startedAt
            self.masterKeys = masterKeys
        }
    }

    /// Time between two heartbeats. A gateway counts as running for 30 seconds after each.
    private static let interval = Duration.seconds(5)

    private let connection: PostgresConnection
    private let identity: Identity
    private let position: @Sendable () -> PolicyPosition?
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// Identifier of this run of the gateway.
    public var gateway: UUID { identity.id }

    /// Settings for the session. A heartbeat may be lost in a failover, so it need not wait for the disk or a standby.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("synchronous_commit", "off"), ("statement_timeout", "5s"), ("lock_timeout", "2s"),
        ("idle_in_transaction_session_timeout", "1s"),
    ]

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway, with ``sessionSettings``. It must not be shared, because long work on
    ///     it would make the gateway seem dead.
    ///   - identity: The gateway to announce.
    ///   - logger: Receives the reasons for failed heartbeats.
    ///   - now: Returns the gateway's current time.
    ///   - position: Returns the position up to which the gateway has read the policy log.
    public init(
        connection: PostgresConnection, identity: Identity, logger: Logger,
        now: @escaping @Sendable () -> Date, position: @escaping @Sendable () -> PolicyPosition?
    ) {
        self.connection = connection
        self.identity = identity
        self.logger = logger
        self.now = now
        self.position = position
    }

    /// Sends a heartbeat at once and then after every interval. Removes the gateway's row on shutdown.
    public func run() async {
        // Other messages name a gateway by this identifier.
        logger.info(
            "gateway starts",
            metadata: ["gateway": "\(identity.id.lowercaseText)", "version": "\(identity.version)"])
        await doRounds(every: Self.interval) { await self.beat() }
        await end()
    }

    /// Sends one heartbeat.
    public func beat() async {
        do throws(PostgresError) {
            try await announce()
        } catch {
            logger.report(error, "the gateway is not known to the database", in: connection.outage)
        }
    }

    /// Sends one heartbeat, which whoever asks for the running gateways sees from then on.
    public func announce() async throws(PostgresError) {
        let message = Message(identity: identity, sentAt: now(), position: position())
        try await connection.perform(Self.note, message, deadline: .now + .seconds(5))
    }

    /// Removes the gateway's row.
    public func end() async {
        do throws(PostgresError) {
            try await connection.perform(Self.forget, identity.id, deadline: .now + .seconds(2))
        } catch {
            logger.report(error, "the database was not told that the gateway stops", in: connection.outage)
        }
        await connection.close()
    }

    /// The content of a heartbeat.
    struct Message: Sendable {
        var identity: Identity
        var sentAt: Date
        var position: PolicyPosition?
    }

    static let note = Statement<Message, Void>("SELECT note_gateway($1, $2, $3, $4, $5, $6, $7, $8, $9)") {
        [
            $0.identity.id, $0.identity.version, $0.identity.startedAt, $0.sentAt, $0.position?.sequence,
            $0.position?.tag, $0.identity.masterKeys(), SchemaState.carried.version, SchemaState.carried.functionSet,
        ]
    }

    static let forget = Statement<UUID, Void>("SELECT forget_gateway($1)") { [$0] }
}

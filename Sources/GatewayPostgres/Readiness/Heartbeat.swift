public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle
import Synchronization

/// Announces a gateway in the database every few seconds, and removes its row when it stops.
///
/// Pruning spares the lines of the policy log that a live gateway has yet to read. No proof rests on the heartbeat: if
/// a gateway's row is missing, or its position was pruned, it starts anew before it records anything.
///
/// A gateway that is cut off from PostgreSQL for 30 seconds does not count as running. Nobody asks for its master keys
/// then: another gateway may start with others, or a rotation may seal with one that it lacks. So when it is back, it
/// compares its keys, after every heartbeat until they fit.
public final class Heartbeat: Service {
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

    /// What others know of the gateway.
    private struct Standing {
        /// When the last heartbeat that is known to have succeeded was sent; `nil` before the first.
        var lastSent: ContinuousClock.Instant?
        /// Whether the gateway did not count as running, and has not found since that its keys fit.
        var isUnchecked = false
    }

    /// Time between two heartbeats.
    private static let interval = Duration.seconds(5)
    /// Time for which a gateway counts as running after a heartbeat: that of `is_live_gateway`.
    private static let life = Duration.seconds(30)

    private let connection: PostgresConnection
    private let identity: Identity
    private let position: @Sendable () -> PolicyPosition?
    private let keysFit: @Sendable () async -> Bool
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let standing = Mutex(Standing())

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
    ///     it would make the gateway seem dead. The short work of `keysFit` may use it.
    ///   - identity: The gateway to announce.
    ///   - logger: Receives the reasons for failed heartbeats.
    ///   - now: Returns the gateway's current time.
    ///   - position: Returns the position up to which the gateway has read the policy log.
    ///   - keysFit: Compares the gateway's master keys with the stored secrets and with the keys of the other gateways.
    ///     Returns whether they are known to fit.
    public init(
        connection: PostgresConnection, identity: Identity, logger: Logger,
        now: @escaping @Sendable () -> Date, position: @escaping @Sendable () -> PolicyPosition?,
        keysFit: @escaping @Sendable () async -> Bool
    ) {
        self.connection = connection
        self.identity = identity
        self.logger = logger
        self.now = now
        self.position = position
        self.keysFit = keysFit
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

    /// Sends one heartbeat, and compares the master keys if the gateway did not count as running before.
    public func beat() async {
        do throws(PostgresError) {
            try await announce()
        } catch {
            logger.report(error, "the gateway is not known to the database", in: connection.outage)
            return
        }
        let isUnchecked = standing.withLock { standing in
            defer { standing.isUnchecked = false }
            return standing.isUnchecked
        }
        guard isUnchecked, await !keysFit() else { return }
        standing.withLock { $0.isUnchecked = true }
    }

    /// Sends one heartbeat, which whoever asks for the running gateways sees from then on.
    public func announce() async throws(PostgresError) {
        let sent = ContinuousClock.now
        let message = Message(identity: identity, sentAt: now(), position: position())
        let ran = try await connection.execute(Self.note, message, deadline: .now + .seconds(5)).first ?? false
        standing.withLock { standing in
            // Where the answer to the first heartbeat after an absence was lost, the second one finds no absence.
            if let last = standing.lastSent, !ran || ContinuousClock.now - last > Self.life {
                standing.isUnchecked = true
            }
            standing.lastSent = sent
        }
    }

    /// Removes the gateway's row, even if the task is cancelled, as in a gateway of which a part failed. Otherwise the
    /// gateway would count as running for half a minute.
    public func end() async {
        await toTheEnd { [self] in await takeBack() }
    }

    private func takeBack() async {
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

    /// Writes the gateway's row. Returns whether the gateway counted as running before.
    static let note = Statement<Message, Bool>(
        """
        SELECT EXISTS (SELECT FROM gateways g WHERE g.id = $1 AND is_live_gateway(g.last_seen_at)),
            note_gateway($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """
    ) {
        [
            $0.identity.id, $0.identity.version, $0.identity.startedAt, $0.sentAt, $0.position?.sequence,
            $0.position?.tag, $0.identity.masterKeys(), SchemaState.carried.version, SchemaState.carried.functionSet,
        ]
    }

    static let forget = Statement<UUID, Void>("SELECT forget_gateway($1)") { [$0] }
}

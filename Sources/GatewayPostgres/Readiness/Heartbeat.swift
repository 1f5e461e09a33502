public import Foundation
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle

/// Makes a gateway known in the database every few seconds, and has it forgotten when it stops.
///
/// What is pruned of the log of policy is what no live gateway needs. Nothing is proved by this: a gateway whose row is
/// missing, or whose position was pruned meanwhile, begins anew before it records anything.
public struct Heartbeat: Service {
    /// What does not change while a gateway runs.
    public struct Identity: Sendable {
        /// Identifier of this start.
        public let id: UUID
        /// Version of the program.
        public let version: String
        /// When it started.
        public let startedAt: Date
        /// Identifiers of its master keys, the one that seals first.
        public let masterKeyIDs: [String]

        /// Names a gateway.
        public init(id: UUID, version: String, startedAt: Date, masterKeyIDs: [String]) {
            self.id = id
            self.version = version
            self.startedAt = startedAt
            self.masterKeyIDs = masterKeyIDs
        }
    }

    private let connection: PostgresConnection
    private let identity: Identity
    private let position: @Sendable () -> PolicyPosition?
    private let interval: Duration
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// Settings that the session should have: nobody needs a message of a gateway that a failover loses.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("synchronous_commit", "off"), ("statement_timeout", "5s"), ("lock_timeout", "2s"),
        ("idle_in_transaction_session_timeout", "1s"),
    ]

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway, its session with ``sessionSettings``; not shared, so that nothing that
    ///     takes long makes the gateway seem dead.
    ///   - identity: Who it is.
    ///   - interval: Time between two messages; a gateway counts as running for 30 seconds after each.
    ///   - logger: Told of messages that failed.
    ///   - now: The gateway's clock.
    ///   - position: How far the log of policy is read.
    public init(
        connection: PostgresConnection, identity: Identity, interval: Duration = .seconds(5), logger: Logger,
        now: @escaping @Sendable () -> Date, position: @escaping @Sendable () -> PolicyPosition?
    ) {
        self.connection = connection
        self.identity = identity
        self.interval = interval
        self.logger = logger
        self.now = now
        self.position = position
    }

    /// Sends at once and then every interval, until shut down, and says goodbye then.
    public func run() async {
        await doRounds(every: interval) { await self.beat() }
        await end()
    }

    /// Says that the gateway runs.
    func beat() async {
        let message = Message(identity: identity, sentAt: now(), position: position())
        do throws(PostgresError) {
            try await connection.perform(Self.note, message, deadline: .now + .seconds(5))
        } catch {
            logger.report(error, "the gateway is not known to the database", in: connection.outage)
        }
    }

    /// Says that it has stopped.
    func end() async {
        do throws(PostgresError) {
            try await connection.perform(Self.forget, identity.id, deadline: .now + .seconds(2))
        } catch {
            logger.report(error, "the database was not told that the gateway stops", in: connection.outage)
        }
        await connection.close()
    }

    /// What is said.
    struct Message: Sendable {
        var identity: Identity
        var sentAt: Date
        var position: PolicyPosition?
    }

    static let note = Statement<Message, Void>("SELECT note_gateway($1, $2, $3, $4, $5, $6, $7)") {
        [
            $0.identity.id, $0.identity.version, $0.identity.startedAt, $0.sentAt, $0.position?.sequence,
            $0.position?.tag, $0.identity.masterKeyIDs,
        ]
    }

    static let forget = Statement<UUID, Void>("SELECT forget_gateway($1)") { [$0] }
}

public import FoundationEssentials
public import LibPQ
public import Logging
public import ServiceLifecycle
import Synchronization

/// Reads the figures of the database that metrics show: its schema, its gateways, the ledger's partitions, what waits
/// to be settled, and how much policy this gateway has yet to read.
///
/// A scrape takes the last reading from memory, however often and by however many it is asked for. What waits to be
/// settled is read as a whole, which takes a second or two for a million reservations, so the next reading comes after
/// a hundred times as long.
public final class DatabaseFigures: Service {
    /// One reading.
    public struct Reading: Sendable, Equatable {
        /// Version of the last migration that was applied.
        public var schemaVersion = 0
        /// Gateways of this version that are alive.
        public var gateways = 0
        /// Gateways of other versions that are alive.
        public var otherGateways = 0
        /// Days after today for which the ledger has a partition, up to the first without one; -1 if today has none.
        public var partitionsAhead = 0
        /// Days past retention that still have a partition.
        public var partitionsExpired = 0
        /// Reservations of byte quotas whose upload may still be under way.
        public var aliveReservations = 0
        /// Reservations of byte quotas that can be settled.
        public var dueReservations = 0
        /// Bytes that all reservations hold.
        public var reservedBytes = 0
        /// Seconds for which the first of them has been due; 0 where there are none.
        public var dueSeconds = 0.0
        /// When the reservations were read, in seconds since 1970.
        public var reservationsReadAt = 0.0
        /// Number of the last line of the policy log.
        public var policySequence = 0
        /// Lines of the policy log that this gateway had not read; 0 for one that has read no policy yet.
        public var policyLag = 0
        /// When all but the reservations was read, in seconds since 1970.
        public var readAt = 0.0
    }

    /// Time between two readings.
    private static let interval = Duration.seconds(30)

    private let pool: PostgresPool
    private let version: String
    private let keepDays: Int?
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let policySequence: @Sendable () -> Int64?
    private let last = Mutex(Reading())
    private let nextReservations = Mutex(ContinuousClock.now)

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - pool: Logged in as the gateway.
    ///   - version: Version of the program.
    ///   - keepDays: Days for which issuances are kept; `nil` to keep them for ever.
    ///   - logger: Receives the reasons for failed readings.
    ///   - now: Returns the gateway's current time.
    ///   - policySequence: Returns the number of the last line of the policy log that the gateway has read, or `nil`
    ///     if it has read no policy: there is nothing in its memory that could be old.
    public init(
        pool: PostgresPool, version: String, keepDays: Int?, logger: Logger,
        now: @escaping @Sendable () -> Date, policySequence: @escaping @Sendable () -> Int64?
    ) {
        self.pool = pool
        self.version = version
        self.keepDays = keepDays
        self.logger = logger
        self.now = now
        self.policySequence = policySequence
    }

    /// Version of the last migration that this program carries.
    public static var expectedSchemaVersion: Int { Int(SchemaState.carried.migrations.last?.version ?? 0) }

    /// The last reading; all zero before the first.
    public var reading: Reading { last.withLock { $0 } }

    /// Reads at once and then after every interval, until the service shuts down.
    public func run() async {
        await doRounds(every: Self.interval) { await self.read() }
    }

    /// Reads once, the reservations only if it is their turn.
    func read() async {
        do throws(PostgresError) {
            let question = (version, keepDays.map { Int32(clamping: $0) }, now())
            if let reading = try await pool.execute(Self.figures, question, deadline: .now + Self.patience).first {
                last.withLock { last in
                    last.schemaVersion = reading.schemaVersion
                    last.partitionsAhead = reading.partitionsAhead
                    last.partitionsExpired = reading.partitionsExpired
                    (last.gateways, last.otherGateways) = (reading.gateways, reading.otherGateways)
                    last.policySequence = reading.policySequence
                    last.policyLag = policySequence().map { max(0, reading.policySequence - Int(clamping: $0)) } ?? 0
                    last.readAt = now().timeIntervalSince1970
                }
            }
            try await readReservations()
        } catch {
            logger.report(error, "figures for metrics not read", in: pool.outage)
        }
    }

    /// Reads the reservations if it is their turn. A reading that fails counts like one that succeeds.
    private func readReservations() async throws(PostgresError) {
        let start = ContinuousClock.now
        guard start >= nextReservations.withLock({ $0 }) else { return }
        defer { nextReservations.withLock { $0 = .now + (.now - start) * Self.pauses } }
        guard let reading = try await pool.execute(Self.reservations, deadline: start + Self.patience).first
        else { return }
        last.withLock { last in
            (last.aliveReservations, last.dueReservations) = (reading.aliveReservations, reading.dueReservations)
            (last.reservedBytes, last.dueSeconds) = (reading.reservedBytes, reading.dueSeconds)
            last.reservationsReadAt = now().timeIntervalSince1970
        }
    }

    /// How many times as long as a reading of the reservations took passes before the next.
    private static let pauses = 100
    private static let patience = Duration.seconds(10)

    static let figures = Statement<(version: String, keepDays: Int32?, now: Date), Reading>(
        """
        SELECT coalesce((SELECT max(m.version) FROM schema_migrations m), 0), g.same, g.others, p.ahead,
            (SELECT count(*) FROM expired_issuances_days($2, $3)), coalesce((SELECT max(l.seq) FROM policy_log l), 0)
        FROM (
            SELECT count(*) FILTER (WHERE g.version = $1::text) AS same, count(*) FILTER (WHERE g.version <> $1) AS others
            FROM gateways g WHERE is_live_gateway(g.last_seen_at)
        ) g,
        (
            SELECT coalesce(min(d.day), 367) - 1 AS ahead
            FROM generate_series(0, 366) AS d(day)
            WHERE NOT EXISTS (
                SELECT FROM issuances_partitions() p
                WHERE p.day = (statement_timestamp() AT TIME ZONE 'UTC')::date + d.day
            )
        ) p
        """, onlyReads: true
    ) {
        [$0.version, $0.keepDays, $0.now]
    } decode: { row throws(PostgresError) in
        let schemaVersion: Int32 = try row.next()
        let same: Int64 = try row.next()
        let others: Int64 = try row.next()
        let ahead: Int32 = try row.next()
        let expired: Int64 = try row.next()
        let sequence: Int64 = try row.next()
        return Reading(
            schemaVersion: Int(schemaVersion), gateways: Int(same), otherGateways: Int(others),
            partitionsAhead: Int(ahead), partitionsExpired: Int(expired), policySequence: Int(sequence))
    }

    static let reservations = Statement<Void, Reading>(
        """
        SELECT r.held - r.due, r.due, r.bytes, r.age
        FROM (
            SELECT count(*) AS held, count(*) FILTER (WHERE r.due_at < statement_timestamp()) AS due,
                coalesce(sum(r.amount), 0)::bigint AS bytes,
                coalesce(extract(epoch FROM statement_timestamp() - min(r.due_at)
                    FILTER (WHERE r.due_at < statement_timestamp())), 0)::double precision AS age
            FROM \(ReservationTable.byDueTime)
        ) r
        """, onlyReads: true
    ) { row throws(PostgresError) in
        let alive: Int64 = try row.next()
        let due: Int64 = try row.next()
        let bytes: Int64 = try row.next()
        let age: Double = try row.next()
        return Reading(
            aliveReservations: Int(alive), dueReservations: Int(due), reservedBytes: Int(bytes), dueSeconds: age)
    }
}

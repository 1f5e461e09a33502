import FoundationEssentials
public import LibPQ
public import Logging
public import ServiceLifecycle

/// Prepares partitions of the ledger ahead of time and drops those past retention. Also removes expired counters, and
/// lines of the policy log that no gateway needs.
///
/// A partition past retention is emptied first. At the end, recordings that charge a counter of a total quota wait for
/// a moment if the day charged it too. A second step drops the partition, under a lock of the ledger. The first step
/// gives up after a second if somebody reads the partition, the second after a tenth of a second if somebody reads the
/// ledger. The next round then tries again. If that fails as well, the log says which day stays, and why.
///
/// What is deleted is old by the gateway's clock and by the database's. If one of them is set forward by mistake, all
/// stays.
public struct PartitionUpkeep: Service {
    /// Days to keep the counts of refusals.
    private static let keepDenialsDays: Int32 = 90

    /// Time between two rounds.
    private static let interval = Duration.seconds(600)

    /// The periods to prepare and to keep.
    public struct Schedule: Sendable {
        /// Days after today for which partitions are prepared.
        public var daysAhead: Int
        /// Days to keep issuances, at least 32; `nil` to keep them for ever.
        public var keepDays: Int?
        /// Days to keep single refusals.
        public var keepRefusalsDays: Int
        /// Number of single refusals that are kept at most.
        var keepRefusals: Int

        /// Sets the schedule. By default, issuances are kept for ever.
        public init(
            daysAhead: Int = 7, keepDays: Int? = nil, keepRefusalsDays: Int = 30, keepRefusals: Int = 1_000_000
        ) {
            self.daysAhead = daysAhead
            self.keepDays = keepDays
            self.keepRefusalsDays = keepRefusalsDays
            self.keepRefusals = keepRefusals
        }
    }

    private let connection: PostgresConnection
    private let sums: PostgresConnection
    private let schedule: Schedule
    private let clock: LedgerClock
    private let logger: Logger
    private let putOff = PutOffWork()

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway; may be shared.
    ///   - sums: The connection of ``UsageUpkeep``. To empty a day reads it whole, and excludes summing up.
    ///   - schedule: The periods to keep.
    ///   - clock: The gateway's clock.
    ///   - logger: Receives a message when partitions are created or dropped, and when expired ones stay.
    public init(
        connection: PostgresConnection, sums: PostgresConnection, schedule: Schedule = Schedule(), clock: LedgerClock,
        logger: Logger
    ) {
        self.connection = connection
        self.sums = sums
        self.schedule = schedule
        self.clock = clock
        self.logger = logger
    }

    /// Does a round at once and then after every interval, until the service shuts down.
    public func run() async {
        await doRounds(every: Self.interval) { await self.runRound() }
    }

    /// Does all work that is due now. A part of it that fails keeps none of the others from being done.
    func runRound() async {
        await attempt("partitions of the ledger not made") { () throws(PostgresError) in
            let made = try await connection.execute(Migrator.preparePartitions, Int32(clamping: schedule.daysAhead))
            if let made = made.first, made > 0 {
                logger.info("partitions of the ledger made", metadata: ["count": "\(made)"])
            }
        }
        if let keepDays = schedule.keepDays {
            await attempt("expired partitions of the ledger not dropped") { () throws(PostgresError) in
                try await dropExpired(keepDays: Int32(clamping: keepDays))
            }
        }
        await prune("ended tickets not removed") { (step) throws(PostgresError) in
            try await connection.execute(Self.pruneTickets, (clock.time, step)).first
        }
        await prune("expired counters not removed") { (step) throws(PostgresError) in
            try await connection.execute(Self.pruneCounters, (clock.time, step)).first
        }
        await prune("old counts of refusals not removed") { (step) throws(PostgresError) in
            try await connection.execute(Self.pruneDenials, (Self.keepDenialsDays, clock.time, step)).first
        }
        await prune("old refusals not removed") { (step) throws(PostgresError) in
            let (keepDays, keepRows) = (Int32(clamping: schedule.keepRefusalsDays), Int64(schedule.keepRefusals))
            return try await connection.execute(RefusalTable.prune, (keepDays, keepRows, clock.time, step)).first
        }
        await prune("old outcomes of uploads not removed") { (step) throws(PostgresError) in
            let keepDays = schedule.keepDays.map { Int32(clamping: $0) }
            return try await connection.execute(LandingTable.prune, (keepDays, clock.time, step)).first
        }
        await prune("old deletions not removed") { (step) throws(PostgresError) in
            try await connection.execute(Self.pruneDeletions, (clock.time, step)).first
        }
        await prune("old lines of the policy log not removed") { (step) throws(PostgresError) in
            try await connection.execute(Self.prunePolicyLog, (clock.time, step)).first
        }
        await prune("expired idempotency keys not removed") { (step) throws(PostgresError) in
            Int32(clamping: try await connection.perform(IdempotencyKeyTable.prune, (clock.time, step)))
        }
    }

    private func prune(_ complaint: Logger.Message, _ remove: (Int32) async throws(PostgresError) -> Int32?) async {
        await attempt(complaint) { () throws(PostgresError) in try await inSteps(of: 1000, remove) }
    }

    private func attempt(_ complaint: Logger.Message, _ work: () async throws(PostgresError) -> Void) async {
        await logger.attempt(complaint, in: connection.outage, work)
    }

    private func dropExpired(keepDays: Int32) async throws(PostgresError) {
        var reasons: [String: String] = [:]
        for day in try await connection.execute(Self.expiredDays, (keepDays, clock.time)) {
            do throws(PostgresError) {
                try await sums.perform(
                    Self.emptyPartition, (day, keepDays, clock.time), deadline: .now + UsageUpkeep.patience)
            } catch {
                // lock_not_available: somebody reads the partition or sums up.
                guard error.sqlState == "55P03" else { throw error }
                reasons[day] = "\(error)"
                continue
            }
            if try await connection.execute(Self.dropPartition, (day, keepDays, clock.time)).first == true {
                logger.info("partition of the ledger dropped", metadata: ["day": "\(day)"])
            } else {
                reasons[day] = "a lock was not free for a tenth of a second"
            }
        }
        try await tellOfDaysThatStay(reasons, keepDays: keepDays)
    }

    /// Warns that days which could not be dropped are still there.
    private func tellOfDaysThatStay(_ reasons: [String: String], keepDays: Int32) async throws(PostgresError) {
        guard !reasons.isEmpty else { return putOff.forget() }
        // Another gateway may have dropped some of them.
        let days = try await connection.execute(Self.expiredDays, (keepDays, clock.time))
        let staying = days.filter { reasons[$0] != nil }
        guard let first = staying.first, let reason = reasons[first] else { return putOff.forget() }
        guard putOff.isToBeTold(of: first, at: .now) else { return }
        logger.warning(
            "expired partitions of the ledger stay, because others hold locks",
            metadata: ["day": "\(first)", "count": "\(staying.count)", "reason": "\(reason)"])
    }
}

extension PartitionUpkeep {
    static let expiredDays = Statement<(keepDays: Int32, now: Date), String>(
        "SELECT day::text FROM expired_issuances_days($1, $2) AS day", onlyReads: true
    ) {
        [$0.keepDays, $0.now]
    }

    static let emptyPartition = Statement<(day: String, keepDays: Int32, now: Date), Void>(
        "SELECT empty_issuances_partition($1::text::date, $2, $3)"
    ) { [$0.day, $0.keepDays, $0.now] }

    static let dropPartition = Statement<(day: String, keepDays: Int32, now: Date), Bool>(
        "SELECT drop_issuances_partition($1::text::date, $2, $3)"
    ) {
        [$0.day, $0.keepDays, $0.now]
    }

    static let pruneDeletions = Statement<(now: Date, most: Int32), Int32>("SELECT prune_deletions($1, $2)") {
        [$0.now, $0.most]
    }

    static let prunePolicyLog = Statement<(now: Date, most: Int32), Int32>("SELECT prune_policy_log($1, $2)") {
        [$0.now, $0.most]
    }

    static let pruneTickets = Statement<(now: Date, most: Int32), Int32>("SELECT prune_tickets($1, $2)") {
        [$0.now, $0.most]
    }

    static let pruneCounters = Statement<(now: Date, most: Int32), Int32>("SELECT prune_counters($1, $2)") {
        [$0.now, $0.most]
    }

    static let pruneDenials = Statement<(keepDays: Int32, now: Date, most: Int32), Int32>(
        "SELECT prune_denials($1, $2, $3)"
    ) {
        [$0.keepDays, $0.now, $0.most]
    }
}

public import EventLoops
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle

/// The ledger in PostgreSQL: written by each caller as if alone, sent together.
///
/// A proposal goes over a connection of the loop that it comes from, so that it moves to no other thread; where there
/// are several, or it comes from elsewhere, its principal chooses, so that two connections seldom wait for the same
/// counter. It records while ``run()`` runs: what comes before waits for it, what comes after is refused.
public final class PostgresLedger: IssuanceLedger, Service {
    /// How much is sent and kept.
    public struct Limits: Sendable {
        /// Connections to record over.
        public var connections: Int
        /// Most proposals in one call.
        public var maxBatch: Int
        /// Most proposals that wait for one connection; those beyond are refused at once.
        public var maxQueue: Int
        /// How often deadlines of waiting proposals are looked at.
        public var deadlineCheck: Duration

        /// Sets the limits.
        public init(
            connections: Int = 4, maxBatch: Int = 128, maxQueue: Int = 2048,
            deadlineCheck: Duration = .milliseconds(20)
        ) {
            self.connections = connections
            self.maxBatch = maxBatch
            self.maxQueue = maxQueue
            self.deadlineCheck = deadlineCheck
        }
    }

    let lanes: [LedgerLane]
    private let schema: SchemaFit?
    /// The loops that drive the connections, each with its lanes.
    private let loops: [(loop: EventLoop, lanes: [LedgerLane])]
    private let ownsLoops: Bool
    private let denials: DenialCounter
    private let limits: Limits

    /// Makes a ledger; ``run()`` connects it.
    ///
    /// - Parameters:
    ///   - configuration: How to reach the server; the settings that recording needs are added to those of its
    ///     sessions.
    ///   - clock: What the database's clock is compared with.
    ///   - denials: Where refusals are counted; to be run by its own service.
    ///   - schema: Nothing is recorded while it does not fit.
    ///   - loops: What drives the connections, best the loops that serve the requests; by default one of its own for
    ///     each.
    public init(
        configuration: PostgresConfiguration, clock: LedgerClock, denials: DenialCounter, limits: Limits = Limits(),
        schema: SchemaFit? = nil, loops: [EventLoop] = [],
        logger: Logger
    ) throws(EventLoopError) {
        var configuration = configuration
        configuration.sessionSettings += Self.sessionSettings
        self.denials = denials
        self.schema = schema
        self.limits = limits
        let count = max(1, limits.connections)
        let drivers = loops.isEmpty ? try Self.makeLoops(count) : loops
        ownsLoops = loops.isEmpty
        let lanes = (0..<count).map { place in
            LedgerLane(
                queue: LedgerQueue(capacity: limits.maxQueue), configuration: configuration,
                loop: drivers[place % drivers.count], clock: clock, maxBatch: max(1, limits.maxBatch), schema: schema,
                logger: logger)
        }
        self.lanes = lanes
        self.loops = drivers.map { loop in (loop, lanes.filter { $0.loop === loop }) }
    }

    private static func makeLoops(_ count: Int) throws(EventLoopError) -> [EventLoop] {
        var made: [EventLoop] = []
        for _ in 0..<count { made.append(try EventLoop()) }
        return made
    }

    /// What recording needs of a session. The planner knows nothing of the arrays' sizes; with these it keeps to one
    /// plan of nested loops over primary keys.
    static let sessionSettings: [(name: String, value: String)] = [
        ("synchronous_commit", "on"), ("default_transaction_isolation", "read committed"),
        ("statement_timeout", "10s"), ("lock_timeout", "5s"), ("idle_in_transaction_session_timeout", "1s"),
        ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"), ("enable_bitmapscan", "off"), ("jit", "off"),
    ]

    /// Records until shut down; then answers what is waiting, and returns.
    public func run() async {
        await withTaskGroup { group in
            group.addTask { await self.watchDeadlines() }
            if ownsLoops {
                for (loop, _) in loops { group.addTask { await onThread { loop.run() } } }
            }
            await withTaskGroup { recorders in
                for lane in lanes {
                    recorders.addTask(executorPreference: lane.loop) { await lane.run() }
                }
                await withTaskCancellationOrGracefulShutdownHandler {
                    await recorders.waitForAll()
                } onCancelOrGracefulShutdown: {
                    self.close()
                }
            }
            group.cancelAll()
            if ownsLoops {
                for (loop, _) in loops { loop.stop() }
            }
        }
    }

    private func close() {
        for lane in lanes {
            lane.queue.close()
        }
    }

    private func watchDeadlines() async {
        await onThread(every: limits.deadlineCheck) { [lanes] in
            let now = ContinuousClock.now
            for lane in lanes {
                lane.queue.refuseLate(now: now)
            }
        }
    }

    /// Records one decision durably.
    public func record(
        _ proposal: IssuanceProposal, deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> RecordVerdict {
        if schema?.isBroken == true { throw Self.misfit }
        let queue = lane(for: proposal.principal).queue
        let result = await withCheckedContinuation { caller in
            queue.append(LedgerEntry(proposal, deadline: deadline, for: .caller(caller)))
        }
        return try result.get()
    }

    /// Records decisions durably, each for itself; those of one principal stay in their order and travel together.
    public func record(
        _ proposals: [IssuanceProposal], deadline: ContinuousClock.Instant
    ) async -> [Result<RecordVerdict, GatewayError>] {
        guard !proposals.isEmpty else { return [] }
        if schema?.isBroken == true { return proposals.map { _ in .failure(Self.misfit) } }
        let answers = LedgerAnswers(count: proposals.count)
        var start = 0
        while start < proposals.count {
            let principal = proposals[start].principal
            var end = start + 1
            while end < proposals.count, proposals[end].principal == principal { end += 1 }
            let entries = (start..<end).map { place in
                LedgerEntry(proposals[place], deadline: deadline, for: .callerOfMany(answers, place: place))
            }
            lane(for: principal).queue.append(entries)
            start = end
        }
        return await answers.all()
    }

    /// Somebody has to migrate, or to start another version: nothing that is over in a second.
    private static let misfit = GatewayError.otherSchema(retryAfter: 5)

    private func lane(for principal: Principal) -> LedgerLane {
        let near = loops.first { $0.loop.isCurrent && !$0.lanes.isEmpty }?.lanes ?? lanes
        return near.count == 1 ? near[0] : near[Int(UInt(bitPattern: principal.hashValue) % UInt(near.count))]
    }

    /// Counts a refusal.
    public func count(_ denial: Denial) {
        denials.count(denial)
    }
}

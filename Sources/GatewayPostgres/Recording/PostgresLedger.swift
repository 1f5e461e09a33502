public import EventLoops
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle

/// The ledger in PostgreSQL. Each caller records as if alone, and proposals are sent to the database together.
///
/// While something is under way, the first connection takes all proposals until ``Limits/spillsAt`` wait for it, and
/// only then does the next one take any: what a statement costs however many rows it writes is most of the cost of a
/// small one. With 16 and 64 callers on two cores this takes PostgreSQL 0.57 and 0.76 of the time of two connections
/// that share the proposals evenly. A connection that failed, or that has not answered for a second, is passed over for
/// as long as another one is well, however many proposals wait for that one. The ledger records while ``run()`` runs.
/// Earlier proposals wait for it; later ones are refused.
public final class PostgresLedger: IssuanceLedger, Service {
    /// Maximum number of proposals that wait for one connection. Further ones are refused at once.
    private static let maxQueue = 2048
    /// Time between two checks of the deadlines of waiting proposals.
    private static let deadlineCheck = Duration.milliseconds(20)

    /// Limits on connections and batches.
    public struct Limits: Sendable {
        /// Number of connections that record.
        public var connections: Int
        /// Maximum number of proposals in one call.
        public var maxBatch: Int
        /// Number of proposals that wait for a connection before the next one takes any.
        var spillsAt: Int

        /// Sets the limits for the ledger as a whole and for each of its connections.
        public init(connections: Int = 4, maxBatch: Int = 512, spillsAt: Int = 64) {
            self.connections = connections
            self.maxBatch = maxBatch
            self.spillsAt = spillsAt
        }
    }

    /// What the connections that record have done.
    public let figures: LedgerFigures
    let lanes: [LedgerLane]
    private let schema: SchemaFit?
    /// The loops that drive the connections.
    private let loops: [EventLoop]
    private let ownsLoops: Bool
    private let limits: Limits

    /// Creates a ledger. ``run()`` connects it.
    ///
    /// - Parameters:
    ///   - configuration: How to reach the server. The session settings that recording needs are added to its own. Its
    ///     outage excuses what these connections need not share, such as failures to connect, while one records.
    ///   - clock: The gateway's clock, which is compared with the database's.
    ///   - limits: Number of connections, and sizes of batches.
    ///   - schema: Nothing is recorded while it does not fit.
    ///   - loops: Event loops that drive the connections, ideally those that serve the requests. By default each
    ///     connection gets a loop of its own.
    ///   - logger: Logger for the connections.
    public init(
        configuration: PostgresConfiguration, clock: LedgerClock, limits: Limits = Limits(), schema: SchemaFit? = nil,
        loops: [EventLoop] = [], logger: Logger
    ) throws(EventLoopError) {
        var configuration = configuration
        configuration.sessionSettings += Self.sessionSettings
        self.schema = schema
        self.limits = limits
        let count = max(1, limits.connections)
        let drivers = loops.isEmpty ? try Self.makeLoops(count) : loops
        self.loops = drivers
        ownsLoops = loops.isEmpty
        let figures = LedgerFigures()
        self.figures = figures
        let maxQueue = Self.maxQueue
        let healths = (0..<count).map { _ in LaneHealth() }
        configuration.outage?.excuseFailures { healths.contains(where: \.records) }
        lanes = healths.indices.map { place in
            var own = configuration
            own.isSpare = { healths.indices.contains { $0 != place && healths[$0].records } }
            return LedgerLane(
                queue: LedgerQueue(capacity: maxQueue, figures: figures), configuration: own,
                loop: drivers[place % drivers.count], health: healths[place], clock: clock,
                maxBatch: max(1, limits.maxBatch), schema: schema, figures: figures, logger: logger)
        }
    }

    /// Number of proposals that wait to be sent.
    public var waiting: Int { lanes.reduce(0) { $0 + $1.queue.count } }

    /// Maximum number of proposals that may wait for the connections that are well, at least for one. While a
    /// connection is passed over, its queue takes none.
    public var capacity: Int { max(1, lanes.count { $0.health.isWell }) * Self.maxQueue }

    private static func makeLoops(_ count: Int) throws(EventLoopError) -> [EventLoop] {
        var made: [EventLoop] = []
        for _ in 0..<count { made.append(try EventLoop()) }
        return made
    }

    /// Session settings that recording needs. The planner does not know the sizes of the arrays. With these settings it
    /// keeps to one plan of nested loops over primary keys. A plan for each call would also hold the arrays as
    /// constants, and PostgreSQL looks for an element of a constant array of texts from its beginning.
    static let sessionSettings: [(name: String, value: String)] = [
        ("synchronous_commit", "on"), ("statement_timeout", "10s"), ("lock_timeout", "5s"),
        ("idle_in_transaction_session_timeout", "1s"),
        ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"), ("enable_bitmapscan", "off"),
    ]

    /// Notes that something was not recorded over a connection that is not the ledger's. Its probes then try everything
    /// that a recording does, and find out whether the ledger fails too. That another connection cannot be opened says
    /// nothing about those that are open.
    public func doubt(after error: PostgresError) {
        switch error {
        case .unavailable, .refused, .poolExhausted, .cancelled, .outcomeUnknown(_, .cancellation?): return
        default: break
        }
        guard !error.refusesData, !error.isWait else { return }
        for lane in lanes { lane.health.doubt() }
    }

    /// Records until the service shuts down. Then answers the waiting proposals and returns.
    public func run() async {
        await withTaskGroup { group in
            group.addTask { await self.watchDeadlines() }
            if ownsLoops {
                for loop in loops { group.addTask { await onThread { loop.run() } } }
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
                for loop in loops { loop.stop() }
            }
        }
    }

    private func close() {
        for lane in lanes {
            lane.queue.close()
        }
    }

    private func watchDeadlines() async {
        await onThread(every: Self.deadlineCheck) { [lanes] in
            let now = ContinuousClock.now
            for lane in lanes {
                lane.queue.refuseLate(now: now)
            }
        }
    }

    /// Records one decision durably, in one call with others that wait for the same connection.
    public func record(
        _ proposal: IssuanceProposal, deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> RecordVerdict {
        if schema?.isBroken == true { throw Self.misfit }
        let queue = nextLane.queue
        let result = await withCheckedContinuation { caller in
            queue.append(LedgerEntry(proposal, deadline: deadline, for: .caller(caller)))
        }
        return try result.get()
    }

    /// Records decisions durably, each on its own. They keep their order and travel together.
    public func record(
        _ proposals: [IssuanceProposal], deadline: ContinuousClock.Instant
    ) async -> [Result<RecordVerdict, GatewayError>] {
        guard !proposals.isEmpty else { return [] }
        if schema?.isBroken == true { return proposals.map { _ in .failure(Self.misfit) } }
        let answers = LedgerAnswers(count: proposals.count)
        let entries = proposals.enumerated().map { place, proposal in
            LedgerEntry(proposal, deadline: deadline, for: .callerOfMany(answers, place: place))
        }
        nextLane.queue.append(entries)
        return await answers.all()
    }

    /// Recovery takes a migration or the start of another version, so callers wait more than a second.
    private static let misfit = GatewayError.otherSchema(retryAfter: 5)

    /// The connection for the next proposals: the first one that is well and has few proposals waiting, or else the one
    /// with the fewest. One that fails is taken only if none is well: it fails at once, so it always has the fewest.
    ///
    /// While nothing is under way, it is the one that the caller's own loop drives, so that no other thread wakes.
    private var nextLane: LedgerLane {
        if lanes.allSatisfy(\.isIdle), let own = lanes.first(where: \.loop.isCurrent) { return own }
        if let first = lanes.first(where: { $0.queue.count < limits.spillsAt && $0.health.isWell }) { return first }
        let well = lanes.filter(\.health.isWell)
        return (well.isEmpty ? lanes : well).min { $0.queue.count < $1.queue.count } ?? lanes[0]
    }
}

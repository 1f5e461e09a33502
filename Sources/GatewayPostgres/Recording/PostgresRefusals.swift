public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle
import Synchronization

/// Keeps refusals in memory and adds them to the database every few seconds.
///
/// Memory and table are bounded, so a flood of refusals slows nothing down: ``RefusalSampler`` drops what is too much
/// and counts it. Refusals of the last seconds are lost if the process is killed.
public final class PostgresRefusals: RefusalJournal, RefusalReader, Service {
    private let connection: PostgresConnection
    private let reading: StorePool
    /// Time between two writes.
    private let interval: Duration
    private let logger: Logger
    private let state: Mutex<State>

    private struct State {
        var sampler: RefusalSampler
        /// The rows that are on their way to the database, where look-ups may not see them yet.
        var leaving: [RefusalRecord] = []
    }

    /// Creates the journal.
    ///
    /// - Parameters:
    ///   - connection: Connection for the writes; may be shared.
    ///   - pool: Connections for look-ups.
    ///   - logger: Receives the reasons why refusals cannot be written or read.
    public convenience init(connection: PostgresConnection, pool: PostgresPool, logger: Logger) {
        self.init(connection: connection, pool: pool, interval: .seconds(5), limits: .init(), logger: logger)
    }

    init(
        connection: PostgresConnection, pool: PostgresPool, interval: Duration, limits: RefusalSampler.Limits,
        logger: Logger
    ) {
        self.connection = connection
        reading = StorePool(pool: pool, logger: logger, complaint: "refusals cannot be read")
        self.interval = interval
        self.logger = logger
        state = Mutex(State(sampler: RefusalSampler(limits)))
    }

    /// Keeps a refusal without waiting, or drops it.
    public func keep(_ refusal: RefusalRecord) -> Bool {
        state.withLock { $0.sampler.add(refusal) }
    }

    /// Writes after every interval until the service shuts down, and once more then.
    public func run() async {
        await doRounds(every: interval) { await self.flush() }
        await flush(deadline: .now + .lastWrite)
    }

    /// Writes the refusals. Keeps those for the next time that were not written. If the connection is lost at the
    /// commit, that is unknown, and they may be written twice.
    package func flush(deadline: ContinuousClock.Instant? = nil) async {
        let batch = state.withLock { state in
            let batch = state.sampler.take()
            state.leaving = batch.rows
            return batch
        }
        defer { state.withLock { $0.leaving = [] } }
        guard !batch.isEmpty else { return }
        do throws(PostgresError) {
            try await connection.perform(RefusalTable.record, batch, deadline: deadline)
        } catch {
            logger.report(
                error, "refusals not written yet", in: connection.outage, metadata: ["count": "\(batch.rows.count)"])
            // They are written, though a failover may undo that. Writing them again would show them twice.
            if case .outcomeUnknown = error { return }
            state.withLock { state in
                guard error.refusesData else { return state.sampler.restore(batch) }
                // A value that the table cannot hold must not stop the others for ever.
                state.sampler.restore(RefusalTable.Batch(dropped: batch.dropped))
                for row in batch.rows { state.sampler.drop(1, at: row.at) }
            }
        }
    }

    /// Reads the refusals of a request: those in the database, and those that wait here.
    public func refusals(
        ofRequest id: String, around instant: Date?
    ) async throws(GatewayError) -> KeptRefusals {
        let (waiting, leaving) = state.withLock { ($0.sampler.batch, $0.leaving) }
        var kept = KeptRefusals(rows: try await reading.execute(RefusalTable.ofRequest, id).compactMap(\.self))
        if let extent = try await reading.execute(RefusalTable.extent, instant).first {
            kept.keptSince = extent.keptSince
            kept.droppedNearby = extent.dropped
        }
        let here = leaving + waiting.rows
        if kept.rows.isEmpty { kept.rows = here.filter { $0.requestID == id } }
        if kept.keptSince == nil { kept.keptSince = here.first?.at }
        for (minute, count) in waiting.dropped
        where instant.map({ abs($0.timeIntervalSince(minute)) <= 120 }) ?? true {
            kept.droppedNearby += count
        }
        return kept
    }
}

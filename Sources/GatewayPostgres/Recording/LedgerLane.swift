import EventLoops
import Figures
import GatewayCore
import LibPQ
import Logging

/// Records the entries of one queue over one connection. While a call is under way, the next batch gathers in the
/// queue.
final class LedgerLane: Sendable {
    let queue: LedgerQueue
    let configuration: PostgresConfiguration
    /// The event loop that runs the lane. If it also serves requests, their proposals and answers stay on one thread.
    let loop: EventLoop
    let health: LaneHealth
    let clock: LedgerClock
    let maxBatch: Int
    /// Told when the schema lacks parts that recordings need.
    let schema: SchemaFit?
    let figures: LedgerFigures
    let logger: Logger

    init(
        queue: LedgerQueue, configuration: PostgresConfiguration, loop: EventLoop, health: LaneHealth,
        clock: LedgerClock, maxBatch: Int, schema: SchemaFit?, figures: LedgerFigures, logger: Logger
    ) {
        self.queue = queue
        self.configuration = configuration
        self.loop = loop
        self.health = health
        self.clock = clock
        self.maxBatch = maxBatch
        self.schema = schema
        self.figures = figures
        self.logger = logger
    }

    /// Whether the connection is well, and nothing waits for it or is under way.
    var isIdle: Bool { health.isIdle && queue.count == 0 }

    /// Records until the queue is closed and empty. Call it from a task whose preferred executor is the loop.
    func run() async {
        let connection = LoopConnection(configuration, loop: loop, logger: logger)
        while true {
            let entries = await queue.next(upTo: maxBatch)
            let isProbeDue = queue.takeProbe()
            guard !entries.isEmpty || isProbeDue else { return }
            if !entries.isEmpty { await record(refusingLate(entries), on: connection) }
            if isProbeDue {
                await RecordingProbe(health: health, clock: clock, schema: schema, configuration: configuration)
                    .run(over: connection)
            }
        }
    }

    /// Asks for a probe of the connection between two recordings, unless one is already due or running.
    ///
    /// - Parameter writes: Whether the probe writes even if nothing is known against this connection.
    func askForProbe(writes: Bool = false) {
        if health.ask(writes: writes) { queue.askForProbe() }
    }

    /// Refuses the entries whose deadline has passed, and returns the others.
    private func refusingLate(_ entries: [LedgerEntry]) -> [LedgerEntry] {
        let now = ContinuousClock.now
        guard entries.contains(where: { $0.deadline <= now }) else { return entries }
        let rest = entries.filter { $0.deadline > now }
        figures.items[.late].add(entries.count - rest.count)
        for entry in entries where entry.deadline <= now {
            entry.answer(.failure(.late))
        }
        return rest
    }

    private func record(_ entries: [LedgerEntry], on connection: LoopConnection) async {
        for batch in RecordBatch.batches(of: entries) {
            await record(batch, on: connection)
        }
    }

    private func record(_ batch: RecordBatch, on connection: LoopConnection) async {
        let entries = batch.entries
        guard let deadline = entries.lazy.map(\.deadline).max() else { return }
        let start = ContinuousClock.now
        figures.batchSizes.observe(Int64(entries.count))
        do throws(PostgresError) {
            let call = (batch: batch, clock: clock)
            let answers: [RecordBatch.Answer]
            do {
                health.begins(at: start)
                // Before the callers are answered: what they ask for next finds the connection idle.
                defer { health.ends() }
                answers = try await connection.execute(batch.statement, call, deadline: deadline)
            }
            guard let answer = answers.first else { throw .decoding(column: 0, reason: "no answer") }
            let elapsed = ContinuousClock.now - start
            figures.durations.observe(elapsed)
            switch try batch.outcome(by: answer) {
            case .verdicts(let verdicts):
                clock.agrees()
                figures.count(verdicts)
                // A stale or refused item wrote nothing, so it did not wait for the disk or a standby.
                if verdicts.contains(where: \.isRecorded) { health.recorded(since: start) }
                for (entry, verdict) in zip(entries, verdicts) { entry.answer(.success(verdict)) }
            case .clockDiffers(let ahead):
                figures.items[.failed].add(entries.count)
                let refusal = clock.refusal(ahead: ahead, within: elapsed)
                for entry in entries { entry.answer(.failure(refusal)) }
            }
        } catch {
            // The values of one item may have caused the refusal, and nothing of the batch was recorded. Each half is
            // tried on its own, so that the other items do not fail with it.
            if error.refusesData, entries.count > 1 {
                let middle = entries.count / 2
                await record(Array(entries[..<middle]), on: connection)
                await record(Array(entries[middle...]), on: connection)
                return
            }
            figures.items[.failed].add(entries.count)
            tell(error, count: entries.count)
            for entry in entries {
                entry.answer(.failure(error.asGatewayError))
            }
        }
    }

    /// Reports a failed recording. The failure concerns the whole connection unless its values or a lock caused it.
    private func tell(_ error: PostgresError, count: Int) {
        if !error.refusesData, error != .cancelled { health.recordingFailed(error) }
        if error.missesSchema, let schema { return schema.breaks(.init(missing: error)) }
        if !error.refusesData, !error.isWait, let outage = configuration.outage {
            // The others have recorded until now. Whether they still do, their next recordings or probes tell.
            outage.note("\(error)", "issuances not recorded", isSpare: configuration.isSpare())
        } else {
            logger.report(
                error, "issuances not recorded", in: configuration.outage, level: .error,
                metadata: ["count": "\(count)"])
        }
    }
}

extension RecordVerdict {
    /// Whether the verdict means that a row was written.
    var isRecorded: Bool {
        if case .recorded = self { true } else { false }
    }
}

import EventLoops
import GatewayCore
import LibPQ
import Logging

/// Records what gathers in a queue over one connection: while one call is under way, the next batch comes together.
struct LedgerLane: Sendable {
    let queue: LedgerQueue
    let configuration: PostgresConfiguration
    /// Runs the lane. Where it serves the requests too, proposals and answers are not handed from thread to thread.
    let loop: EventLoop
    let clock: LedgerClock
    let maxBatch: Int
    /// Told where the schema lacks what recordings need.
    let schema: SchemaFit?
    let logger: Logger
    let health = LaneHealth()

    /// Runs until the queue is closed and empty; to be called by a task that prefers the loop.
    func run() async {
        let connection = LoopConnection(configuration, loop: loop, logger: logger)
        while true {
            let entries = await queue.next(upTo: maxBatch)
            let isProbeDue = queue.takeProbe()
            guard !entries.isEmpty || isProbeDue else { return }
            if !entries.isEmpty { await record(Self.refusingLate(entries), on: connection) }
            if isProbeDue {
                await RecordingProbe(health: health, clock: clock, schema: schema, outage: configuration.outage)
                    .run(over: connection)
            }
        }
    }

    /// Has the connection probed, between two recordings, unless that is under way.
    func askForProbe() {
        if health.ask() { queue.askForProbe() }
    }

    /// Answers the entries whose deadline has passed, and gives the others.
    private static func refusingLate(_ entries: [LedgerEntry]) -> [LedgerEntry] {
        let now = ContinuousClock.now
        guard entries.contains(where: { $0.deadline <= now }) else { return entries }
        for entry in entries where entry.deadline <= now {
            entry.answer(.failure(.late))
        }
        return entries.filter { $0.deadline > now }
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
        do throws(PostgresError) {
            let call = (batch: batch, clock: clock)
            guard let answer = try await connection.execute(batch.statement, call, deadline: deadline).first else {
                throw .decoding(column: 0, reason: "no answer")
            }
            let outcome = try batch.outcome(by: answer)
            clock.note(outcome)
            switch outcome {
            case .verdicts(let verdicts):
                // What was stale or refused waited for no disk and no standby.
                if verdicts.contains(where: \.isRecorded) { health.recorded(since: start) }
                for (entry, verdict) in zip(entries, verdicts) { entry.answer(.success(verdict)) }
            case .clockDiffers:
                for entry in entries { entry.answer(.failure(.clockDiffers(retryAfter: LedgerClock.retryAfter))) }
            }
        } catch {
            // What the database refuses on account of one item is nobody else's fault; nothing of the batch was
            // recorded.
            if error.refusesData, entries.count > 1 {
                let middle = entries.count / 2
                await record(Array(entries[..<middle]), on: connection)
                await record(Array(entries[middle...]), on: connection)
                return
            }
            tell(error, count: entries.count)
            for entry in entries {
                entry.answer(.failure(error.asGatewayError))
            }
        }
    }

    /// Notes why a recording failed. Unless that is about its values or a lock, it is about everybody's.
    private func tell(_ error: PostgresError, count: Int) {
        if !error.refusesData, error != .cancelled { health.recordingFailed(error) }
        if error.missesSchema, let schema { return schema.breaks(SchemaFit.partsMissing) }
        if !error.refusesData, !error.isWait, let outage = configuration.outage {
            outage.note("\(error)", "issuances not recorded")
        } else {
            logger.report(
                error, "issuances not recorded", in: configuration.outage, level: .error,
                metadata: ["count": "\(count)"])
        }
    }
}

extension RecordVerdict {
    /// Whether there is a row.
    var isRecorded: Bool {
        if case .recorded = self { true } else { false }
    }
}

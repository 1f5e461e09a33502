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
    let maxBatch: Int
    let logger: Logger

    /// Runs until the queue is closed and empty; to be called by a task that prefers the loop.
    func run() async {
        let connection = LoopConnection(configuration, loop: loop, logger: logger)
        while true {
            let entries = await queue.next(upTo: maxBatch)
            guard !entries.isEmpty else { return }
            let now = ContinuousClock.now
            let (late, due) = entries.partitioned { $0.deadline > now }
            for entry in late {
                entry.answer(.failure(.slowDown(retryAfter: 1)))
            }
            await record(due[...], on: connection)
        }
    }

    private func record(
        _ entries: ArraySlice<LedgerQueue.Entry>, on connection: LoopConnection
    ) async {
        guard let deadline = entries.map(\.deadline).max() else { return }
        let batch = RecordBatch(entries)
        do throws(PostgresError) {
            let answer = try await connection.execute(RecordBatch.record, batch, deadline: deadline).first
            guard let answer, answer.fits(batch) else {
                throw .decoding(column: 0, reason: "the answer does not fit the batch")
            }
            for (item, entry) in entries.enumerated() {
                entry.answer(.success(batch.verdict(on: item, charging: entry.proposal.charges, by: answer)))
            }
        } catch {
            // What the database refuses on account of one item is nobody else's fault; nothing of the batch was recorded.
            if error.refusesData, entries.count > 1 {
                let middle = entries.startIndex + entries.count / 2
                await record(entries[..<middle], on: connection)
                await record(entries[middle...], on: connection)
                return
            }
            logger.error("issuances not recorded", metadata: ["reason": "\(error)", "count": "\(entries.count)"])
            for entry in entries {
                entry.answer(.failure(error.asGatewayError))
            }
        }
    }
}

extension Array {
    /// The elements that do not satisfy a condition, and those that do.
    fileprivate func partitioned(by condition: (Element) -> Bool) -> (no: [Element], yes: [Element]) {
        guard !allSatisfy(condition) else { return ([], self) }
        return (filter { !condition($0) }, filter(condition))
    }
}

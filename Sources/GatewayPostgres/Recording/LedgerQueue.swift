import Figures
import GatewayCore
import Synchronization

/// The proposals that wait to be recorded over one connection. Many callers fill the queue, and one reader empties it.
final class LedgerQueue: Sendable {
    private struct State {
        var entries: [LedgerEntry] = []
        var reader: CheckedContinuation<Void, Never>?
        var isOpen = true
        var isProbeDue = false
    }

    /// The result of handing in entries.
    private enum Entrance {
        case taken(reader: CheckedContinuation<Void, Never>?)
        case refused(GatewayError, LedgerFigures.Outcome)
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let figures: LedgerFigures

    /// Number of entries that wait.
    var count: Int { state.withLock { $0.entries.count } }

    init(capacity: Int, figures: LedgerFigures = LedgerFigures()) {
        self.capacity = capacity
        self.figures = figures
    }

    /// Stops taking new entries. Those in the queue are still handed out.
    func close() {
        let reader = state.withLock { state in
            state.isOpen = false
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Adds an entry if there is room. Refuses it at once otherwise.
    func append(_ entry: LedgerEntry) {
        let entrance = state.withLock { state -> Entrance in
            guard state.isOpen else { return .refused(.stopping, .stopping) }
            guard state.entries.count < capacity else { return .refused(.queueIsFull, .queueFull) }
            state.entries.append(entry)
            return .taken(reader: state.reader.take())
        }
        switch entrance {
        case .taken(let reader): reader?.resume()
        case .refused(let error, let outcome):
            figures.items[outcome].add()
            entry.answer(.failure(error))
        }
    }

    /// Adds entries in order while there is room. Refuses the others at once.
    func append(_ entries: [LedgerEntry]) {
        let (refusal, refused, reader) = state.withLock {
            state -> (GatewayError, ArraySlice<LedgerEntry>, CheckedContinuation<Void, Never>?) in
            guard state.isOpen else { return (.stopping, entries[...], nil) }
            let room = max(0, capacity - state.entries.count)
            state.entries += entries.prefix(room)
            let reader = state.entries.isEmpty ? nil : state.reader.take()
            return (.queueIsFull, entries.dropFirst(room), reader)
        }
        figures.items[refusal == .stopping ? .stopping : .queueFull].add(refused.count)
        for entry in refused {
            entry.answer(.failure(refusal))
        }
        reader?.resume()
    }

    /// Asks the reader to probe the connection.
    func askForProbe() {
        let reader = state.withLock { state in
            state.isProbeDue = state.isOpen
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Tests whether a probe was asked for since the last call.
    func takeProbe() -> Bool {
        state.withLock { exchange(&$0.isProbeDue, with: false) }
    }

    /// Waits for entries and removes the first of them from the queue. Returns none if a probe is due, or once the
    /// queue is closed and empty.
    func next(upTo limit: Int) async -> [LedgerEntry] {
        while true {
            let (entries, isIdle) = state.withLock { state in
                let isIdle = state.isOpen && !state.isProbeDue
                guard state.entries.count > limit else {
                    return (exchange(&state.entries, with: []), isIdle)
                }
                let first = Array(state.entries.prefix(limit))
                state.entries.removeFirst(limit)
                return (first, isIdle)
            }
            guard entries.isEmpty, isIdle else { return entries }
            await waitForEntries()
        }
    }

    private func waitForEntries() async {
        await withCheckedContinuation { continuation in
            let isDue = state.withLock { state in
                guard state.entries.isEmpty, state.isOpen, !state.isProbeDue else { return true }
                state.reader = continuation
                return false
            }
            if isDue {
                continuation.resume()
            }
        }
    }

    /// Refuses the entries whose deadline has passed.
    func refuseLate(now: ContinuousClock.Instant) {
        let late = state.withLock { state -> [LedgerEntry] in
            guard state.entries.contains(where: { $0.deadline <= now }) else { return [] }
            let late = state.entries.filter { $0.deadline <= now }
            state.entries.removeAll { $0.deadline <= now }
            return late
        }
        if !late.isEmpty { figures.items[.late].add(late.count) }
        for entry in late {
            entry.answer(.failure(.late))
        }
    }
}

extension GatewayError {
    /// The gateway is stopping and records no more.
    static let stopping = GatewayError.unavailable(retryAfter: 1, cause: "the ledger is closed")
    /// The queue is full.
    static let queueIsFull = GatewayError.slowDown(retryAfter: 1, cause: "the queue of the ledger is full")
    /// The deadline passed before the request was sent to the database.
    static let late = GatewayError.slowDown(retryAfter: 1, cause: "the deadline passed in the queue of the ledger")
}

/// The queue of the transfers that wait for one share.
///
/// An origin may have at most as many transfers as are left for the others. One origin that hangs therefore holds half
/// of the share, three that hang hold a quarter each, and there is always room for the next origin. The same holds for
/// places in the queue.
struct TransferTurns {
    /// Names a transfer.
    typealias Ticket = UInt64

    private struct Line {
        var running = 0
        var waiting: [Ticket] = []
    }

    private let limits: HTTPTransfers.Limits
    private var lines: [HTTPTransfer.Origin: Line] = [:]
    /// Origins with waiting transfers; the first one was served longest ago.
    private var order: [HTTPTransfer.Origin] = []
    private var running = 0
    private var waiting = 0

    init(_ limits: HTTPTransfers.Limits) {
        self.limits = limits
    }

    /// Adds a transfer to the queue of an origin; `false` if the queue is full.
    mutating func join(_ ticket: Ticket, for origin: HTTPTransfer.Origin) -> Bool {
        var line = lines[origin] ?? Line()
        guard line.waiting.count < limits.waiting - waiting else { return false }
        if line.waiting.isEmpty { order.append(origin) }
        line.waiting.append(ticket)
        waiting += 1
        lines[origin] = line
        return true
    }

    /// Removes and returns the next transfer. It counts as running until ``end(for:)``.
    mutating func next() -> Ticket? {
        let most = min(limits.perOrigin, limits.atOnce - running)
        guard let place = order.firstIndex(where: { lines[$0, default: Line()].running < most }) else { return nil }
        let origin = order.remove(at: place)
        guard var line = lines[origin], !line.waiting.isEmpty else { return nil }
        let ticket = line.waiting.removeFirst()
        line.running += 1
        lines[origin] = line
        running += 1
        waiting -= 1
        if !line.waiting.isEmpty { order.append(origin) }
        return ticket
    }

    /// Removes a transfer from the queue before its turn.
    mutating func leave(_ ticket: Ticket, for origin: HTTPTransfer.Origin) {
        guard var line = lines[origin], let place = line.waiting.firstIndex(of: ticket) else { return }
        line.waiting.remove(at: place)
        waiting -= 1
        if line.waiting.isEmpty { order.removeAll { $0 == origin } }
        keep(line, for: origin)
    }

    /// Notes that one of the origin's transfers has ended.
    mutating func end(for origin: HTTPTransfer.Origin) {
        guard var line = lines[origin], line.running > 0 else { return }
        line.running -= 1
        running -= 1
        keep(line, for: origin)
    }

    private mutating func keep(_ line: Line, for origin: HTTPTransfer.Origin) {
        lines[origin] = line.running == 0 && line.waiting.isEmpty ? nil : line
    }
}

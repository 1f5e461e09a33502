import CLibCurl

/// The orders that the transfers' thread works on. Only that thread uses it.
struct TransferDesk {
    private typealias Ticket = TransferTurns.Ticket

    private enum Stage {
        case waiting
        case lookingUp
        case running(EasyTransfer)
    }

    private struct Entry {
        let order: TransferOrder
        var stage = Stage.waiting
    }

    private let multi: MultiHandle
    /// Starts to look up a name for a share; `false` if that is not possible.
    private let lookUp: (_ name: String, _ share: Int) -> Bool
    private var turns: [TransferTurns]
    private var names: [NameQueue]
    private var entries: [Ticket: Entry] = [:]
    private var running: [UInt: Ticket] = [:]
    /// No deadline is earlier than this.
    private(set) var nextDeadline: ContinuousClock.Instant?

    init(
        _ shares: [HTTPTransfers.Limits], _ multi: MultiHandle, lookUp: @escaping (_ name: String, _ share: Int) -> Bool
    ) {
        self.multi = multi
        self.lookUp = lookUp
        turns = shares.map { TransferTurns($0) }
        names = shares.map { NameQueue(limit: $0.lookUps) }
    }

    /// Processes the messages of other threads.
    mutating func take(_ event: TransferLoop.Event) {
        switch event {
        case .begun(let order):
            guard turns[order.share].join(order.ticket, for: order.transfer.origin) else {
                return order.caller.resume(returning: .failure(.busy))
            }
            entries[order.ticket] = Entry(order: order)
            nextDeadline = nextDeadline.map { min($0, order.deadline) } ?? order.deadline
        case .cancelled(let ticket):
            end(ticket, .failure(.cancelled))
        case .lookedUp(let name, let share, let addresses):
            for ticket in names[share].end(name) {
                if addresses.isEmpty { end(ticket, .failure(.nameNotFound)) } else { start(ticket, addresses) }
            }
        }
    }

    /// Does all work that needs no waiting.
    mutating func work() {
        endLate()
        repeat {
            beginDue()
            multi.perform()
        } while endFinished()
    }

    /// Ends all orders, because nobody will work on them any more.
    mutating func endAll() {
        for ticket in Array(entries.keys) { end(ticket, .failure(.cancelled)) }
    }

    // MARK: Beginning

    private mutating func beginDue() {
        for share in turns.indices {
            while let ticket = turns[share].next() { begin(ticket) }
            while let name = names[share].begin() {
                guard !lookUp(name, share) else { continue }
                for ticket in names[share].end(name) { end(ticket, .failure(.busy)) }
            }
        }
    }

    private mutating func begin(_ ticket: Ticket) {
        guard let order = entries[ticket]?.order else { return }
        let name = order.transfer.origin.name
        let literal = literalAddresses(in: name)
        entries[ticket]?.stage = .lookingUp
        guard literal.isEmpty else { return start(ticket, literal) }
        names[order.share].join(ticket, for: name)
    }

    private mutating func start(_ ticket: Ticket, _ addresses: [String]) {
        guard let order = entries[ticket]?.order else { return }
        do throws(HTTPTransfer.Failure) {
            let transfer = try EasyTransfer(
                order.transfer, addresses: addresses, timeout: ContinuousClock.now.duration(to: order.deadline))
            guard multi.add(transfer) else { throw .other(code: CURLE_FAILED_INIT.rawValue) }
            entries[ticket]?.stage = .running(transfer)
            running[transfer.identity] = ticket
        } catch {
            end(ticket, .failure(error))
        }
    }

    // MARK: Ending

    private mutating func endLate() {
        let now = ContinuousClock.now
        guard let deadline = nextDeadline, deadline <= now else { return }
        for entry in Array(entries.values) where entry.order.deadline <= now {
            end(entry.order.ticket, .failure(.timedOut))
        }
        nextDeadline = entries.values.lazy.map(\.order.deadline).min()
    }

    /// Finishes one ended transfer, and returns whether there was one.
    private mutating func endFinished() -> Bool {
        var isFirst = true
        while let (identity, code) = multi.nextEnded() {
            isFirst = false
            guard let ticket = running[identity], case .running(let transfer) = entries[ticket]?.stage else { continue }
            end(ticket, transfer.result(code))
        }
        return !isFirst
    }

    private mutating func end(_ ticket: Ticket, _ result: Result<HTTPTransfer.Answer, HTTPTransfer.Failure>) {
        guard let entry = entries.removeValue(forKey: ticket) else { return }
        let order = entry.order
        switch entry.stage {
        case .waiting: turns[order.share].leave(ticket, for: order.transfer.origin)
        case .lookingUp:
            names[order.share].leave(ticket, for: order.transfer.origin.name)
            turns[order.share].end(for: order.transfer.origin)
        case .running(let transfer):
            multi.remove(transfer)
            running[transfer.identity] = nil
            turns[order.share].end(for: order.transfer.origin)
        }
        order.caller.resume(returning: result)
    }
}

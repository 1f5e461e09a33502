import EventLoops
import Synchronization

/// The thread of the transfers, and how others reach it.
final class TransferLoop: Sendable {
    /// What others tell the thread.
    enum Event: Sendable {
        case begun(TransferOrder)
        case cancelled(TransferTurns.Ticket)
        case lookedUp(name: String, share: Int, addresses: [String])
    }

    private struct Inbox {
        var events: [Event] = []
        var hasThread = false
        var isOpen = true
    }

    private let shares: [HTTPTransfers.Limits]
    private let lookUp: NameLookUp
    private let multi = MultiHandle()
    private let inbox = Mutex(Inbox())
    private let tickets = Atomic<TransferTurns.Ticket>(0)

    init(shares: [HTTPTransfers.Limits], lookUp: @escaping NameLookUp) {
        self.shares = shares
        self.lookUp = lookUp
    }

    /// A ticket that nobody has.
    func nextTicket() -> TransferTurns.Ticket {
        tickets.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Hands an order in, on behalf of the task that runs.
    func begin(_ order: TransferOrder) {
        let failure = inbox.withLock { inbox -> HTTPTransfer.Failure? in
            // Looked at under the lock: a cancellation before this point finds no order to end.
            if Task.isCancelled { return .cancelled }
            guard inbox.isOpen, let multi else { return .busy }
            if !inbox.hasThread { inbox.hasThread = startThread { [self] in run(multi) } }
            guard inbox.hasThread else { return .busy }
            inbox.events.append(.begun(order))
            return nil
        }
        if let failure {
            order.caller.resume(returning: .failure(failure))
        } else {
            multi?.wakeUp()
        }
    }

    /// Ends an order soon.
    func cancel(_ ticket: TransferTurns.Ticket) {
        tell(.cancelled(ticket))
    }

    /// Ends the thread.
    func stop() {
        inbox.withLock { $0.isOpen = false }
        multi?.wakeUp()
    }

    private func tell(_ event: Event) {
        inbox.withLock { $0.events.append(event) }
        multi?.wakeUp()
    }

    private func run(_ multi: MultiHandle) {
        var desk = TransferDesk(shares, multi) { [self] name, share in look(up: name, for: share) }
        while true {
            let (events, isOpen) = inbox.withLock { (exchange(&$0.events, with: []), $0.isOpen) }
            for event in events { desk.take(event) }
            guard isOpen else { return desk.endAll() }
            desk.work()
            multi.wait(until: desk.nextDeadline)
        }
    }

    /// Looks a name up on a thread that belongs to nobody: where it hangs, it is left to itself.
    ///
    /// - Returns: Whether there was a thread to spare.
    private func look(up name: String, for share: Int) -> Bool {
        startThread { [self] in tell(.lookedUp(name: name, share: share, addresses: lookUp(name))) }
    }
}

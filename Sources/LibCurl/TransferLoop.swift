import EventLoops
import Synchronization

/// The thread of the transfers, and how others reach it.
final class TransferLoop: Sendable {
    /// Messages to the thread.
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

    /// A ticket that is not in use.
    func nextTicket() -> TransferTurns.Ticket {
        tickets.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Submits an order for the current task.
    func begin(_ order: TransferOrder) {
        let failure = inbox.withLock { inbox -> HTTPTransfer.Failure? in
            // Checked under the lock, because a cancellation before this point finds no order to end.
            if order.transfer.honoursCancellation, Task.isCancelled { return .cancelled }
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

    /// Looks up a name on a detached thread, which is abandoned if it hangs.
    ///
    /// - Returns: Whether a thread could be started.
    private func look(up name: String, for share: Int) -> Bool {
        startThread { [self] in tell(.lookedUp(name: name, share: share, addresses: lookUp(name))) }
    }
}

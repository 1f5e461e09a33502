import Synchronization

/// The way in which a process makes its transfers: all on one thread, so many at once, none at the expense of others.
///
/// Transfers belong to shares, each with limits of its own, so that what one share waits for takes nothing from
/// another. Within a share, ``TransferTurns`` is fair between origins. A transfer's time begins with the call: waiting
/// for a turn and looking the name up are part of it. Whoever waits is told at the deadline, whatever hangs.
public final class HTTPTransfers: Sendable {
    /// How much a share may have under way.
    public struct Limits: Sendable {
        /// Most transfers.
        public var atOnce: Int
        /// Most transfers with one origin.
        public var perOrigin: Int
        /// Most that wait for their turn; those beyond are refused at once.
        public var waiting: Int
        /// Most names that are looked up, each on a thread that blocks meanwhile.
        public var lookUps: Int

        /// Sets the limits.
        public init(atOnce: Int, perOrigin: Int, waiting: Int, lookUps: Int) {
            self.atOnce = atOnce
            self.perOrigin = perOrigin
            self.waiting = waiting
            self.lookUps = lookUps
        }
    }

    private let loop: TransferLoop

    /// Sets up; the thread starts with the first transfer and ends with this object.
    ///
    /// - Parameters:
    ///   - shares: The limits of each share.
    ///   - lookUp: Finds the addresses of names.
    public init(shares: [Limits], lookUp: @escaping NameLookUp = systemNameLookUp) {
        loop = TransferLoop(shares: shares, lookUp: lookUp)
    }

    deinit { loop.stop() }

    /// Makes a transfer.
    ///
    /// - Parameters:
    ///   - transfer: What to ask for.
    ///   - share: The place of a share among those given at the beginning.
    public func perform(
        _ transfer: HTTPTransfer, share: Int
    ) async throws(HTTPTransfer.Failure) -> HTTPTransfer.Answer {
        let ticket = loop.nextTicket()
        let deadline = ContinuousClock.now + transfer.timeout
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { caller in
                loop.begin(
                    TransferOrder(ticket: ticket, transfer: transfer, share: share, deadline: deadline, caller: caller))
            }
        } onCancel: {
            loop.cancel(ticket)
        }
        return try withExtendedLifetime(self) { () throws(HTTPTransfer.Failure) in try result.get() }
    }
}

/// A transfer that somebody waits for.
struct TransferOrder: Sendable {
    let ticket: TransferTurns.Ticket
    let transfer: HTTPTransfer
    let share: Int
    let deadline: ContinuousClock.Instant
    let caller: CheckedContinuation<Result<HTTPTransfer.Answer, HTTPTransfer.Failure>, Never>
}

/// Performs the transfers of a process on one thread. Their number is limited, and they share the limits fairly.
///
/// Transfers belong to shares. Each share has its own limits, so that slow transfers of one share do not delay another.
/// Within a share, ``TransferTurns`` divides the limits fairly between origins. The time of a transfer includes waiting
/// for a turn and looking up the name. A caller gets its error at the deadline, whatever hangs.
public final class HTTPTransfers: Sendable {
    /// The limits of a share.
    public struct Limits: Sendable {
        /// Maximum number of simultaneous transfers.
        public var atOnce: Int
        /// Maximum number of simultaneous transfers with one origin.
        public var perOrigin: Int
        /// Maximum number of waiting transfers. Further ones are refused at once.
        public var waiting: Int
        /// Maximum number of simultaneous look-ups. Each blocks a thread.
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

    /// Prepares the transfers. The thread starts with the first transfer and ends with this object.
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
    ///   - transfer: The request.
    ///   - share: The index of the share among those given to the initialiser.
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
            if transfer.honoursCancellation { loop.cancel(ticket) }
        }
        return try withExtendedLifetime(self) { () throws(HTTPTransfer.Failure) in try result.get() }
    }
}

/// A transfer that a caller waits for.
struct TransferOrder: Sendable {
    let ticket: TransferTurns.Ticket
    let transfer: HTTPTransfer
    let share: Int
    let deadline: ContinuousClock.Instant
    let caller: CheckedContinuation<Result<HTTPTransfer.Answer, HTTPTransfer.Failure>, Never>
}

import CLibPQ
import Dispatch
import Glibc

extension Session {
    /// What success of a call means for what it wrote.
    enum Effect {
        /// It wrote nothing.
        case none
        /// What it wrote stands once the transaction is committed, and goes with the connection.
        case provisional
        /// It is committed.
        case lasting
    }

    /// What was sent and is being answered.
    struct Call: ~Copyable {
        let effect: Effect
        fileprivate(set) var interruption: Interruption
        fileprivate var isSending = true
        fileprivate var isAnswered = false
        var last: PostgresResult?
        fileprivate(set) var failure: PostgresError.ServerError?

        init(_ effect: Effect, deadline: ContinuousClock.Instant) {
            self.effect = effect
            interruption = Interruption(deadline: deadline)
        }
    }

    /// What a call cannot go on without: an event on a socket, somebody's waking, or the end of a time.
    struct Wait {
        let socket: Int32
        let events: Int32
        let limit: ContinuousClock.Instant
    }

    /// Why and since when a statement is being cancelled.
    struct Interruption {
        fileprivate let deadline: ContinuousClock.Instant
        /// Set when the request to cancel is sent.
        fileprivate(set) var reason: PostgresError?
        fileprivate var limit: ContinuousClock.Instant

        fileprivate init(deadline: ContinuousClock.Instant) {
            self.deadline = deadline
            limit = deadline
        }
    }

    /// Goes on with a call as far as that is possible without waiting; `nil` when it is over.
    ///
    /// - Parameter isReady: Whether the socket is, as far as the caller has waited for it.
    func advance(_ call: inout Call, isReady: Bool) throws(PostgresError) -> Wait? {
        // Where reading fails the result will tell.
        var isBroken = unsafe isReady && PQconsumeInput(handle.pointer) == 0
        while !call.isAnswered {
            if call.isSending {
                // Negative is an error, which the result will tell.
                call.isSending = unsafe PQflush(handle.pointer) == 1
            }
            if unsafe !isBroken && PQisBusy(handle.pointer) != 0 {
                try interruptIfDue(&call.interruption)
                let events = call.isSending ? POLLIN | POLLOUT : POLLIN
                return Wait(socket: socket, events: events, limit: call.interruption.limit)
            }
            isBroken = false
            try takeResult(&call)
        }
        return nil
    }

    private func takeResult(_ call: inout Call) throws(PostgresError) {
        guard let pointer = unsafe PQgetResult(handle.pointer) else {
            call.isAnswered = true
            return
        }
        let next = unsafe PostgresResult(owning: pointer)
        switch next.status {
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
            abandon()
            throw .connectionLost(reason: "COPY is not supported")
        default: call.failure = call.failure ?? next.error
        }
        call.last = consume next
    }

    private func interruptIfDue(_ interruption: inout Interruption) throws(PostgresError) {
        let now = ContinuousClock.now
        if interruption.reason == nil {
            if honoursCancellation, Task.isCancelled {
                interruption.reason = .cancelled
            } else if now >= interruption.deadline {
                interruption.reason = .deadlineExceeded
            } else {
                return
            }
            interruption.limit = now + cancelTimeout
            let target = unsafe CancelTarget(pointer: PQgetCancel(handle.pointer))
            // Sending blocks until the server has closed the connection
            // that it takes: a dead host holds up nobody else.
            DispatchQueue(label: "postgres-cancel").async { target.send() }
        } else if now >= interruption.limit {
            abandon()
            throw .connectionLost(reason: "the server did not answer in time, nor to the request to cancel")
        }
    }
}

/// Owns a `PGcancel`.
///
/// - Invariant: The session's thread sets the pointer in `init` and lets go of it. After that one closure on a queue of
///   its own uses it, and it is freed when that has returned.
@safe
private final class CancelTarget: @unchecked Sendable {
    private let pointer: OpaquePointer?

    init(pointer: OpaquePointer?) { unsafe self.pointer = pointer }
    deinit { unsafe PQfreeCancel(pointer) }

    func send() {
        var message = [CChar](repeating: 0, count: 256)
        // Whether it succeeded shows in the statement's end, or in that it does not end.
        _ = unsafe PQcancel(pointer, &message, Int32(message.count))
    }
}

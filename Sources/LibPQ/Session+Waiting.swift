import CLibPQ
import Dispatch
import Glibc
import Synchronization

extension Session {
    /// A statement that was sent and whose answer is awaited.
    struct Call: ~Copyable {
        let effect: WriteEffect
        fileprivate(set) var interruption: Interruption
        fileprivate var isSending = true
        fileprivate var isAnswered = false
        var last: PostgresResult?
        fileprivate(set) var failure: PostgresError.ServerError?

        init(_ effect: WriteEffect, deadline: ContinuousClock.Instant) {
            self.effect = effect
            interruption = Interruption(deadline: deadline)
        }
    }

    /// What a call waits for: an event on a socket, a wake-up, or a time limit.
    struct Wait {
        let socket: Int32
        let events: Int32
        let limit: ContinuousClock.Instant
    }

    /// Why a statement is being cancelled, and when that must be confirmed.
    struct Interruption {
        fileprivate let deadline: ContinuousClock.Instant
        /// Set when the caller does not want the statement any more.
        fileprivate(set) var reason: PostgresError?
        fileprivate var target: CancelTarget?
        /// Whether the server was asked to cancel the statement.
        var isAsked: Bool { target != nil }
        /// When the call gives up: no request to cancel has helped.
        fileprivate var end: ContinuousClock.Instant
        /// When something is to be done next.
        fileprivate var limit: ContinuousClock.Instant

        fileprivate init(deadline: ContinuousClock.Instant) {
            self.deadline = deadline
            (end, limit) = (deadline, deadline)
        }
    }

    /// Continues a call as far as possible without waiting. Returns `nil` when the call has ended.
    ///
    /// - Parameter isReady: Whether the socket is known to be ready.
    func advance(_ call: inout Call, isReady: Bool) throws(PostgresError) -> Wait? {
        // If reading fails, the result shows it.
        var isBroken = unsafe isReady && PQconsumeInput(handle.pointer) == 0
        while !call.isAnswered {
            if call.isSending {
                // A negative value is an error, which the result shows.
                call.isSending = unsafe PQflush(handle.pointer) == 1
            }
            if unsafe !isBroken && PQisBusy(handle.pointer) != 0 {
                // libpq reads part of a TLS record that exceeds the room in its buffer. The rest is no longer at the
                // socket, and the server may have nothing more to send.
                if unsafe sluice_bytes_in_tls(handle.pointer) > 0 {
                    isBroken = unsafe PQconsumeInput(handle.pointer) == 0
                    continue
                }
                guard !isSuperseded else {
                    abandon()
                    throw .connectionLost(reason: Self.superseded)
                }
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
                interruption.limit = now + cancelDelay
            } else if now >= interruption.deadline {
                interruption.reason = .deadlineExceeded
                interruption.limit = now
            } else {
                return
            }
            interruption.end = interruption.limit + cancelTimeout
        } else if now >= interruption.end {
            abandon()
            throw .connectionLost(reason: "the server did not answer in time, nor to the request to cancel")
        }
        guard now >= interruption.limit else { return }
        let target = unsafe interruption.target ?? CancelTarget(pointer: PQgetCancel(handle.pointer))
        interruption.target = target
        // A request that reaches a busy server before the statement has begun there is lost.
        target.ask()
        interruption.limit = min(now + cancelTimeout / 8, interruption.end)
    }
}

/// Owns a `PGcancel`.
///
/// - Invariant: The session's thread sets the pointer in `init`. After that, closures on one serial queue use it, and
///   it is freed when the last of them has returned.
@safe
private final class CancelTarget: @unchecked Sendable {
    private let pointer: OpaquePointer?
    private let isAsking = Atomic(false)
    /// Sending blocks until the server has closed the connection used for it. On a queue of its own, a dead host delays
    /// no one else.
    private let queue = DispatchQueue(label: "postgres-cancel")

    init(pointer: OpaquePointer?) { unsafe self.pointer = pointer }
    deinit { unsafe PQfreeCancel(pointer) }

    /// Asks the server to cancel the statement, unless a request is under way. Whether it helps shows in whether the
    /// statement ends.
    func ask() {
        guard !isAsking.exchange(true, ordering: .relaxed) else { return }
        queue.async { [self] in
            var message = [CChar](repeating: 0, count: 256)
            _ = unsafe PQcancel(pointer, &message, Int32(message.count))
            isAsking.store(false, ordering: .relaxed)
        }
    }
}

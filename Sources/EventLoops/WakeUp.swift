import CEventDescriptor
import Glibc
import Synchronization

/// Wakes a sleeping thread. A signal costs a system call only while the thread sleeps.
final class WakeUp: Sendable {
    private enum State {
        static let awake = 0
        static let signalled = 1
        static let asleep = 2
    }

    /// Becomes readable after a signal that arrives while the thread sleeps.
    let descriptor: Int32
    private let state = Atomic<Int>(State.awake)

    init() throws(EventLoopError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw .noDescriptor }
    }

    deinit { close(descriptor) }

    /// Ends the current sleep, or prevents the next one.
    func signal() {
        guard state.exchange(State.signalled, ordering: .acquiringAndReleasing) == State.asleep else { return }
        _ = eventfd_write(descriptor, 1)
    }

    /// Announces that the thread is about to sleep. Returns whether it may. If so, a signal from now on makes the
    /// descriptor readable, and a call of ``rise(isSignalled:)`` must follow.
    func lieDown() -> Bool {
        state.compareExchange(
            expected: State.awake, desired: State.asleep, ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Announces that the thread is awake. A signal after this call prevents the next sleep, unless the thread handles
    /// its cause first.
    ///
    /// - Parameter isSignalled: Whether ``descriptor`` is readable and must be reset.
    func rise(isSignalled: Bool) {
        if isSignalled {
            var count: eventfd_t = 0
            _ = unsafe eventfd_read(descriptor, &count)
        }
        _ = state.exchange(State.awake, ordering: .acquiringAndReleasing)
    }
}

import CEventDescriptor
import Glibc
import Synchronization

/// Ends a thread's waiting. Signals cost a system call only while the thread sleeps.
final class WakeUp: Sendable {
    private enum State {
        static let awake = 0
        static let signalled = 1
        static let asleep = 2
    }

    /// Readable after a signal that came while the thread slept.
    let descriptor: Int32
    private let state = Atomic<Int>(State.awake)

    init() throws(EventLoopError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw .noDescriptor }
    }

    deinit { close(descriptor) }

    /// Ends the sleep, or prevents the next one, once.
    func signal() {
        guard state.exchange(State.signalled, ordering: .acquiringAndReleasing) == State.asleep else { return }
        _ = eventfd_write(descriptor, 1)
    }

    /// Whether the thread may sleep: from here on a signal makes the descriptor readable. ``rise()`` must follow.
    func lieDown() -> Bool {
        state.compareExchange(
            expected: State.awake, desired: State.asleep, ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Whatever is signalled after this is either seen by what follows, or prevents the next sleep.
    func rise(isSignalled: Bool) {
        if isSignalled {
            var count: eventfd_t = 0
            _ = unsafe eventfd_read(descriptor, &count)
        }
        _ = state.exchange(State.awake, ordering: .acquiringAndReleasing)
    }
}

import CMicroHTTPD
import Glibc
import Synchronization

/// Ends a thread's waiting. Signals cost a system call only while the thread sleeps.
final class WakeUp: Sendable {
    private enum State {
        static let awake = 0
        static let signalled = 1
        static let asleep = 2
    }

    private let descriptor: Int32
    private let state = Atomic<Int>(State.awake)

    init() throws(HTTPServerError) {
        descriptor = sluice_event_descriptor()
        guard descriptor >= 0 else { throw .cannotStart }
    }

    deinit { close(descriptor) }

    /// Ends the waiting, or the next one, once.
    func signal() {
        guard state.exchange(State.signalled, ordering: .acquiringAndReleasing) == State.asleep else { return }
        var one: UInt64 = 1
        _ = unsafe write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Waits for a signal, for another descriptor or for the end of the time.
    ///
    /// - Parameter milliseconds: -1 waits without end, 0 does not wait.
    func wait(orReadable other: Int32, for milliseconds: Int32) {
        // Whatever happens after this is either seen by what follows the waiting, or ends the next one.
        let maySleep =
            milliseconds != 0
            && state.compareExchange(
                expected: State.awake, desired: State.asleep, ordering: .acquiringAndReleasing
            ).exchanged
        if maySleep { sleep(orReadable: other, for: milliseconds) }
        _ = state.exchange(State.awake, ordering: .acquiringAndReleasing)
    }

    private func sleep(orReadable other: Int32, for milliseconds: Int32) {
        var polled: InlineArray<2, pollfd> = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: other, events: Int16(POLLIN), revents: 0),
        ]
        var span = polled.mutableSpan
        _ = unsafe span.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, nfds_t($0.count), milliseconds) }
        guard polled[0].revents != 0 else { return }
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}

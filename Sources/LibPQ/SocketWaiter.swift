import CEventDescriptor
import EventLoops
import Glibc

/// Waits for a socket, or until another thread ends the wait.
///
/// A wake-up only means "check again". The waiting code itself checks whether its task was cancelled or its deadline
/// has passed, so a late or unnecessary wake-up does no harm. Where the machine had no file descriptor left when the
/// waiter was made, there are no wake-ups: a wait ends with the socket or the deadline.
final class SocketWaiter: Sendable {
    /// The descriptor of the wake-ups; -1 without any.
    private let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func wake() {
        if descriptor >= 0 { _ = eventfd_write(descriptor, 1) }
    }

    /// Waits until a socket is ready for one of the events, ``wake()`` is called or the deadline passes.
    ///
    /// - Parameters:
    ///   - socket: A descriptor, or -1 to wait only for the other two.
    ///   - events: `POLLIN`, `POLLOUT` or both.
    ///   - deadline: When the wait ends at the latest.
    /// - Returns: Whether the socket is ready. It may also be broken, which reading from it shows.
    @discardableResult
    func wait(for socket: Int32, events: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        var descriptors = (
            pollfd(fd: socket, events: Int16(events), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        )
        let milliseconds = Self.milliseconds(until: deadline)
        _ = unsafe withUnsafeMutableBytes(of: &descriptors) { bytes in
            unsafe poll(bytes.baseAddress?.assumingMemoryBound(to: pollfd.self), 2, milliseconds)
        }
        if descriptors.1.revents != 0 {
            var count: eventfd_t = 0
            _ = unsafe eventfd_read(descriptor, &count)
        }
        return descriptors.0.revents != 0
    }

    /// Waits as ``wait(for:events:until:)`` does, while an event loop does other work.
    func wait(
        for socket: Int32, events: Int32, until deadline: ContinuousClock.Instant, on loop: EventLoop
    ) async -> Bool {
        let isReady = await loop.wait(for: socket, events: events, orReadable: descriptor, until: deadline)
        if !isReady, descriptor >= 0 {
            var count: eventfd_t = 0
            _ = unsafe eventfd_read(descriptor, &count)
        }
        return isReady
    }

    /// Returns the time left in milliseconds, rounded up so that the caller does not spin during the last millisecond.
    private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { return 0 }
        guard left < .seconds(3600) else { return 3_600_000 }
        return Int32(left / .milliseconds(1)) + 1
    }
}

extension SocketWaiter {
    /// Whether a socket has something to read; does not wait.
    static func isReadable(_ socket: Int32) -> Bool {
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&descriptor, 1, 0) > 0
    }

    /// Waits as ``wait(for:events:until:)`` does, but cannot be woken early.
    static func wait(for socket: Int32, events: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        var descriptor = pollfd(fd: socket, events: Int16(events), revents: 0)
        return unsafe poll(&descriptor, 1, milliseconds(until: deadline)) > 0
    }
}

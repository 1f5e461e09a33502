import CEventDescriptor
import Glibc

/// A descriptor that is readable while one of several others is. A descriptor that is closed leaves by itself.
final class DescriptorSet: Sendable {
    let descriptor: Int32

    init() throws(HTTPServerError) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw .cannotStart }
    }

    deinit { close(descriptor) }

    /// Adds a descriptor.
    func insert(_ member: Int32) {
        var event = unsafe epoll_event()
        unsafe event.events = EPOLLIN.rawValue
        unsafe epoll_ctl(descriptor, EPOLL_CTL_ADD, member, &event)
    }
}

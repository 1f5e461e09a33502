import CEventDescriptor
import CMicroHTTPD
import Glibc
import Synchronization

/// Owns a listening TCP socket.
///
/// The server accepts clients itself, so that a client beyond the limits gets an answer. libmicrohttpd's own threads
/// could also abort the process when accepting ends: in 0.9.75, `MHD_quiesce_daemon` races with a worker that removes
/// the socket from its epoll set.
final class ListeningSocket: Sendable {
    let address: String
    let port: UInt16
    /// -1 once it is closed.
    private let descriptor: Atomic<Int32>
    private let isStopped = Atomic(false)
    /// Readable once no more clients are to be accepted. The socket itself cannot say so to this process alone.
    private let end: Int32

    convenience init(address: String, port: UInt16) throws(HTTPServerError) {
        let descriptor = try Self.bind(address: address, port: port)
        guard listen(descriptor, 1_024) == 0 else {
            throw Self.refusal(closing: descriptor, address: address, port: port)
        }
        try self.init(listening: descriptor)
    }

    /// Takes a socket that the process was given.
    ///
    /// - Throws: ``HTTPServerError/unusableSocket(reason:)`` if it does not listen for TCP.
    convenience init(passed descriptor: Int32) throws(HTTPServerError) {
        guard Self.option(SO_ACCEPTCONN, of: descriptor) == 1 else { throw .unusableSocket(reason: "does not listen") }
        guard [AF_INET, AF_INET6].contains(Self.option(SO_DOMAIN, of: descriptor) ?? 0) else {
            throw .unusableSocket(reason: "is none of TCP")
        }
        try self.init(listening: descriptor)
    }

    private init(listening descriptor: Int32) throws(HTTPServerError) {
        end = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        // Another process that has the socket may take the client that was announced here.
        guard end >= 0, fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0 else {
            Glibc.close(descriptor)
            throw .cannotStart
        }
        self.descriptor = Atomic(descriptor)
        (address, port) = Self.boundAddress(of: descriptor)
    }

    private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }

    /// Binds an address and releases it again, without listening. No client can connect meanwhile.
    static func tryBinding(address: String, port: UInt16) throws(HTTPServerError) {
        Glibc.close(try bind(address: address, port: port))
    }

    /// Opens a socket and binds it to an address.
    private static func bind(address: String, port: UInt16) throws(HTTPServerError) -> Int32 {
        var storage = sockaddr_storage()
        let length = try fill(&storage, address: address, port: port)
        let descriptor = socket(Int32(storage.ss_family), Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw refusal(closing: descriptor, address: address, port: port) }
        var on: Int32 = 1
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        if Int32(storage.ss_family) == AF_INET6 {
            var off: Int32 = 0
            unsafe setsockopt(
                descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &off, socklen_t(MemoryLayout<Int32>.size))
        }
        let bound = unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.bind(descriptor, $0, length)
            }
        }
        guard bound == 0 else { throw refusal(closing: descriptor, address: address, port: port) }
        return descriptor
    }

    /// The error for the system's last refusal.
    private static func refusal(closing descriptor: Int32, address: String, port: UInt16) -> HTTPServerError {
        let reason = unsafe String(cString: strerror(errno))
        if descriptor >= 0 { Glibc.close(descriptor) }
        return .cannotListen(address: address, port: port, reason: reason)
    }

    deinit {
        close()
        Glibc.close(end)
    }

    /// Waits for the next client; `nil` after ``stopAccepting()``.
    func accept() -> (socket: Int32, address: sockaddr_storage, length: socklen_t)? {
        let descriptor = descriptor.load(ordering: .relaxed)
        while !isStopped.load(ordering: .acquiring) {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let client = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe Glibc.accept(descriptor, $0, &length)
                }
            }
            if client >= 0 {
                _ = fcntl(client, F_SETFD, FD_CLOEXEC)
                return (client, storage, length)
            }
            switch errno {
            case EAGAIN: waitForClient(at: descriptor)
            case EINVAL, EBADF, ENOTSOCK: return nil
            // Without descriptors or memory the client stays in the backlog. Trying again at once would only spin.
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: usleep(20_000)
            default: continue
            }
        }
        return nil
    }

    private func waitForClient(at descriptor: Int32) {
        var polled: InlineArray<2, pollfd> = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: end, events: Int16(POLLIN), revents: 0),
        ]
        var span = polled.mutableSpan
        _ = unsafe span.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, nfds_t($0.count), -1) }
    }

    /// Ends ``accept()``. Clients that connect now wait until the socket is closed.
    func stopAccepting() {
        isStopped.store(true, ordering: .releasing)
        _ = eventfd_write(end, 1)
    }

    /// Closes the socket of this process, once ``accept()`` has ended. Clients that wait are refused, unless another
    /// process has the socket too.
    func close() {
        let descriptor = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    private static func fill(
        _ storage: inout sockaddr_storage, address: String, port: UInt16
    ) throws(HTTPServerError) -> socklen_t {
        var four = sockaddr_in()
        if unsafe inet_pton(AF_INET, address, &four.sin_addr) == 1 {
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: four, as: sockaddr_in.self) }
            return socklen_t(MemoryLayout<sockaddr_in>.size)
        }
        var six = sockaddr_in6()
        guard unsafe inet_pton(AF_INET6, address, &six.sin6_addr) == 1 else { throw .invalidAddress(address) }
        six.sin6_family = sa_family_t(AF_INET6)
        six.sin6_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: six, as: sockaddr_in6.self) }
        return socklen_t(MemoryLayout<sockaddr_in6>.size)
    }

    private static func boundAddress(of descriptor: Int32) -> (String, UInt16) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let text = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = unsafe getsockname(descriptor, $0, &length)
                return unsafe SocketAddress(reading: $0).text
            }
        }
        // The port has the same offset in both families.
        let port = unsafe withUnsafeBytes(of: &storage) {
            unsafe $0.loadUnaligned(as: sockaddr_in.self).sin_port.bigEndian
        }
        return (text, port)
    }
}

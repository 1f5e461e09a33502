import CMicroHTTPD
import Glibc

/// Owns a listening TCP socket.
///
/// The server accepts clients itself, so that a client beyond the limits gets an answer. libmicrohttpd's own threads
/// could also abort the process when accepting ends: in 0.9.75, `MHD_quiesce_daemon` races with a worker that removes
/// the socket from its epoll set.
final class ListeningSocket: Sendable {
    let port: UInt16
    private let descriptor: Int32

    init(address: String, port: UInt16) throws(HTTPServerError) {
        let descriptor = try Self.bind(address: address, port: port)
        guard listen(descriptor, 1_024) == 0 else {
            throw Self.refusal(closing: descriptor, address: address, port: port)
        }
        self.descriptor = descriptor
        self.port = Self.boundPort(descriptor)
    }

    /// Binds an address and releases it again, without listening. No client can connect meanwhile.
    static func tryBinding(address: String, port: UInt16) throws(HTTPServerError) {
        close(try bind(address: address, port: port))
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
        if descriptor >= 0 { close(descriptor) }
        return .cannotListen(address: address, port: port, reason: reason)
    }

    deinit { close(descriptor) }

    /// Waits for the next client; `nil` after ``stopAccepting()``.
    func accept() -> (socket: Int32, address: sockaddr_storage, length: socklen_t)? {
        while true {
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
            case EINVAL, EBADF, ENOTSOCK: return nil
            // Without descriptors or memory the client stays in the backlog. Trying again at once would only spin.
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: usleep(20_000)
            default: continue
            }
        }
    }

    /// Refuses further clients and ends ``accept()``.
    func stopAccepting() {
        shutdown(descriptor, Int32(SHUT_RDWR))
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

    private static func boundPort(_ descriptor: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        _ = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        // The port has the same offset in both families.
        return unsafe withUnsafeBytes(of: &storage) { unsafe $0.loadUnaligned(as: sockaddr_in.self).sin_port.bigEndian }
    }
}

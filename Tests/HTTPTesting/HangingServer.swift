import Glibc
import Synchronization

/// A server on loopback that hangs in one of several ways, for the lifetime of the object.
public final class HangingServer: Sendable {
    /// The ways in which it hangs.
    public enum Kind: String, CaseIterable, Sendable {
        /// The kernel accepts the request, and nobody reads it.
        case answersNothing
        /// The queue of new connections is full, so no connection is established.
        case acceptsNobody
        /// An answer arrives at one byte per second.
        case tricklesBytes
    }

    /// The port on which it listens, on 127.0.0.1.
    public let port: UInt16
    /// Scheme, address and port, for example `http://127.0.0.1:8080`.
    public var origin: String { "http://127.0.0.1:\(port)" }

    private let listener: CInt
    private let fillers: [CInt]
    private let isOver: Over

    private final class Over: Sendable {
        let flag = Atomic(false)
    }

    /// Listens on a free port.
    public init(_ kind: Kind) throws(RawHTTPError) {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw .system("socket", errno) }
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                guard unsafe bind(listener, general, length) == 0 else { return errno }
                return unsafe getsockname(listener, general, &length) == 0 ? 0 : errno
            }
        }
        guard outcome == 0, listen(listener, kind == .acceptsNobody ? 0 : 4096) == 0 else {
            throw .system("listen", outcome)
        }
        port = UInt16(bigEndian: address.sin_port)
        isOver = Over()
        fillers = kind == .acceptsNobody ? (0..<4).map { _ in Self.beginToConnect(to: address) } : []
        if kind == .tricklesBytes { Self.trickle(listener, until: isOver) }
    }

    deinit {
        isOver.flag.store(true, ordering: .releasing)
        for descriptor in fillers { close(descriptor) }
        // This also ends the thread's poll; it closes nothing that the thread uses.
        shutdown(listener, CInt(SHUT_RDWR))
        close(listener)
    }

    private static func beginToConnect(to address: sockaddr_in) -> CInt {
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                _ = unsafe connect(descriptor, general, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return descriptor
    }

    /// Accepts every connection, and sends each one the next byte of an answer once a second.
    private static func trickle(_ listener: CInt, until over: Over) {
        startThread {
            let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".utf8)
            var clients: [(descriptor: CInt, sent: Int)] = []
            var next = ContinuousClock.now
            while !over.flag.load(ordering: .acquiring) {
                var polled = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
                if unsafe poll(&polled, 1, 50) > 0 {
                    let client = accept(listener, nil, nil)
                    if client >= 0 { clients.append((client, 0)) }
                }
                guard ContinuousClock.now >= next else { continue }
                next += .seconds(1)
                for place in clients.indices {
                    var byte = clients[place].sent < answer.count ? answer[clients[place].sent] : 0x20
                    _ = unsafe send(clients[place].descriptor, &byte, 1, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
                    clients[place].sent += 1
                }
            }
            for client in clients { close(client.descriptor) }
        }
    }
}

/// Starts a detached thread.
func startThread(_ work: @escaping @Sendable () -> Void) {
    final class Errand: Sendable {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }
    var thread = pthread_t()
    unsafe pthread_create(
        &thread, nil,
        { context in
            guard let context = unsafe context else { return nil }
            unsafe Unmanaged<Errand>.fromOpaque(context).takeRetainedValue().work()
            return nil
        }, Unmanaged.passRetained(Errand(work)).toOpaque())
    pthread_detach(thread)
}

import Glibc

/// Tells systemd how the process is, by datagrams to the socket that `NOTIFY_SOCKET` names (sd_notify(3)).
public struct ServiceNotifier: Sendable {
    /// One assignment of a datagram.
    public enum Message: Sendable, Equatable {
        /// The service is up, or up again after ``reloading``.
        case ready
        /// The service reads its files again. ``ready`` follows, whatever comes of it.
        case reloading
        /// The service has begun to stop.
        case stopping
        /// The service may take this long to stop, whatever its unit says.
        case stopsWithin(Duration)
        /// The service works. It is to be sent at intervals of half of ``ServiceNotifier/watchdogTimeout``.
        case watchdog
        /// What `systemctl status` shows: one line.
        case status(String)
    }

    /// How long systemd waits for the next ``Message/watchdog``; `nil` if it does not wait for any.
    public let watchdogTimeout: Duration?
    private let path: String

    /// Reads where to send messages.
    ///
    /// - Parameter environment: The environment of the process.
    /// - Returns: `nil` if nobody waits for messages, or only at a kind of socket other than a Unix socket.
    public init?(environment: [String: String]) {
        guard let path = environment["NOTIFY_SOCKET"],
            path.utf8.first == UInt8(ascii: "/") || path.utf8.first == UInt8(ascii: "@"),
            1..<Self.longestPath ~= path.utf8.count
        else { return nil }
        self.path = path
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdogTimeout = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Sends messages as one datagram.
    ///
    /// - Returns: Whether the socket took it.
    @discardableResult public func send(_ messages: Message...) -> Bool {
        let text = messages.map(\.assignment).joined(separator: "\n")
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var (address, length) = self.address
        let bytes = Array(text.utf8)
        let sent = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bytes.withUnsafeBytes { buffer in
                    unsafe sendto(
                        descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL), pointer, length)
                }
            }
        }
        return sent == bytes.count
    }

    /// Room for the name of a Unix socket, with the NUL at its end.
    private static let longestPath = MemoryLayout<sockaddr_un>.size - offsetOfPath
    private static let offsetOfPath = MemoryLayout<sa_family_t>.size

    /// The address. The `@` of an abstract name stands for a NUL, and no NUL ends such a name.
    private var address: (sockaddr_un, socklen_t) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(path.utf8)
        let isAbstract = name[0] == UInt8(ascii: "@")
        if isAbstract { name[0] = 0 } else { name.append(0) }
        unsafe withUnsafeMutableBytes(of: &address) { unsafe $0[Self.offsetOfPath...].copyBytes(from: name) }
        return (address, socklen_t(Self.offsetOfPath + name.count))
    }
}

extension ServiceNotifier.Message {
    fileprivate var assignment: String {
        switch self {
        case .ready: "READY=1"
        // systemd tells by the time whether the message is about the reload that it asked for.
        case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(Self.monotonicMicroseconds)"
        case .stopping: "STOPPING=1"
        case .stopsWithin(let time): "EXTEND_TIMEOUT_USEC=\(time.components.seconds * 1_000_000)"
        case .watchdog: "WATCHDOG=1"
        case .status(let text): "STATUS=" + text.split(whereSeparator: \.isNewline).joined(separator: " ")
        }
    }

    private static var monotonicMicroseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}

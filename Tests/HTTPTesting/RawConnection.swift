import Glibc

/// A TCP connection to a port of this machine. Over it, a test sends exactly the bytes it chooses.
///
/// Its calls block: use it inside ``withConnection(to:_:)``.
public struct RawConnection: ~Copyable {
    private let descriptor: CInt
    private var received: [UInt8] = []

    /// Connects to the port on 127.0.0.1. Sends and receives fail after `timeoutSeconds` without progress.
    public init(port: UInt16, timeoutSeconds: Int = 30) throws(RawHTTPError) {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw .system("socket", errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var timeout = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, length)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, length)
        let descriptor = descriptor
        let outcome = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                unsafe connect(descriptor, general, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard outcome == 0 else { throw .system("connect", errno) }
    }

    deinit { close(descriptor) }

    /// Closes the connection with a reset, as that of a process that dies does.
    public consuming func reset() {
        var atOnce = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
    }

    /// Sends all bytes.
    public func send(_ bytes: [UInt8]) throws(RawHTTPError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { buffer in
                unsafe Glibc.send(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_NOSIGNAL))
            }
            if count < 0 {
                guard errno == EINTR else { throw .system("send", errno) }
                continue
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends the text as UTF-8.
    public func send(_ text: String) throws(RawHTTPError) {
        try send(Array(text.utf8))
    }

    /// Returns the next bytes as they arrive, at most 64 KiB; empty at the end of the connection.
    public mutating func receive() throws(RawHTTPError) -> [UInt8] {
        if !received.isEmpty {
            defer { received = [] }
            return received
        }
        return try receiveFromSocket()
    }

    private func receiveFromSocket() throws(RawHTTPError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { room in
                unsafe recv(descriptor, room.baseAddress, room.count, 0)
            }
            if count >= 0 { return Array(buffer.prefix(count)) }
            guard errno == EINTR else { throw .system("recv", errno) }
        }
    }

    /// Reads up to CR LF; returns the bytes before it.
    mutating func line() throws(RawHTTPError) -> String {
        var searched = 0
        while true {
            if let end = received.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n")) {
                var line = received[..<end]
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                let text = String(decoding: line, as: UTF8.self)
                received.removeFirst(end + 1)
                return text
            }
            searched = received.count
            try fill()
        }
    }

    /// Reads exactly `count` bytes.
    mutating func bytes(_ count: Int) throws(RawHTTPError) -> [UInt8] {
        while received.count < count { try fill() }
        let bytes = Array(received.prefix(count))
        received.removeFirst(count)
        return bytes
    }

    /// Reads everything up to the end of the connection.
    mutating func rest() throws(RawHTTPError) -> [UInt8] {
        var all = received
        received = []
        while true {
            let more = try receiveFromSocket()
            if more.isEmpty { return all }
            all += more
        }
    }

    private mutating func fill() throws(RawHTTPError) {
        let more = try receiveFromSocket()
        guard !more.isEmpty else { throw .closedEarly }
        received += more
    }
}

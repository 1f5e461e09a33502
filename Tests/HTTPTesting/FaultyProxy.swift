import Glibc
import Synchronization

/// A proxy on loopback before an HTTP server. It looks at the first line of each request and decides what becomes of
/// it. Each connection serves one request.
public final class FaultyProxy: Sendable {
    /// What becomes of a request.
    public enum Fate: Sendable {
        /// The server gets it.
        case pass
        /// The proxy answers it with this status, these fields and this body; the server never hears of it.
        case answer(Int, fields: [String: String] = [:], body: String = "")
        /// The server gets it, and the client gets this many bytes of the answer, head included.
        case cutAnswer(Int)
        /// The server gets it, and the client gets an answer with this status in place of the server's.
        case hideAnswer(Int)
        /// The proxy reads it, and nothing happens until the proxy ends.
        case hold
    }

    /// Scheme, address and port.
    public var origin: String { "http://127.0.0.1:\(port)" }
    private let port: UInt16
    private let target: UInt16
    private let listener: CInt
    private let seen = Mutex<[String]>([])
    private let isClosed = Atomic(false)
    private let fate: @Sendable (_ line: String, _ earlier: [String]) -> Fate

    /// Listens before a server.
    ///
    /// - Parameters:
    ///   - target: The port of the server, on 127.0.0.1.
    ///   - fate: Gets the first line of a request, such as `PUT /bucket/key?partNumber=2 HTTP/1.1`, and those of all
    ///     requests before it.
    public init(
        to target: UInt16, fate: @escaping @Sendable (_ line: String, _ earlier: [String]) -> Fate
    ) throws(RawHTTPError) {
        self.target = target
        self.fate = fate
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        self.listener = listener
        var address = Self.address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                guard unsafe bind(listener, general, length) == 0 else { return errno }
                return unsafe getsockname(listener, general, &length) == 0 ? 0 : errno
            }
        }
        guard outcome == 0, listen(listener, 64) == 0 else { throw .system("listen", outcome) }
        port = UInt16(bigEndian: address.sin_port)
        startThread { [weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, let self, !self.isClosed.load(ordering: .acquiring) else {
                    if client >= 0 { Glibc.close(client) }
                    return
                }
                startThread { self.serve(client) }
            }
        }
    }

    deinit { close() }

    /// The first lines of all requests so far.
    public var lines: [String] { seen.withLock { $0 } }

    /// Accepts no more connections.
    public func close() {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        shutdown(listener, CInt(SHUT_RDWR))
        Glibc.close(listener)
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private func serve(_ client: CInt) {
        defer { Glibc.close(client) }
        var head: [UInt8] = []
        while !head.contains(UInt8(ascii: "\n")) {
            guard let more = Self.receive(client) else { return }
            head += more
        }
        let line = String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
        let fate = seen.withLock { seen in
            defer { seen.append(line) }
            return self.fate(line, seen)
        }
        switch fate {
        case .answer(let status, let fields, let body):
            drain(client)
            answer(status, fields, body, client)
        case .hold:
            while Self.receive(client) != nil {}
        case .pass: relay(head, client, atMost: .max)
        case .cutAnswer(let bytes): relay(head, client, atMost: bytes)
        case .hideAnswer(let status):
            relay(head, client, atMost: 1, isHidden: true)
            answer(status, [:], "", client)
        }
    }

    private func answer(_ status: Int, _ fields: [String: String], _ body: String, _ client: CInt) {
        let own = ["Content-Length": "\(body.utf8.count)", "Connection": "close"]
        let lines = fields.merging(own) { $1 }.map { "\($0.key): \($0.value)\r\n" }
        let text = "HTTP/1.1 \(status) Fault\r\n\(lines.joined())\r\n\(body)"
        _ = Self.send(Array(text.utf8), to: client)
        shutdown(client, CInt(SHUT_WR))
        while Self.receive(client) != nil {}
    }

    /// Reads what the client still sends, so that it sees an answer and not a reset.
    private func drain(_ client: CInt) {
        var waiting = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
        while unsafe poll(&waiting, 1, 200) > 0, Self.receive(client) != nil {}
    }

    private func relay(_ head: [UInt8], _ client: CInt, atMost limit: Int, isHidden: Bool = false) {
        let server = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        defer { Glibc.close(server) }
        let outcome = unsafe withUnsafePointer(to: Self.address(target)) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                unsafe connect(server, general, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard outcome == 0, Self.send(head, to: server) else { return }
        var left = limit
        while left > 0 {
            var ends = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            guard unsafe poll(&ends, 2, 30_000) > 0 else { return }
            if ends[1].revents != 0 {
                guard let bytes = Self.receive(server) else { return }
                guard isHidden || Self.send(Array(bytes.prefix(left)), to: client) else { return }
                left -= bytes.count
            } else if ends[0].revents != 0 {
                guard let bytes = Self.receive(client), Self.send(bytes, to: server) else { return }
            }
        }
    }

    private static func receive(_ descriptor: CInt) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }

    private static func send(_ bytes: [UInt8], to descriptor: CInt) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

import Dispatch
import Glibc

enum AsyncConnectionError: Error {
    case cannotConnect
    case closed
    case timedOut
    case malformed(String)
}

/// A TCP connection that sends exactly the given bytes, as `RawConnection` does. Its calls are asynchronous: they block
/// its own queue, never the threads of tasks.
final class AsyncConnection: Sendable {
    /// A server's response.
    struct Response: Sendable, Equatable {
        var status: Int
        /// Header fields by lower-case name. A repeated field keeps its last value.
        var fields: [String: String]
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    private let descriptor: Int32
    private let queue = DispatchQueue(label: "async-connection")

    init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        if var receiveBuffer {
            unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw AsyncConnectionError.cannotConnect }
    }

    deinit { Glibc.close(descriptor) }

    private func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try work() }) }
        }
    }

    /// Sends all bytes; throws where the server no longer accepts them. With `leaves`, they go out together with the
    /// end of the connection, which must follow at once.
    func send(_ bytes: [UInt8], leaves: Bool = false) async throws {
        try await blocking { [descriptor] in
            let flags = Int32(MSG_NOSIGNAL) | (leaves ? Int32(MSG_MORE) : 0)
            var sent = 0
            while sent < bytes.count {
                let count = unsafe bytes[sent...].withUnsafeBytes {
                    unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, flags)
                }
                guard count > 0 else { throw AsyncConnectionError.closed }
                sent += count
            }
        }
    }

    func send(_ text: String) async throws {
        try await send(Array(text.utf8))
    }

    /// Closes the client's side of the connection.
    func end() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Lets the connection end with a reset once this object is gone, as that of a process that dies does.
    func resetAtEnd() {
        var atOnce = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
    }

    /// Returns the next bytes; empty at the end.
    func receive(_ limit: Int = 65_536) async throws -> [UInt8] {
        try await blocking { [descriptor] in
            var buffer = [UInt8](repeating: 0, count: limit)
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
            if count < 0, errno == EAGAIN { throw AsyncConnectionError.timedOut }
            return Array(buffer.prefix(max(0, count)))
        }
    }

    /// Reads everything until the server closes.
    func receiveAll() async throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let bytes = try await receive()
            if bytes.isEmpty { return all }
            all += bytes
        }
    }

    /// Reads the next response. Bytes after it stay in `rest`.
    func response(rest: inout [UInt8], toHead: Bool = false) async throws -> Response {
        let head = try await take(&rest, through: Array("\r\n\r\n".utf8))
        var lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n").filter { !$0.isEmpty }
        guard !lines.isEmpty, lines[0].hasPrefix("HTTP/1.1 "), let status = Int(lines[0].dropFirst(9).prefix(3)) else {
            throw AsyncConnectionError.malformed(String(decoding: head, as: UTF8.self))
        }
        lines.removeFirst()
        var fields: [String: String] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { throw AsyncConnectionError.malformed(line) }
            fields[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        var response = Response(status: status, fields: fields, body: [])
        if toHead || status == 100 || status == 204 || status == 304 { return response }
        if let length = fields["content-length"].flatMap({ Int($0) }) {
            response.body = try await take(&rest, count: length)
        } else if fields["transfer-encoding"] == "chunked" {
            while true {
                let line = try await take(&rest, through: Array("\r\n".utf8))
                let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) ?? 0
                let chunk = try await take(&rest, count: size + 2)
                if size == 0 { return response }
                response.body += chunk.dropLast(2)
            }
        }
        return response
    }

    /// Sends a request and reads one response.
    func exchange(_ text: String) async throws -> Response {
        try await send(text)
        var rest: [UInt8] = []
        return try await response(rest: &rest)
    }

    /// Whether the server has closed the connection, in order or by a reset.
    func isClosed() async throws -> Bool {
        try await receive().isEmpty
    }

    private func take(_ rest: inout [UInt8], through mark: [UInt8]) async throws -> [UInt8] {
        while true {
            if rest.count >= mark.count {
                for start in 0...(rest.count - mark.count) where Array(rest[start..<(start + mark.count)]) == mark {
                    defer { rest.removeFirst(start + mark.count) }
                    return Array(rest[..<(start + mark.count)])
                }
            }
            let more = try await receive()
            guard !more.isEmpty else { throw AsyncConnectionError.closed }
            rest += more
        }
    }

    private func take(_ rest: inout [UInt8], count: Int) async throws -> [UInt8] {
        while rest.count < count {
            let more = try await receive()
            guard !more.isEmpty else { throw AsyncConnectionError.closed }
            rest += more
        }
        defer { rest.removeFirst(count) }
        return Array(rest[..<count])
    }
}

extension String {
    func components(separatedBy mark: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: mark) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}

import Foundation
import Glibc
import Synchronization

/// A proxy between a gateway and PostgreSQL that holds back the gateway's messages from some statement on. To
/// PostgreSQL, the gateway seems to have stopped there.
public final class StoppingProxy: Sendable {
    private struct State {
        /// Number of statements that may still pass; `nil` for all.
        var left: Int?
        /// Number of statements that have passed.
        var passed = 0
        /// Whether a message has been held back.
        var hasStopped = false
        var isClosed = false
    }

    private let state = Mutex(State())
    private let directory: String
    private let port: Int
    private let target: String
    private static let counter = Atomic(0)

    /// Listens beside the server of a cluster.
    public init(to cluster: TestCluster) throws {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        directory = "/tmp/sluice-proxy-\(ProcessInfo.processInfo.processIdentifier)-\(number)"
        port = cluster.port
        target = "\(cluster.directory)/.s.PGSQL.\(cluster.port)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let listener = try unsafe Self.socket("\(directory)/.s.PGSQL.\(port)") { unsafe bind($0, $1, $2) }
        listen(listener, 64)
        Thread { self.accept(from: listener) }.start()
    }

    /// The connection string of a database, through the proxy.
    public func connectionString(database: String) -> String {
        "host=\(directory) port=\(port) user=postgres dbname=\(database)"
    }

    /// Lets `statements` more statements pass, on all connections together, and none after them.
    public func stop(after statements: Int) {
        state.withLock {
            $0.left = statements
            $0.hasStopped = false
        }
    }

    /// Number of statements that have passed so far.
    public var passed: Int { state.withLock { $0.passed } }

    /// Whether a statement has been held back.
    public var hasStopped: Bool { state.withLock { $0.hasStopped } }

    /// Lets everything pass again, starting with what was held back.
    public func goOn() {
        state.withLock { $0.left = nil }
    }

    /// Accepts no more connections.
    public func close() {
        state.withLock {
            $0.isClosed = true
            $0.left = nil
        }
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Waits until a message may pass. Messages that are not counted pass for as long as statements may.
    private func pass(counted: Bool) {
        while true {
            let mayPass = state.withLock { state in
                if state.left == 0 {
                    state.hasStopped = state.hasStopped || counted
                    return false
                }
                if counted {
                    state.passed += 1
                    state.left = state.left.map { $0 - 1 }
                }
                return true
            }
            if mayPass { return }
            usleep(500)
        }
    }
}

// MARK: - Connections

extension StoppingProxy {
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Both ends of a connection.
    private final class Ends: Sendable {
        let gateway: CInt
        let server: CInt

        init(gateway: CInt, server: CInt) {
            self.gateway = gateway
            self.server = server
        }

        deinit {
            Glibc.close(gateway)
            Glibc.close(server)
        }

        func end() {
            shutdown(gateway, CInt(SHUT_RDWR))
            shutdown(server, CInt(SHUT_RDWR))
        }
    }

    private static func socket(
        _ path: String, _ use: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) throws -> CInt {
        let descriptor = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let outcome = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                unsafe use(descriptor, general, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard outcome == 0 else {
            Glibc.close(descriptor)
            throw Failure(description: "socket \(path): \(errno)")
        }
        return descriptor
    }

    private func accept(from listener: CInt) {
        defer { Glibc.close(listener) }
        while !state.withLock({ $0.isClosed }) {
            var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&waiting, 1, 50) > 0 else { continue }
            let gateway = Glibc.accept(listener, nil, nil)
            guard gateway >= 0 else { continue }
            guard let server = try? unsafe Self.socket(target, { unsafe connect($0, $1, $2) }) else {
                Glibc.close(gateway)
                continue
            }
            let ends = Ends(gateway: gateway, server: server)
            Thread { self.forwardStatements(ends) }.start()
            Thread { Self.forwardAnswers(ends) }.start()
        }
    }

    private static func forwardAnswers(_ ends: Ends) {
        while let bytes = receive(from: ends.server), send(bytes[...], to: ends.gateway) {}
        ends.end()
    }

    /// Forwards messages. A group goes out at once, up to and including the message after which the server answers.
    private func forwardStatements(_ ends: Ends) {
        var bytes: [UInt8] = []
        var hasBegun = false
        while let more = Self.receive(from: ends.gateway) {
            bytes += more
            var sent = 0
            var place = 0
            while let length = Self.lengthOfMessage(in: bytes[place...], isFirst: !hasBegun) {
                let kind = hasBegun ? bytes[place] : 0
                hasBegun = true
                place += length
                // Query, Sync, Terminate, and the first message, which has no kind.
                guard [UInt8(ascii: "Q"), UInt8(ascii: "S"), UInt8(ascii: "X"), 0].contains(kind) else { continue }
                pass(counted: kind == UInt8(ascii: "Q") || kind == UInt8(ascii: "S"))
                guard Self.send(bytes[sent..<place], to: ends.server) else { return ends.end() }
                sent = place
            }
            bytes.removeFirst(sent)
        }
        ends.end()
    }

    /// The length of the first message; `nil` where it has not arrived completely.
    private static func lengthOfMessage(in bytes: ArraySlice<UInt8>, isFirst: Bool) -> Int? {
        let head = isFirst ? 0 : 1
        guard bytes.count >= head + 4 else { return nil }
        let length = bytes.dropFirst(head).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        let whole = head + length
        return bytes.count >= whole ? whole : nil
    }

    private static func receive(from descriptor: CInt) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }

    private static func send(_ bytes: ArraySlice<UInt8>, to descriptor: CInt) -> Bool {
        var rest = bytes
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

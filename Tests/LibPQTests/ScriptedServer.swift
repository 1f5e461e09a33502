import Dispatch
import Foundation
import Glibc
import Synchronization

/// A server that speaks as much of PostgreSQL's protocol as a statement needs, and answers each one as the test scripts
/// it.
///
/// - SeeAlso: PostgreSQL 15 documentation, 55.7 "Message Formats".
final class ScriptedServer: Sendable {
    /// A step of the server's answer to a statement.
    enum Step: Sendable {
        /// Sends a row of one number.
        case row(Int64)
        /// Sends the end of the statement.
        case complete(String)
        /// Reports that it is ready for the next statement, in this state: `I` idle, `T` in a transaction, `E` in a
        /// failed transaction.
        case ready(Character)
        /// Sends a notice. The first severity is in the server's language.
        case notice(severity: String, local: String, source: String)
        /// Sends an error.
        case error(sqlState: String)
        /// Waits until somebody requests a cancel.
        case awaitCancel
        /// Ends the connection.
        case hangUp
    }

    private struct State {
        var statements: [String] = []
        var connections: [Int32] = []
        var wasAskedToCancel = false
    }

    let port: UInt16
    private let script: [String: [Step]]
    private let listener: Int32
    private let state = Mutex(State())
    private let cancelled = DispatchSemaphore(value: 0)

    /// Starts it on a free port of 127.0.0.1.
    ///
    /// - Parameter script: Steps by the text of the statement. Statements without steps succeed at once.
    init(_ script: [String: [Step]]) throws {
        self.script = script
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                unsafe bind(descriptor, general, length) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, general, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
        Thread { [self] in accept() }.start()
    }

    /// The connection string of the server.
    var connectionString: String { "host=127.0.0.1 port=\(port) user=u dbname=d sslmode=disable gssencmode=disable" }
    /// The texts of the executed statements, without the one with which a session begins.
    var statements: [String] { state.withLock { $0.statements.filter { !$0.contains("set_config") } } }
    /// Number of sessions.
    var sessions: Int { state.withLock { $0.statements.count { $0.contains("set_config") } } }

    /// Whether it waited for a request to cancel, and got one.
    var wasAskedToCancel: Bool { state.withLock { $0.wasAskedToCancel } }

    /// Accepts no more connections, and ends the existing ones.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in state.withLock({ $0.connections }) { shutdown(connection, Int32(SHUT_RDWR)) }
    }

    private func accept() {
        while true {
            let connection = Glibc.accept(listener, nil, nil)
            guard connection >= 0 else { break }
            // Otherwise small pieces would wait for the client's acknowledgements.
            var isOn: Int32 = 1
            unsafe setsockopt(
                connection, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
            state.withLock { $0.connections.append(connection) }
            Thread { [self] in
                serve(connection)
                state.withLock { $0.connections.removeAll { $0 == connection } }
                close(connection)
            }.start()
        }
        close(listener)
    }

    // MARK: A session

    private func serve(_ connection: Int32) {
        guard let length = receive(4, from: connection)?.number,
            let start = receive(Int(length) - 4, from: connection)
        else { return }
        guard start.prefix(4).number == 196_608 else {
            // A request to cancel; it is complete when the connection ends.
            cancelled.signal()
            return
        }
        var texts: [String: String] = [:]
        var text = ""
        send(
            Self.message("R", number(0)) + Self.message("S", zeroEnded("client_encoding") + zeroEnded("UTF8"))
                + Self.message("K", number(1) + number(2)) + Self.message("Z", Array("I".utf8)), over: connection)
        while let head = receive(5, from: connection),
            let body = receive(Int(head.dropFirst().number) - 4, from: connection)
        {
            let fields = body.split(separator: 0, omittingEmptySubsequences: false).map {
                String(decoding: $0, as: UTF8.self)
            }
            switch head[0] {
            case UInt8(ascii: "P"):
                texts[fields[0]] = fields[1]
                text = ""
                send(Self.message("1", []), over: connection)
            case UInt8(ascii: "B"):
                text = texts[fields[1]] ?? ""
                send(Self.message("2", []) + Self.columns, over: connection)
            case UInt8(ascii: "S") where text.isEmpty: send(Self.message("Z", Array("I".utf8)), over: connection)
            case UInt8(ascii: "S"): guard answer(text, over: connection) else { return }
            case UInt8(ascii: "Q"): guard answer(fields[0], over: connection) else { return }
            case UInt8(ascii: "X"): return
            default: break
            }
        }
    }

    /// Carries out the script; returns `false` where that ends the connection.
    private func answer(_ text: String, over connection: Int32) -> Bool {
        state.withLock { $0.statements.append(text) }
        for step in script[text] ?? [.complete("SELECT 0"), .ready(text.hasPrefix("BEGIN") ? "T" : "I")] {
            switch step {
            case .row(let value): send(Self.message("D", [0, 1] + number(8) + value.bytes), over: connection)
            case .complete(let tag): send(Self.message("C", zeroEnded(tag)), over: connection)
            case .ready(let status): send(Self.message("Z", Array(String(status).utf8)), over: connection)
            case .notice(let severity, let local, let source):
                let fields = ["S" + local, "V" + severity, "C01000", "Mcanceling wait", "R" + source]
                send(Self.message("N", fields.flatMap(zeroEnded) + [0]), over: connection)
            case .error(let sqlState):
                let fields = ["SERROR", "VERROR", "C" + sqlState, "Mno"]
                send(Self.message("E", fields.flatMap(zeroEnded) + [0]), over: connection)
            case .awaitCancel:
                guard cancelled.wait(timeout: .now() + 20) == .success else { return false }
                state.withLock { $0.wasAskedToCancel = true }
            case .hangUp: return false
            }
        }
        return true
    }

    // MARK: Messages

    /// Describes one column, of type bigint, in binary.
    private static let columns = message(
        "T", [0, 1] + zeroEnded("value") + number(0) + [0, 0] + number(20) + [0, 8] + number(-1) + [0, 1])

    private static func message(_ kind: Character, _ body: [UInt8]) -> [UInt8] {
        Array(String(kind).utf8) + number(Int32(body.count + 4)) + body
    }

    private func send(_ bytes: [UInt8], over connection: Int32) {
        _ = unsafe bytes.withUnsafeBytes { buffer in
            unsafe Glibc.send(connection, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
        }
    }

    private func receive(_ count: Int, from connection: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: max(count, 0))
        guard count > 0 else { return bytes }
        let received = unsafe bytes.withUnsafeMutableBytes { room in
            unsafe recv(connection, room.baseAddress, room.count, Int32(MSG_WAITALL))
        }
        return received == count ? bytes : nil
    }
}

private func zeroEnded(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }
private func number(_ value: Int32) -> [UInt8] { value.bytes }

extension FixedWidthInteger {
    /// The bytes, most significant first.
    fileprivate var bytes: [UInt8] {
        stride(from: bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }
}

extension Sequence<UInt8> {
    fileprivate var number: Int32 { reduce(0) { $0 << 8 | Int32($1) } }
}

import Glibc
import HTTPServing
import Synchronization

/// One client's socket, from accept to close, with the request on it.
final class ClientConnection: Sendable {
    private struct State {
        /// -1 once libmicrohttpd is about to close the descriptor, whose number may then mean another client.
        var socket: Int32
        var exchange: Exchange?
        var idleSince: Moment
        /// Whether no request has begun yet.
        var isNew = true
    }

    /// Formatted once, for every request on the connection.
    let address: SocketAddress
    let core: ServerCore
    private let state: Mutex<State>

    init(socket: Int32, address: SocketAddress, core: ServerCore) {
        self.address = address
        self.core = core
        state = Mutex(State(socket: socket, exchange: nil, idleSince: .now))
    }

    /// The current request, from the end of its first line.
    var exchange: Exchange? { state.withLock { $0.exchange } }

    /// Notes the beginning of a request.
    func begin(_ exchange: Exchange) {
        state.withLock {
            $0.exchange = exchange
            $0.isNew = false
        }
    }

    /// Notes the end of the request. The connection waits for the next one.
    func end() {
        state.withLock {
            $0.exchange = nil
            $0.idleSince = .now
        }
    }

    /// Whether the client was accepted less than a second ago and has not begun a request.
    var isNewcomer: Bool { state.withLock { $0.isNew && $0.socket >= 0 && Moment.now - $0.idleSince < .seconds(1) } }

    /// Notes that the descriptor is about to be closed.
    func close() {
        state.withLock { $0.socket = -1 }
    }

    /// Writes a whole answer directly to the socket, and closes our side of the connection. libmicrohttpd accepts no
    /// answer while a body arrives.
    func answer(raw bytes: [UInt8]) {
        state.withLock {
            sendNow(bytes, to: $0.socket)
            shutdown($0.socket, Int32(SHUT_WR))
        }
    }

    /// Ends the connection with an answer; without one if libmicrohttpd still has data to send, so that nothing may be
    /// written directly.
    func answerAtOnce(_ response: ServerResponse) {
        if !core.isSecure, let bytes = rawBytes(of: response) { return answer(raw: bytes) }
        state.withLock { state in
            guard state.socket >= 0 else { return }
            shutdown(state.socket, Int32(SHUT_RDWR))
        }
    }

    /// Disconnects a client that has been idle or too slow, and gives up on answers that take too long.
    func sweep(now: Moment) {
        state.withLock { state in
            guard state.socket >= 0 else { return }
            guard let exchange = state.exchange else {
                if now - state.idleSince > core.configuration.idleTimeout { shutdown(state.socket, Int32(SHUT_RDWR)) }
                return
            }
            guard let verdict = exchange.sweep(now: now) else { return }
            if let bytes = verdict.farewell, !core.isSecure { sendNow(bytes, to: state.socket) }
            shutdown(state.socket, Int32(SHUT_RDWR))
        }
    }

    /// Ends whatever is suspended on this connection. It is called once, when the server stops.
    func abort() {
        state.withLock { $0.exchange }?.abort()
    }
}

/// Sends as many bytes as the kernel accepts without waiting. The bytes are few, and the connection ends.
func sendNow(_ bytes: [UInt8], to socket: Int32) {
    unsafe bytes.withUnsafeBytes { buffer in
        _ = unsafe send(socket, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
}

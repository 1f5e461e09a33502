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

    /// The request under way, from the end of its first line.
    var exchange: Exchange? { state.withLock { $0.exchange } }

    /// A request has begun.
    func begin(_ exchange: Exchange) {
        state.withLock { $0.exchange = exchange }
    }

    /// The request is over; the connection waits for the next.
    func end() {
        state.withLock {
            $0.exchange = nil
            $0.idleSince = .now
        }
    }

    /// The descriptor is about to be closed.
    func close() {
        state.withLock { $0.socket = -1 }
    }

    /// Writes a whole answer past libmicrohttpd, which takes none while a
    /// body arrives, and ends our side of the connection.
    func answer(raw bytes: [UInt8]) {
        state.withLock {
            sendNow(bytes, to: $0.socket)
            shutdown($0.socket, Int32(SHUT_WR))
        }
    }

    /// Ends the connection with an answer, or without one where nothing may be
    /// written past libmicrohttpd, which has more to say.
    func answerAtOnce(_ response: ServerResponse) {
        if !core.isSecure, let bytes = rawBytes(of: response) { return answer(raw: bytes) }
        state.withLock { state in
            guard state.socket >= 0 else { return }
            shutdown(state.socket, Int32(SHUT_RDWR))
        }
    }

    /// Cuts off a client that has been idle or too slow, and gives up on answers that take too long.
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

    /// Ends whatever is suspended on this connection; called once the server stops for good.
    func abort() {
        state.withLock { $0.exchange }?.abort()
    }
}

/// Hands bytes to the kernel as far as it takes them without waiting: they are few, and the connection is at its end.
func sendNow(_ bytes: [UInt8], to socket: Int32) {
    unsafe bytes.withUnsafeBytes { buffer in
        _ = unsafe send(socket, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
}

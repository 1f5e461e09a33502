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
        /// How long the connection must be idle until the sweep looks whether the client has hung up. It doubles with
        /// each look, so that thousands of idle connections cost little.
        var nextLook = ClientConnection.silence
        /// Whether the client seemed to have hung up when the sweep looked last.
        var seemsGone = false
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
            $0.seemsGone = false
        }
    }

    /// Notes the end of the request. The connection waits for the next one.
    func end() {
        state.withLock {
            $0.exchange = nil
            $0.seemsGone = false
            $0.idleSince = .now
            $0.nextLook = Self.silence
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
    /// written directly. An answer to HEAD has its body too: libmicrohttpd 0.9.75 tells the method of a request only
    /// once it has accepted the head.
    func answerAtOnce(_ response: ServerResponse) {
        if !core.isSecure, let bytes = rawBytes(of: response, isHead: false) { return answer(raw: bytes) }
        state.withLock { state in
            guard state.socket >= 0 else { return }
            shutdown(state.socket, Int32(SHUT_RDWR))
        }
    }

    /// How long a client sends nothing before the sweep looks whether it has hung up. What has arrived is read by then.
    static let silence = Duration.milliseconds(500)

    /// Disconnects a client that has been idle or too slow, and gives up on answers that take too long. Disconnects one
    /// that has hung up, but under TLS, where the library reads until nothing is left.
    func sweep(now: Moment) {
        state.withLock { state in
            guard state.socket >= 0 else { return }
            let verdict = if let exchange = state.exchange { exchange.sweep(now: now) } else { judge(&state, now) }
            switch verdict {
            case .stays:
                state.seemsGone = false
                return
            case .needsClient:
                let isGone = !core.isSecure && hasHungUp(state.socket)
                // What was read at this instant may be a request that has yet to begin.
                guard Swift.exchange(&state.seemsGone, with: isGone), isGone else { return }
            case .ends(let farewell):
                if let farewell, !core.isSecure { sendNow(farewell, to: state.socket) }
            }
            shutdown(state.socket, Int32(SHUT_RDWR))
        }
    }

    /// What becomes of the connection while it waits for a request.
    private func judge(_ state: inout State, _ now: Moment) -> SweepVerdict {
        let idle = now - state.idleSince
        if idle > core.configuration.idleTimeout { return .ends(farewell: nil) }
        guard !state.seemsGone else { return .needsClient }
        guard idle > state.nextLook else { return .stays }
        state.nextLook = idle * 2
        return .needsClient
    }

    /// Ends whatever is suspended on this connection. It is called once, when the server stops.
    func abort() {
        state.withLock { $0.exchange }?.abort()
    }
}

/// What the sweep does with a connection.
enum SweepVerdict {
    /// Nothing.
    case stays
    /// It disconnects the client if that has hung up: nobody else can go on.
    case needsClient
    /// It disconnects the client, and first sends bytes, if there are any.
    case ends(farewell: [UInt8]?)
}

/// Whether the client has closed its side of the connection, and all that it sent has been read.
///
/// libmicrohttpd 0.9.75 does not notice an end that arrives together with the last bytes. After a read that does not
/// fill its buffer, it waits for epoll, which has reported both already.
private func hasHungUp(_ socket: Int32) -> Bool {
    var byte: UInt8 = 0
    return unsafe recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
}

/// Sends as many bytes as the kernel accepts without waiting. The bytes are few, and the connection ends.
func sendNow(_ bytes: [UInt8], to socket: Int32) {
    unsafe bytes.withUnsafeBytes { buffer in
        _ = unsafe send(socket, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
}

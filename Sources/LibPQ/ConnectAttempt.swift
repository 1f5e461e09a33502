import CLibPQ
import Dispatch
import Glibc
import Logging
import Synchronization

/// An attempt to connect, on a queue of its own, so that whoever waits for it may give up while it goes on.
final class ConnectAttempt: Sendable {
    private enum State: ~Copyable {
        case running
        case connected(Handle)
        case failed(PostgresError)
        case taken
    }

    private let state = Mutex<State>(.running)

    /// Tries the hosts in order.
    init(_ configuration: PostgresConfiguration, logger: Logger, waiter: SocketWaiter) {
        DispatchQueue(label: "postgres-connect").async {
            self.run(configuration, logger: logger)
            waiter.wake()
        }
    }

    var isRunning: Bool {
        state.withLock { state in
            switch state {
            case .running: true
            default: false
            }
        }
    }

    /// The connection, once; `nil` where the attempt is not over or the connection has been taken.
    func take() throws(PostgresError) -> Handle? {
        var failure: PostgresError?
        var handle: Handle?
        state.withLock { state in
            switch consume state {
            case .running: state = .running
            case .taken: state = .taken
            case .failed(let error):
                failure = error
                state = .failed(error)
            case .connected(let connected):
                handle = consume connected
                state = .taken
            }
        }
        if let failure { throw failure }
        return handle
    }

    private func run(_ configuration: PostgresConfiguration, logger: Logger) {
        var reason = "no host"
        for host in configuration.hosts {
            let parameters = configuration.parameters.merging(host) { $1 }
            guard let handle = Handle(parameters: parameters, logger: logger) else {
                reason = "out of memory"
                continue
            }
            if let failure = Self.establish(handle, until: .now + configuration.connectTimeout) {
                reason = failure
                logger.debug("no connection to PostgreSQL", metadata: ["reason": "\(failure)"])
                continue
            }
            finish(.connected(handle))
            return
        }
        finish(.failed(.unavailable(reason: reason)))
    }

    private func finish(_ end: consuming State) {
        var end: State? = consume end
        state.withLock { state in
            if let end = end.take() { state = end }
        }
    }

    /// Drives the connection until it stands; gives the reason where it does not.
    private static func establish(_ handle: borrowing Handle, until deadline: ContinuousClock.Instant) -> String? {
        var events = POLLOUT
        while !handle.isBroken {
            // No descriptor of its own: one attempt more must not be what ends a process that has few left.
            guard SocketWaiter.wait(for: handle.socket, events: events, until: deadline) else {
                return "no answer within the time limit for connecting"
            }
            switch unsafe PQconnectPoll(handle.pointer) {
            case PGRES_POLLING_OK: return nil
            case PGRES_POLLING_READING: events = POLLIN
            case PGRES_POLLING_WRITING: events = POLLOUT
            default: return handle.errorMessage
            }
        }
        return handle.errorMessage
    }
}

import CLibPQ
import Dispatch
import Glibc
import Logging
import Synchronization

/// An attempt to connect, on a queue of its own. A caller can stop waiting for it while it continues.
final class ConnectAttempt: Sendable {
    private enum State: ~Copyable {
        case running
        case connected(Handle)
        case failed(PostgresError, at: ContinuousClock.Instant)
        case taken
    }

    private let state = Mutex<State>(.running)

    private let primary: Primary?
    /// Place in the list of the only host that is tried; `nil` if all are.
    let host: Int?

    /// Starts an attempt to connect to the primary. If nobody knows it, the hosts are tried in order.
    ///
    /// - Throws: ``PostgresError/unavailable(reason:)`` at once while no server serves.
    init(_ configuration: PostgresConfiguration, logger: Logger, waiter: SocketWaiter) throws(PostgresError) {
        primary = configuration.primary
        host = try configuration.primary?.target()
        DispatchQueue(label: "postgres-connect").async {
            self.run(configuration, logger: logger)
            waiter.wake()
        }
    }

    /// Whether another server has become the primary, or none is.
    var isObsolete: Bool {
        guard let primary, let host else { return false }
        return !primary.isTarget(host)
    }

    var isRunning: Bool {
        state.withLock { state in
            switch state {
            case .running: true
            default: false
            }
        }
    }

    /// Whether the attempt ended when nobody waited for it, too long ago to say something about the server as it is
    /// now: it failed more than a second ago, or the server has closed the connection since.
    var isOutdated: Bool {
        state.withLock { state in
            switch state {
            case .failed(_, let instant): ContinuousClock.now - instant > .seconds(1)
            // Unasked, a server writes little but a farewell.
            case .connected(let handle): SocketWaiter.isReadable(handle.socket)
            default: false
            }
        }
    }

    /// Why and when the attempt failed; `nil` if it did not.
    var failure: (error: PostgresError, instant: ContinuousClock.Instant)? {
        state.withLock { state in
            switch state {
            case .failed(let error, let instant): (error, instant)
            default: nil
            }
        }
    }

    /// Returns the connection, once. Returns `nil` if the attempt has not ended or the connection has been taken.
    func take() throws(PostgresError) -> Handle? {
        var failure: PostgresError?
        var handle: Handle?
        state.withLock { state in
            switch consume state {
            case .running: state = .running
            case .taken: state = .taken
            case .failed(let error, let instant):
                failure = error
                state = .failed(error, at: instant)
            case .connected(let connected):
                handle = consume connected
                state = .taken
            }
        }
        if let failure { throw failure }
        return handle
    }

    private func run(_ configuration: PostgresConfiguration, logger: Logger) {
        var failures: [LoginFailure] = []
        for host in self.host.map({ [configuration.hosts[$0]] }) ?? configuration.hosts {
            let parameters = configuration.parameters.merging(host) { $1 }
            guard let handle = Handle(parameters: parameters, logger: logger) else {
                failures.append(LoginFailure("out of memory"))
                continue
            }
            if let message = Self.establish(handle, until: .now + configuration.connectTimeout) {
                failures.append(LoginFailure(message))
                logger.debug("no connection to PostgreSQL", metadata: ["reason": "\(message)"])
                continue
            }
            finish(.connected(handle))
            return
        }
        // A server that is starting may take the login soon, whatever another one says.
        let failure = failures.last { !$0.isFinal } ?? failures.last ?? LoginFailure("no host")
        finish(.failed(failure.error, at: .now))
    }

    private func finish(_ end: consuming State) {
        var end: State? = consume end
        state.withLock { state in
            if let end = end.take() { state = end }
        }
    }

    /// Drives the connection until it is established. Returns the reason if it fails.
    private static func establish(_ handle: borrowing Handle, until deadline: ContinuousClock.Instant) -> String? {
        var events = POLLOUT
        while !handle.isBroken {
            // Use no extra descriptor: another attempt to connect must not exhaust the descriptors of the process.
            guard SocketWaiter.wait(for: handle.socket, events: events, until: deadline) else {
                return "no answer within the time limit for connecting"
            }
            switch unsafe PQconnectPoll(handle.pointer) {
            case PGRES_POLLING_OK:
                handle.endsLogin()
                return nil
            case PGRES_POLLING_READING: events = POLLIN
            case PGRES_POLLING_WRITING: events = POLLOUT
            default: return handle.errorMessage
            }
        }
        return handle.errorMessage
    }
}

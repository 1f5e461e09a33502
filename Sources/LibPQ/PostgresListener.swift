import CLibPQ
public import Logging

/// Listens to channels over a connection of its own, and reconnects by itself.
///
/// It is an endless sequence that never throws. It ends only when the task that reads it is cancelled. Notifications
/// sent while there is no connection are lost. After each ``Event/connected`` and ``Event/reconnected``, the reader
/// must therefore reload whatever the channels announce. Only one task may read at a time.
public actor PostgresListener: AsyncSequence {
    /// An event of the listener.
    public enum Event: Sendable, Equatable {
        /// The listener is connected for the first time. Earlier notifications were not received.
        case connected
        /// The listener is connected again after an interruption. Notifications sent meanwhile were not received.
        case reconnected
        /// A notification arrived.
        case notification(PostgresNotification)
    }

    private let configuration: PostgresConfiguration
    private let channels: [String]
    private let logger: Logger
    private let executor = ConnectionExecutor(label: "postgres-listener")
    private let waiter = SocketWaiter()
    private var session: Session?
    private var failures = 0
    private var hasConnected = false

    /// The queue of the connection.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Creates a listener. It connects when the first event is requested.
    public init(_ configuration: PostgresConfiguration, channels: [String], logger: Logger) {
        self.configuration = configuration
        self.channels = channels
        self.logger = logger
        configuration.primary?.wakes(waiter)
    }

    /// Reads the events.
    public struct Iterator: AsyncIteratorProtocol {
        let listener: PostgresListener

        /// Returns the next event; `nil` once the task is cancelled.
        public mutating func next() async -> Event? {
            await listener.next()
        }
    }

    /// Returns the reader of the events.
    public nonisolated func makeAsyncIterator() -> Iterator {
        Iterator(listener: self)
    }

    private func next() async -> Event? {
        await withTaskCancellationHandler {
            waitForEvent()
        } onCancel: {
            waiter.wake()
        }
    }

    private func waitForEvent() -> Event? {
        while !Task.isCancelled {
            guard let session else {
                if let event = connect() { return event }
                continue
            }
            if let notification = session.nextNotification() { return .notification(notification) }
            guard !session.isBroken else {
                tellOfLoss(session.isSuperseded ? Session.superseded : "closed by the server")
                self.session = nil
                continue
            }
            waiter.wait(for: session.socket, events: POLLIN, until: .now + .seconds(60))
            session.readUnasked()
        }
        // A listener without a reader must not hold up the server's queue of notifications.
        session = nil
        return nil
    }

    /// Reports that the connection was lost, or broke before it was ready. That is part of an outage only if others
    /// fail too: a server or a proxy may have closed this connection alone, because it was idle.
    private func tellOfLoss(_ reason: String, _ message: String = "connection for notifications lost") {
        if let outage = configuration.outage {
            outage.note("\(message): \(reason)", message, isSpare: true)
        } else {
            logger.warning("\(message)", metadata: ["reason": "\(reason)"])
        }
    }

    /// Connects and listens. After a failure, waits for the back-off and returns `nil`.
    private func connect() -> Event? {
        do throws(PostgresError) {
            let session = try Session.open(
                configuration, logger: logger, waiter: waiter, until: .now + configuration.responseTimeout)
            let commands = channels.map { "LISTEN \(quotedIdentifier($0));" }.joined()
            try session.runScript(commands, .none, deadline: .now + configuration.responseTimeout)
            self.session = session
            failures = 0
            defer { hasConnected = true }
            return hasConnected ? .reconnected : .connected
        } catch {
            guard !Task.isCancelled else { return nil }
            failures += 1
            let delay = configuration.backoff.delay(afterFailures: failures, fraction: .random(in: 0..<1))
            if case .connectionLost(let reason) = error {
                tellOfLoss(reason, "no connection for notifications")
            } else {
                logger.report(
                    error, "no connection for notifications", in: configuration.outage,
                    metadata: ["failures": "\(failures)", "retry.s": "\(delay / .seconds(1))"])
            }
            let failed = ContinuousClock.now
            let limit = failed + delay
            while ContinuousClock.now < limit, !Task.isCancelled,
                configuration.primary?.hasReturned(since: failed) != true
            {
                waiter.wait(for: -1, events: 0, until: limit)
            }
            return nil
        }
    }
}

/// Returns a name in double quotes, which SQL takes literally whatever it contains.
private func quotedIdentifier(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
}

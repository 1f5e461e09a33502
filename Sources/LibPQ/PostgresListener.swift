import CLibPQ
public import Logging

/// Listens to channels over a connection of its own, which comes back by itself.
///
/// An endless sequence that never throws: it ends only when the task that reads it is cancelled. Notifications sent
/// while there was no connection are lost, so each ``Event/connected`` and ``Event/reconnected`` says that whatever the
/// channels announce has to be read anew. One reader at a time.
public actor PostgresListener: AsyncSequence {
    /// What happened.
    public enum Event: Sendable, Equatable {
        /// Listening for the first time; what was sent before has not been heard.
        case connected
        /// Listening again after an interruption; what was sent during it has not been heard.
        case reconnected
        /// A notification.
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

    /// Makes a listener; it connects when the first event is asked for.
    public init(_ configuration: PostgresConfiguration, channels: [String], logger: Logger) {
        self.configuration = configuration
        self.channels = channels
        self.logger = logger
    }

    /// Reads the events.
    public struct Iterator: AsyncIteratorProtocol {
        let listener: PostgresListener

        /// The next event; `nil` once the task is cancelled.
        public mutating func next() async -> Event? {
            await listener.next()
        }
    }

    /// The reader of the events.
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
                logger.report(
                    PostgresError.connectionLost(reason: "closed by the server"), "connection for notifications lost",
                    in: configuration.outage)
                self.session = nil
                continue
            }
            waiter.wait(for: session.socket, events: POLLIN, until: .now + .seconds(60))
            session.readUnasked()
        }
        // A listener that nobody reads must not hold up the server's queue of notifications.
        session = nil
        return nil
    }

    /// Connects and listens; after a failure, waits before it gives up for this time.
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
            logger.report(
                error, "no connection for notifications", in: configuration.outage,
                metadata: ["failures": "\(failures)", "retry.delay": "\(delay)"])
            let limit = ContinuousClock.now + delay
            while ContinuousClock.now < limit, !Task.isCancelled {
                waiter.wait(for: -1, events: 0, until: limit)
            }
            return nil
        }
    }
}

/// A name in double quotes, which stands for itself whatever it holds.
private func quotedIdentifier(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
}

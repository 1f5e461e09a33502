public import EventLoops
public import Logging

/// A connection that an event loop drives. While the server works, the loop's thread does other work.
///
/// It is for one task that runs on the loop and has one statement in progress at a time. It reconnects by itself as
/// ``PostgresConnection`` does, with the same errors.
public final class LoopConnection {
    private let configuration: PostgresConfiguration
    private let loop: EventLoop
    private let waiter = SocketWaiter()
    private var session: Session?
    private var reconnection: Reconnection

    /// Creates a connection. The first statement connects.
    public init(_ configuration: PostgresConfiguration, loop: EventLoop, logger: Logger) {
        self.configuration = configuration
        self.loop = loop
        reconnection = Reconnection(configuration, logger: logger)
        configuration.primary?.wakes(waiter)
    }

    /// Executes a statement and decodes its rows.
    ///
    /// - Parameters:
    ///   - statement: The statement.
    ///   - parameters: Its parameters.
    ///   - deadline: When to cancel the statement.
    /// - Throws: The server's error. ``PostgresError/deadlineExceeded`` or ``PostgresError/cancelled`` if the statement
    ///   was not sent or was undone. ``PostgresError/connectionLost(reason:)`` or
    ///   ``PostgresError/outcomeUnknown(reason:after:)`` if that is unknown.
    public func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters, deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> [Row] {
        guard !Task.isCancelled else { throw .cancelled }
        guard ContinuousClock.now < deadline else { throw .deadlineExceeded }
        let session = try await liveSession(until: deadline)
        defer {
            if session.isBroken { self.session = nil }
        }
        return try await session.execute(statement, parameters, deadline: deadline, on: loop)
            .decodeRows(statement.decode)
    }

    /// Returns the session, after a check whether the server has closed it meanwhile.
    private func liveSession(until deadline: ContinuousClock.Instant) async throws(PostgresError) -> Session {
        if let session {
            session.readUnaskedAfterPause()
            if !session.isBroken { return session }
            self.session = nil
        }
        let session = try await connect(until: deadline)
        self.session = session
        return session
    }

    private func connect(until deadline: ContinuousClock.Instant) async throws(PostgresError) -> Session {
        let attempt = try reconnection.begin(waiter)
        let limit = reconnection.limit(deadline)
        while attempt.isRunning {
            try attempt.checkPatience(until: limit)
            _ = await waiter.wait(for: -1, events: 0, until: limit, on: loop)
        }
        reconnection.end()
        do throws(PostgresError) {
            let session = try await Session.opened(by: attempt, configuration, waiter: waiter, on: loop)
            reconnection.succeed()
            return session
        } catch {
            // Whoever gives up says nothing about the server, and must not make the next caller wait.
            if Task.isCancelled { throw .cancelled }
            reconnection.fail(error)
            throw error
        }
    }
}

public import Logging
import Synchronization

/// A connection that reconnects by itself. When it breaks, the calls in progress fail, and later calls connect again.
///
/// Calls run one after another on the connection's own queue, so they block no thread of the cooperative pool. While
/// the server cannot be reached, calls fail at once with ``PostgresError/unavailable(reason:)``. Each time the back-off
/// has passed, one call tries to connect.
public actor PostgresConnection {
    private let configuration: PostgresConfiguration
    private let executor: ConnectionExecutor
    private let waiter = SocketWaiter()
    private var session: Session?
    private var reconnection: Reconnection
    private let connected = Atomic(false)

    /// The collector of outages from the configuration, if any.
    public nonisolated let outage: Outage?

    /// The queue of the connection.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Whether the connection was established after the last call.
    nonisolated var isConnected: Bool { connected.load(ordering: .relaxed) }

    /// Creates a connection. The first call connects.
    public init(_ configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        outage = configuration.outage
        reconnection = Reconnection(configuration, logger: logger)
        configuration.primary?.wakes(waiter)
        executor = ConnectionExecutor(label: "postgres-connection")
    }

    /// Executes a statement and decodes its rows.
    ///
    /// - Parameters:
    ///   - statement: The statement.
    ///   - parameters: Its parameters.
    ///   - deadline: When to cancel the statement; by default, after the configuration's response timeout.
    /// - Throws: The server's error. ``PostgresError/deadlineExceeded`` or ``PostgresError/cancelled`` if the statement
    ///   was not sent or was undone. ``PostgresError/connectionLost(reason:)`` or
    ///   ``PostgresError/outcomeUnknown(reason:after:)`` if that is unknown.
    public func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters,
        deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> [Row] {
        try await run(deadline: deadline) { session, deadline throws(PostgresError) in
            try session.execute(statement, parameters, deadline: deadline).decodeRows(statement.decode)
        }
    }

    /// Executes a statement without parameters and decodes its rows.
    public func execute<Row>(
        _ statement: Statement<Void, Row>, deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> [Row] {
        try await execute(statement, (), deadline: deadline)
    }

    /// Executes a statement for its effect.
    ///
    /// - Returns: Number of rows that it inserted, updated, deleted or returned.
    @discardableResult
    public func perform<Parameters>(
        _ statement: Statement<Parameters, Void>, _ parameters: Parameters, deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> Int {
        try await run(deadline: deadline) { session, deadline throws(PostgresError) in
            try session.execute(statement, parameters, deadline: deadline).affectedRows
        }
    }

    /// Executes a text of one or several statements, for example a migration, and drops the results.
    ///
    /// Unless the text contains transaction commands, it is one transaction.
    public func runScript(_ sql: String, deadline: ContinuousClock.Instant? = nil) async throws(PostgresError) {
        try await run(deadline: deadline) { session, deadline throws(PostgresError) in
            try session.runScript(sql, .lasting, deadline: deadline)
        }
    }

    /// Closes the connection. A later call opens it again.
    public func close() {
        session = nil
        reconnection.end()
        connected.store(false, ordering: .relaxed)
    }

    /// Runs `body` with a session, and connects first if there is none.
    func run<Result: Sendable>(
        deadline: ContinuousClock.Instant?,
        _ body: (Session, ContinuousClock.Instant) throws(PostgresError) -> Result
    ) async throws(PostgresError) -> Result {
        let deadline = deadline ?? .now + configuration.responseTimeout
        let outcome: Swift.Result<Result, PostgresError> = await withTaskCancellationHandler {
            do throws(PostgresError) {
                return .success(try self.attempt(until: deadline, body))
            } catch {
                return .failure(error)
            }
        } onCancel: {
            waiter.wake()
        }
        return try outcome.get()
    }

    private func attempt<Result>(
        until deadline: ContinuousClock.Instant,
        _ body: (Session, ContinuousClock.Instant) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        guard !Task.isCancelled else { throw .cancelled }
        guard ContinuousClock.now < deadline else { throw .deadlineExceeded }
        let session = try liveSession(until: deadline)
        defer {
            if session.isBroken { lose() }
        }
        return try body(session, deadline)
    }

    private func lose() {
        session = nil
        connected.store(false, ordering: .relaxed)
    }

    /// Returns the session, after a check whether the server has closed it meanwhile.
    private func liveSession(until deadline: ContinuousClock.Instant) throws(PostgresError) -> Session {
        if let session {
            session.readUnaskedAfterPause()
            if !session.isBroken { return session }
            lose()
        }
        let session = try connect(until: deadline)
        self.session = session
        connected.store(true, ordering: .relaxed)
        return session
    }
}

// MARK: - Connecting

extension PostgresConnection {
    private func connect(until deadline: ContinuousClock.Instant) throws(PostgresError) -> Session {
        let attempt = try reconnection.begin(waiter)
        try attempt.wait(waiter, until: reconnection.limit(deadline))
        reconnection.end()
        do throws(PostgresError) {
            let session = try Session.opened(by: attempt, configuration, waiter: waiter)
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

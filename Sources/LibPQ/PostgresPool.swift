import Dispatch
public import Logging
public import ServiceLifecycle
import Synchronization

/// A bounded set of connections for ordinary statements. They are opened when needed and replaced when they break.
///
/// If all connections are in use, a caller waits its turn, in order, until its deadline. If the queue is full too, it
/// receives ``PostgresError/poolExhausted`` at once.
public final class PostgresPool: Sendable {
    private struct State {
        /// Connections that are not in use. The last is lent next, and broken ones are at the front.
        var idle: [PostgresConnection]
        /// Callers that wait, by ticket. `line` holds the tickets, oldest first.
        var waiting: [UInt64: CheckedContinuation<Turn, Never>] = [:]
        var line: [UInt64] = []
        var nextTicket: UInt64 = 0
    }

    private enum Turn {
        case connection(PostgresConnection)
        case refused(PostgresError)
    }

    private let connections: [PostgresConnection]
    private let state: Mutex<State>
    private let maxWaiting: Int
    private let waitTimeout: Duration
    /// The collector of outages from the configuration, if any.
    public let outage: Outage?
    private let timers = DispatchQueue(label: "postgres-pool")

    /// Creates a pool. Each connection is opened when it is first lent.
    ///
    /// - Parameters:
    ///   - configuration: How to reach the server.
    ///   - size: Number of connections, at least 1.
    ///   - maxWaiting: Largest number of callers that may wait for a connection.
    ///   - waitTimeout: How long a caller without a deadline waits for a connection.
    ///   - logger: Logger for the connections.
    public init(
        _ configuration: PostgresConfiguration, size: Int, maxWaiting: Int = 256,
        waitTimeout: Duration = .seconds(5), logger: Logger
    ) {
        precondition(size > 0, "a pool without connections")
        let connections = (0..<size).map { _ in PostgresConnection(configuration, logger: logger) }
        self.connections = connections
        outage = configuration.outage
        self.maxWaiting = maxWaiting
        self.waitTimeout = waitTimeout
        state = Mutex(State(idle: connections))
    }

    /// Executes a statement on any connection and decodes its rows.
    ///
    /// - Throws: ``PostgresError/poolExhausted``, ``PostgresError/deadlineExceeded`` or ``PostgresError/cancelled`` if
    ///   no connection could be lent, as the methods below do.
    public func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters,
        deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> [Row] {
        let connection = try await lease(deadline: deadline)
        defer { giveBack(connection) }
        return try await connection.execute(statement, parameters, deadline: deadline)
    }

    /// Executes a statement without parameters on any connection and decodes its rows.
    public func execute<Row>(
        _ statement: Statement<Void, Row>, deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> [Row] {
        try await execute(statement, (), deadline: deadline)
    }

    /// Executes a statement for its effect on any connection; returns the number of rows it affected.
    @discardableResult
    public func perform<Parameters>(
        _ statement: Statement<Parameters, Void>, _ parameters: Parameters,
        deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> Int {
        let connection = try await lease(deadline: deadline)
        defer { giveBack(connection) }
        return try await connection.perform(statement, parameters, deadline: deadline)
    }

    /// Runs a transaction on any connection; see ``PostgresConnection/withTransaction(deadline:_:)``.
    public func withTransaction<Result: Sendable>(
        _ body: @Sendable (borrowing PostgresTransaction) throws -> Result
    ) async throws -> Result {
        let connection = try await lease(deadline: nil)
        defer { giveBack(connection) }
        return try await connection.withTransaction(body)
    }

    /// Closes all connections. A later call opens them again.
    public func close() async {
        for connection in connections {
            await connection.close()
        }
    }
}

extension PostgresPool: Service {
    /// Waits for the graceful shutdown of the program, then closes all connections.
    public func run() async throws {
        try? await gracefulShutdown()
        await close()
    }
}

// MARK: - Lending

extension PostgresPool {
    /// Takes a connection out of the pool, until ``giveBack(_:)``.
    func lease(deadline: ContinuousClock.Instant?) async throws(PostgresError) -> PostgresConnection {
        guard !Task.isCancelled else { throw .cancelled }
        let ready = state.withLock { state in
            // No caller is overtaken: a returned connection goes to the first one that waits.
            state.idle.popLast()
        }
        if let ready { return ready }
        let deadline = deadline ?? .now + waitTimeout
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        let turn = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enqueue(continuation, ticket: ticket, deadline: deadline)
            }
        } onCancel: {
            refuse(ticket, .cancelled)
        }
        switch turn {
        case .connection(let connection): return connection
        case .refused(let error): throw error
        }
    }

    private func enqueue(
        _ continuation: CheckedContinuation<Turn, Never>, ticket: UInt64, deadline: ContinuousClock.Instant
    ) {
        let turn: Turn? = state.withLock { state in
            if let connection = state.idle.popLast() { return .connection(connection) }
            // Check under the lock: a cancellation before this point finds no ticket to refuse.
            if Task.isCancelled { return .refused(.cancelled) }
            guard state.waiting.count < maxWaiting else { return .refused(.poolExhausted) }
            state.waiting[ticket] = continuation
            state.line.append(ticket)
            return nil
        }
        if let turn { return continuation.resume(returning: turn) }
        let left = max(.zero, ContinuousClock.now.duration(to: deadline))
        timers.asyncAfter(deadline: .now() + left / .seconds(1)) { [weak self] in
            self?.refuse(ticket, .deadlineExceeded)
        }
    }

    private func refuse(_ ticket: UInt64, _ error: PostgresError) {
        let continuation = state.withLock { state in
            guard let continuation = state.waiting.removeValue(forKey: ticket) else {
                return nil as CheckedContinuation<Turn, Never>?
            }
            state.line.removeAll { $0 == ticket }
            return continuation
        }
        continuation?.resume(returning: .refused(error))
    }

    /// Returns a connection that ``lease(deadline:)`` took.
    func giveBack(_ connection: PostgresConnection) {
        let next = state.withLock { state in
            guard let ticket = state.line.first else {
                // A broken connection is lent last, so that it harms no caller while others work.
                state.idle.insert(connection, at: connection.isConnected ? state.idle.endIndex : 0)
                return nil as CheckedContinuation<Turn, Never>?
            }
            state.line.removeFirst()
            return state.waiting.removeValue(forKey: ticket)
        }
        next?.resume(returning: .connection(connection))
    }
}

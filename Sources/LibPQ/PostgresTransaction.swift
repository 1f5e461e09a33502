import CLibPQ

/// An open transaction, lent to the closure that runs its statements.
///
/// Its functions block. They run on the connection's own queue, where nothing else can run in between.
public struct PostgresTransaction: ~Copyable {
    private let session: Session
    private let deadline: ContinuousClock.Instant

    init(_ session: Session, deadline: ContinuousClock.Instant) {
        self.session = session
        self.deadline = deadline
    }

    /// Executes a statement and decodes its rows.
    public func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters
    ) throws(PostgresError) -> [Row] {
        try session.execute(statement, parameters, .provisional, deadline: deadline).decodeRows(statement.decode)
    }

    /// Executes a statement without parameters and decodes its rows.
    public func execute<Row>(_ statement: Statement<Void, Row>) throws(PostgresError) -> [Row] {
        try execute(statement, ())
    }

    /// Executes a statement for its effect; returns the number of rows it affected.
    @discardableResult
    public func perform<Parameters>(
        _ statement: Statement<Parameters, Void>, _ parameters: Parameters
    ) throws(PostgresError) -> Int {
        try session.execute(statement, parameters, .provisional, deadline: deadline).affectedRows
    }

    /// Executes a text of one or several statements, which must not include transaction commands.
    public func runScript(_ sql: String) throws(PostgresError) {
        try session.runScript(sql, .provisional, deadline: deadline)
    }
}

extension PostgresConnection {
    /// Runs `body` in a transaction. It commits if `body` returns, and rolls back if `body` throws, the task is
    /// cancelled or the deadline passes.
    ///
    /// Each statement sees what was committed before it began. `body` can wait only for the database, so that no
    /// transaction stays open during other work.
    ///
    /// - Parameters:
    ///   - deadline: Deadline for the whole transaction; by default, the configuration's response timeout from now.
    ///   - body: Executes the statements.
    /// - Returns: The result of `body`.
    /// - Throws: Whatever `body` throws, or a ``PostgresError``. After ``PostgresError/connectionLost(reason:)`` and
    ///   ``PostgresError/outcomeUnknown(reason:after:)``, it is unknown whether the transaction was committed.
    public func withTransaction<Result: Sendable>(
        deadline: ContinuousClock.Instant? = nil, _ body: @Sendable (borrowing PostgresTransaction) throws -> Result
    ) async throws -> Result {
        let outcome = try await run(deadline: deadline) { session, deadline throws(PostgresError) in
            let begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
            try session.runScript(begin, .provisional, deadline: deadline)
            let outcome = Swift.Result { try body(PostgresTransaction(session, deadline: deadline)) }
            switch outcome {
            case .success: try session.commit(deadline: deadline)
            case .failure: session.rollBack()
            }
            return outcome
        }
        return try outcome.get()
    }
}

extension Session {
    /// Commits the transaction. Rolls it back instead if it has failed, its task is cancelled or its deadline has
    /// passed.
    fileprivate func commit(deadline: ContinuousClock.Instant) throws(PostgresError) {
        // The server answers the COMMIT of a failed transaction with a rollback and without an error.
        guard !isTransactionFailed else {
            rollBack()
            throw .server(.transactionFailed)
        }
        guard !Task.isCancelled else {
            rollBack()
            throw .cancelled
        }
        guard ContinuousClock.now < deadline else {
            rollBack()
            throw .deadlineExceeded
        }
        try withoutCancellation { () throws(PostgresError) in
            try runScript("COMMIT", .lasting, deadline: deadline)
        }
    }

    /// Rolls back. If that fails, the connection is closed, which rolls back as well.
    fileprivate func rollBack() {
        guard !isBroken else { return }
        do throws(PostgresError) {
            try withoutCancellation { () throws(PostgresError) in
                try runScript("ROLLBACK", .none, deadline: .now + cancelTimeout)
            }
        } catch {
            abandon()
        }
    }
}

extension PostgresError.ServerError {
    fileprivate static let transactionFailed = Self(
        sqlState: "25P02", severity: "ERROR", message: "the transaction has failed and was rolled back")
}

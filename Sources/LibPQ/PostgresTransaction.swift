import CLibPQ

/// A transaction under way, lent to the closure that makes it up.
///
/// Its functions block: they run on the connection's own queue, where nothing else can come in between.
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

    /// Executes a statement for its effect; gives the number of rows it touched.
    @discardableResult
    public func perform<Parameters>(
        _ statement: Statement<Parameters, Void>, _ parameters: Parameters
    ) throws(PostgresError) -> Int {
        try session.execute(statement, parameters, .provisional, deadline: deadline).affectedRows
    }

    /// Executes a text of one or several statements, without transaction commands among them.
    public func runScript(_ sql: String) throws(PostgresError) {
        try session.runScript(sql, .provisional, deadline: deadline)
    }
}

/// What a transaction sees of others.
public enum IsolationLevel: String, Sendable {
    /// Each statement sees what was committed before it.
    case readCommitted = "READ COMMITTED"
    /// All statements see what was committed before the first.
    case repeatableRead = "REPEATABLE READ"
    /// As if transactions ran one after another; may fail with SQLSTATE 40001.
    case serializable = "SERIALIZABLE"
}

extension PostgresConnection {
    /// Runs `body` in a transaction: commits when it returns, rolls back when it throws, the task is cancelled or the
    /// deadline passes.
    ///
    /// `body` does not wait for anything but the database, so that no transaction stays open while other things happen.
    ///
    /// - Parameters:
    ///   - isolation: What the transaction sees.
    ///   - readOnly: Whether it must not write.
    ///   - deadline: For all of it; by default the configuration's response timeout from now.
    ///   - body: The statements.
    /// - Throws: What `body` throws, or a ``PostgresError``; ``PostgresError/connectionLost(reason:)`` and
    ///   ``PostgresError/outcomeUnknown(reason:)`` leave open whether it was committed.
    public func withTransaction<Result: Sendable>(
        isolation: IsolationLevel = .readCommitted, readOnly: Bool = false,
        deadline: ContinuousClock.Instant? = nil,
        _ body: @Sendable (borrowing PostgresTransaction) throws -> Result
    ) async throws -> Result {
        let outcome = try await run(deadline: deadline) { session, deadline throws(PostgresError) in
            let begin = "BEGIN ISOLATION LEVEL \(isolation.rawValue) \(readOnly ? "READ ONLY" : "READ WRITE")"
            try session.runScript(begin, .provisional, deadline: deadline)
            let outcome = Swift.Result { try body(PostgresTransaction(session, deadline: deadline)) }
            switch outcome {
            case .success: try session.commit(readOnly ? .none : .lasting, deadline: deadline)
            case .failure: session.rollBack()
            }
            return outcome
        }
        return try outcome.get()
    }
}

extension Session {
    /// Ends the transaction; one that has failed, whose task is cancelled or that is late is rolled back.
    fileprivate func commit(_ effect: Effect, deadline: ContinuousClock.Instant) throws(PostgresError) {
        // The server answers the COMMIT of a failed transaction with a roll-back and without an error.
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
            try runScript("COMMIT", effect, deadline: deadline)
        }
    }

    /// Rolls back; a connection that cannot is given up, which rolls back as well.
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

import CLibPQ
import EventLoops
import Glibc

/// An established connection. Its functions block until their deadline at most, and run on its owner's queue.
///
/// Nothing waits inside libpq. Statements are sent and answers read without blocking, with `poll` in between, so a
/// deadline or a cancellation takes effect whatever the server or the network does.
final class Session {
    let handle: Handle
    let waiter: SocketWaiter
    let cancelDelay: Duration
    let cancelTimeout: Duration
    private var prepared: [StatementKey: PreparedStatement] = [:]
    private var parameters = PostgresParameters()
    /// Set when the connection can no longer be trusted, for example after a statement that did not end.
    private var isAbandoned = false
    /// Why a statement was interrupted, if the connection was abandoned for that.
    private var interruption: PostgresError?
    /// The right to use the connection; `nil` if nobody judges it.
    var admission: Primary.Admission?
    /// Whether a cancelled task also cancels the current statement.
    private(set) var honoursCancellation = true
    private var lastAnswer = ContinuousClock.now

    private struct PreparedStatement {
        let name: String
        let types: [PostgresType]
    }

    init(_ handle: consuming Handle, waiter: SocketWaiter, cancelDelay: Duration, cancelTimeout: Duration) {
        unsafe PQsetnonblocking(handle.pointer, 1)
        self.handle = handle
        self.waiter = waiter
        self.cancelDelay = cancelDelay
        self.cancelTimeout = cancelTimeout
    }

    /// Whether the connection can no longer be used.
    var isBroken: Bool { isAbandoned || handle.isBroken || isSuperseded }
    /// Whether another server has become the primary.
    var isSuperseded: Bool { admission?.isCurrent == false }
    var socket: Int32 { handle.socket }
    /// Whether a statement of the open transaction has failed, so that it can only be rolled back.
    var isTransactionFailed: Bool { unsafe PQtransactionStatus(handle.pointer) == PQTRANS_INERROR }

    /// Marks the connection as unusable.
    func abandon() {
        isAbandoned = true
    }

    // MARK: Statements

    /// Executes a statement, and prepares it first if this connection has not done so.
    ///
    /// - Parameters:
    ///   - statement: The statement.
    ///   - values: Its parameters.
    ///   - effect: What success means. By default, the statement is a transaction of its own.
    ///   - deadline: When to cancel the statement.
    func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ values: Parameters, _ effect: WriteEffect? = nil,
        deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> PostgresResult {
        try encode(statement, values)
        if try beginPreparing(statement.key) {
            _ = try result(.provisional, deadline: deadline)
            hasPrepared(statement.key)
            try checkUse()
        }
        try begin(statement.key)
        return try result(effect ?? statement.effect, deadline: deadline)
    }

    /// Executes a statement on an event loop, whose thread does other work meanwhile.
    func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ values: Parameters, deadline: ContinuousClock.Instant,
        on loop: EventLoop
    ) async throws(PostgresError) -> PostgresResult {
        try encode(statement, values)
        if try beginPreparing(statement.key) {
            _ = try await result(.provisional, deadline: deadline, on: loop)
            hasPrepared(statement.key)
            try checkUse()
        }
        try begin(statement.key)
        return try await result(statement.effect, deadline: deadline, on: loop)
    }

    private func encode<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ values: Parameters
    ) throws(PostgresError) {
        try checkUse()
        parameters.removeAll()
        try statement.encode(values, &parameters)
    }

    /// Sends the statement to be prepared. Returns `false` if it is prepared already.
    private func beginPreparing(_ key: StatementKey) throws(PostgresError) -> Bool {
        if let known = prepared[key] {
            // The server reads the bytes as the types of the first execution.
            guard known.types == parameters.types else {
                throw .encoding(parameter: 0, reason: "types differ from those the statement was prepared with")
            }
            return false
        }
        let oids = parameters.types.map(\.oid)
        try send { unsafe PQsendPrepare(handle.pointer, nextName, key.text, Int32(oids.count), oids) }
        return true
    }

    private var nextName: String { "s\(prepared.count)" }

    private func hasPrepared(_ key: StatementKey) {
        prepared[key] = PreparedStatement(name: nextName, types: parameters.types)
    }

    /// Sends a prepared statement with its parameters.
    private func begin(_ key: StatementKey) throws(PostgresError) {
        guard let name = prepared[key]?.name else { throw .unavailable(reason: "the statement is not prepared") }
        let count = Int32(parameters.count)
        let isSent = unsafe parameters.withPointers { values, lengths, formats in
            unsafe PQsendQueryPrepared(handle.pointer, name, count, values, lengths, formats, 1)
        }
        try send { isSent }
    }

    /// Executes a text of one or several statements with the simple protocol, and drops the results.
    func runScript(_ sql: String, _ effect: WriteEffect, deadline: ContinuousClock.Instant) throws(PostgresError) {
        try checkUse()
        guard !sql.utf8.contains(0) else { throw .encoding(parameter: 0, reason: "script with a NUL character") }
        try send { unsafe PQsendQuery(handle.pointer, sql) }
        _ = try result(effect, deadline: deadline)
    }

    /// The reason for the end of connections to the primary before.
    static let superseded = "another server has become the primary"

    /// Throws if the connection was abandoned: a transaction with an abandoned statement must not continue, least of
    /// all to its commit. Throws also if nobody wants another statement.
    private func checkUse() throws(PostgresError) {
        guard !isAbandoned else { throw interruption ?? .unavailable(reason: "the connection was given up") }
        guard !isSuperseded else { throw .unavailable(reason: Self.superseded) }
        guard !honoursCancellation || !Task.isCancelled else { throw .cancelled }
    }

    private func send(_ send: () -> Int32) throws(PostgresError) {
        guard send() == 1 else {
            throw isBroken
                ? .connectionLost(reason: handle.errorMessage) : .unavailable(reason: handle.errorMessage)
        }
    }

    // MARK: Answers

    /// Waits until the server has answered, and returns the last result or throws the error.
    private func result(
        _ effect: WriteEffect, deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> PostgresResult {
        var call = begin(effect, deadline: deadline)
        var isReady = false
        while let wait = try advance(&call, isReady: isReady) {
            isReady = waiter.wait(for: wait.socket, events: wait.events, until: wait.limit)
        }
        return try outcome(of: call)
    }

    private func result(
        _ effect: WriteEffect, deadline: ContinuousClock.Instant, on loop: EventLoop
    ) async throws(PostgresError) -> PostgresResult {
        var call = begin(effect, deadline: deadline)
        var isReady = false
        while let wait = try advance(&call, isReady: isReady) {
            isReady = await waiter.wait(for: wait.socket, events: wait.events, until: wait.limit, on: loop)
        }
        return try outcome(of: call)
    }

    private func begin(_ effect: WriteEffect, deadline: ContinuousClock.Instant) -> Call {
        handle.forgetWarning()
        return Call(effect, deadline: deadline)
    }

    /// Returns the last result of a finished call, or throws its error.
    private func outcome(of call: consuming Call) throws(PostgresError) -> PostgresResult {
        lastAnswer = .now
        // A caller that has lost its patience gets the answer all the same, unless the statement was to be cancelled.
        let reason = call.interruption.isAsked ? call.interruption.reason : nil
        if let reason {
            // The cancel request may still be on its way, and it must not hit another statement.
            isAbandoned = true
            interruption = reason
        }
        if let failure = call.failure { throw error(for: failure, reason) }
        guard let last = call.last.take() else {
            isAbandoned = true
            throw .connectionLost(reason: "no result")
        }
        switch call.effect {
        case .none: break
        case .provisional:
            // Closing the connection undoes it.
            if let reason { throw reason }
        case .lasting:
            if isSuperseded { throw .outcomeUnknown(reason: Self.superseded) }
            // If the wait of a commit for a standby is cancelled, the server answers with success and a warning. A
            // commit that has waited until its deadline says something about the server.
            if let warning = handle.warning {
                throw .outcomeUnknown(reason: warning, after: reason == .cancelled ? .cancellation : nil)
            }
            if let reason {
                throw .outcomeUnknown(
                    reason: "\(reason), and success all the same",
                    after: reason == .cancelled ? .cancellation : .deadline)
            }
        }
        return last
    }

    private func error(
        for failure: PostgresError.ServerError, _ interruption: PostgresError?
    ) -> PostgresError {
        if handle.isBroken {
            return .connectionLost(reason: "\(failure.sqlState) \(failure.message)")
        }
        if failure.sqlState == "57014", let interruption {
            return interruption
        }
        // A server that has become read-only is no longer the primary. Abandon the connection, and look for the new
        // primary.
        if failure.sqlState == "25006" {
            isAbandoned = true
        }
        return .server(failure)
    }

    // MARK: Between statements

    /// Runs `body` without regard to cancellation, to end a transaction in an orderly way.
    func withoutCancellation<Result>(
        _ body: () throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        honoursCancellation = false
        defer { honoursCancellation = true }
        return try body()
    }

    /// Reads unsolicited messages of the server, unless it answered within the last 10 ms.
    func readUnaskedAfterPause() {
        guard ContinuousClock.now - lastAnswer > .milliseconds(10) else { return }
        readUnasked()
    }

    /// Reads unsolicited messages of the server: notifications, or that it has closed the connection.
    func readUnasked() {
        while !isBroken, unsafe SocketWaiter.isReadable(socket) || sluice_bytes_in_tls(handle.pointer) > 0 {
            if unsafe PQconsumeInput(handle.pointer) == 0 { return }
            // Lets libpq process messages between statements, such as the server's shutdown message.
            _ = unsafe PQisBusy(handle.pointer)
        }
    }

    /// Returns the next notification that was read; `nil` if there is none.
    func nextNotification() -> PostgresNotification? {
        guard let notification = unsafe PQnotifies(handle.pointer) else { return nil }
        defer { unsafe PQfreemem(notification) }
        return unsafe PostgresNotification(
            channel: String(cString: notification.pointee.relname),
            payload: String(cString: notification.pointee.extra))
    }
}

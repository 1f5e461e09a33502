import CLibPQ
import Dispatch
import EventLoops
import Glibc
import Synchronization

/// An established connection. Its functions block, for as long as their deadline says; they run on its owner's queue.
///
/// Nothing here waits inside libpq: statements are sent and answers read without blocking, with `poll` in between, so that
/// a deadline or a cancellation is noticed whatever the server or the network does.
final class Session {
    private let handle: Handle
    private let wakeUp: WakeUp
    let cancelTimeout: Duration
    private var prepared: [StatementKey: PreparedStatement] = [:]
    private var parameters = PostgresParameters()
    /// Set when the connection can no longer be trusted, for example after a statement that did not end.
    private var isAbandoned = false
    /// Whether the transaction in which statements run now is to be treated as cancellable.
    private var honoursCancellation = true
    private var lastAnswer = ContinuousClock.now

    private struct PreparedStatement {
        let name: String
        let types: [PostgresType]
    }

    init(_ handle: consuming Handle, wakeUp: WakeUp, cancelTimeout: Duration) {
        unsafe PQsetnonblocking(handle.pointer, 1)
        self.handle = handle
        self.wakeUp = wakeUp
        self.cancelTimeout = cancelTimeout
    }

    /// Whether the connection is of no more use.
    var isBroken: Bool { isAbandoned || handle.isBroken }
    var socket: Int32 { handle.socket }
    /// Whether a statement of the open transaction has failed, so that it can only be rolled back.
    var isTransactionFailed: Bool { unsafe PQtransactionStatus(handle.pointer) == PQTRANS_INERROR }

    /// Marks the connection as of no more use.
    func abandon() {
        isAbandoned = true
    }

    // MARK: Statements

    /// Executes a statement, after preparing it where this is its first time here.
    func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ values: Parameters, deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> PostgresResult {
        try encode(statement, values)
        if try beginPreparing(statement.key) {
            _ = try result(deadline: deadline)
            hasPrepared(statement.key)
        }
        try begin(statement.key)
        return try result(deadline: deadline)
    }

    /// Executes a statement on an event loop, whose thread does other things meanwhile.
    func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ values: Parameters, deadline: ContinuousClock.Instant,
        on loop: EventLoop
    ) async throws(PostgresError) -> PostgresResult {
        try encode(statement, values)
        if try beginPreparing(statement.key) {
            _ = try await result(deadline: deadline, on: loop)
            hasPrepared(statement.key)
        }
        try begin(statement.key)
        return try await result(deadline: deadline, on: loop)
    }

    private func encode<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ values: Parameters
    ) throws(PostgresError) {
        parameters.removeAll()
        try statement.encode(values, &parameters)
    }

    /// Sends the statement to be prepared, unless it was.
    private func beginPreparing(_ key: StatementKey) throws(PostgresError) -> Bool {
        if let known = prepared[key] {
            // The server reads the bytes as the types it was told first.
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

    /// Sends a prepared statement with the parameters.
    private func begin(_ key: StatementKey) throws(PostgresError) {
        guard let name = prepared[key]?.name else { throw .unavailable(reason: "the statement is not prepared") }
        let count = Int32(parameters.count)
        let isSent = unsafe parameters.withPointers { values, lengths, formats in
            unsafe PQsendQueryPrepared(handle.pointer, name, count, values, lengths, formats, 1)
        }
        try send { isSent }
    }

    /// Executes a text of one or several statements in the simple protocol; results are dropped.
    func runScript(_ sql: String, deadline: ContinuousClock.Instant) throws(PostgresError) {
        guard !sql.utf8.contains(0) else { throw .encoding(parameter: 0, reason: "script with a NUL character") }
        try send { unsafe PQsendQuery(handle.pointer, sql) }
        _ = try result(deadline: deadline)
    }

    private func send(_ send: () -> Int32) throws(PostgresError) {
        guard send() == 1 else {
            throw isBroken
                ? .connectionLost(reason: handle.errorMessage) : .unavailable(reason: handle.errorMessage)
        }
    }

    /// Waits for the end of what was sent, and gives its last result or its error.
    private func result(deadline: ContinuousClock.Instant) throws(PostgresError) -> PostgresResult {
        var call = Call(deadline: deadline)
        var isReady = false
        while let wait = try advance(&call, isReady: isReady) {
            isReady = wakeUp.wait(for: wait.socket, events: wait.events, until: wait.limit)
        }
        return try outcome(of: call)
    }

    private func result(
        deadline: ContinuousClock.Instant, on loop: EventLoop
    ) async throws(PostgresError) -> PostgresResult {
        var call = Call(deadline: deadline)
        var isReady = false
        while let wait = try advance(&call, isReady: isReady) {
            isReady = await wakeUp.wait(for: wait.socket, events: wait.events, until: wait.limit, on: loop)
        }
        return try outcome(of: call)
    }

    private func error(
        for failure: PostgresError.ServerError, _ interruption: Interruption
    ) -> PostgresError {
        if handle.isBroken {
            return .connectionLost(reason: "\(failure.sqlState) \(failure.message)")
        }
        if failure.sqlState == "57014", let reason = interruption.reason {
            return reason
        }
        // A server that has become read-only is no longer the primary: leave it, and look for the one that is.
        if failure.sqlState == "25006" {
            isAbandoned = true
        }
        return .server(failure)
    }
}

// MARK: - Waiting

extension Session {
    /// What was sent and is being answered.
    struct Call: ~Copyable {
        fileprivate var interruption: Interruption
        fileprivate var isSending = true
        fileprivate var isAnswered = false
        fileprivate var last: PostgresResult?
        fileprivate var failure: PostgresError.ServerError?

        init(deadline: ContinuousClock.Instant) {
            interruption = Interruption(deadline: deadline)
        }
    }

    /// What a call cannot go on without: an event on a socket (-1: none), somebody's waking, or the end of a time.
    struct Wait {
        let socket: Int32
        let events: Int32
        let limit: ContinuousClock.Instant
    }

    /// Why and since when a statement is being cancelled.
    fileprivate struct Interruption {
        let deadline: ContinuousClock.Instant
        var reason: PostgresError?
        var limit: ContinuousClock.Instant
        var request: CancelRequest?

        init(deadline: ContinuousClock.Instant) {
            self.deadline = deadline
            limit = deadline
        }
    }

    /// Goes on with a call as far as that is possible without waiting; `nil` when it is over.
    ///
    /// - Parameter isReady: Whether the socket is, as far as the caller has waited for it.
    func advance(_ call: inout Call, isReady: Bool) throws(PostgresError) -> Wait? {
        // Where reading fails the result will tell.
        var isBroken = unsafe isReady && PQconsumeInput(handle.pointer) == 0
        while !call.isAnswered {
            if call.isSending {
                // Negative is an error, which the result will tell.
                call.isSending = unsafe PQflush(handle.pointer) == 1
            }
            if unsafe !isBroken && PQisBusy(handle.pointer) != 0 {
                try interruptIfDue(&call.interruption)
                let events = call.isSending ? POLLIN | POLLOUT : POLLIN
                return Wait(socket: socket, events: events, limit: call.interruption.limit)
            }
            isBroken = false
            try takeResult(&call)
        }
        return settle(call.interruption)
    }

    private func takeResult(_ call: inout Call) throws(PostgresError) {
        guard let pointer = unsafe PQgetResult(handle.pointer) else {
            call.isAnswered = true
            return
        }
        let next = unsafe PostgresResult(owning: pointer)
        switch next.status {
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
            isAbandoned = true
            throw .connectionLost(reason: "COPY is not supported")
        default: call.failure = call.failure ?? next.error
        }
        call.last = consume next
    }

    /// The last result of a call that is over, or its error.
    func outcome(of call: consuming Call) throws(PostgresError) -> PostgresResult {
        lastAnswer = .now
        if let failure = call.failure {
            throw error(for: failure, call.interruption)
        }
        guard let last = call.last.take() else {
            isAbandoned = true
            throw .connectionLost(reason: "no result")
        }
        return last
    }

    private func interruptIfDue(_ interruption: inout Interruption) throws(PostgresError) {
        let now = ContinuousClock.now
        if interruption.reason == nil {
            if honoursCancellation, Task.isCancelled {
                interruption.reason = .cancelled
            } else if now >= interruption.deadline {
                interruption.reason = .deadlineExceeded
            } else {
                return
            }
            interruption.limit = now + cancelTimeout
            interruption.request = unsafe CancelRequest(PQgetCancel(handle.pointer), wakeUp: wakeUp)
        } else if now >= interruption.limit {
            isAbandoned = true
            throw .connectionLost(reason: "the server did not answer in time, nor to the request to cancel")
        }
    }

    /// What a call waits for until its request to cancel has been delivered: were that still under way, it could hit the
    /// next statement.
    private func settle(_ interruption: Interruption) -> Wait? {
        guard let request = interruption.request, !request.isDelivered else { return nil }
        guard ContinuousClock.now < interruption.limit else {
            isAbandoned = true
            return nil
        }
        return Wait(socket: -1, events: 0, limit: interruption.limit)
    }

    /// Runs `body` without regard to cancellation, to end a transaction in good order.
    func withoutCancellation<Result>(
        _ body: () throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        honoursCancellation = false
        defer { honoursCancellation = true }
        return try body()
    }

    /// Looks what the server has sent unasked, unless it answered only just now.
    func readUnaskedAfterPause() {
        guard ContinuousClock.now - lastAnswer > .milliseconds(10) else { return }
        readUnasked()
    }

    /// Reads what the server sent unasked: notifications, or that it has closed the connection.
    func readUnasked() {
        while !isBroken, wakeUp.isReadable(socket) {
            if unsafe PQconsumeInput(handle.pointer) == 0 { return }
            // Lets libpq take in messages between statements, such as the server's word of farewell.
            _ = unsafe PQisBusy(handle.pointer)
        }
    }

    /// The next notification that has been read.
    func nextNotification() -> PostgresNotification? {
        guard let notification = unsafe PQnotifies(handle.pointer) else { return nil }
        defer { unsafe PQfreemem(notification) }
        return unsafe PostgresNotification(
            channel: String(cString: notification.pointee.relname),
            payload: String(cString: notification.pointee.extra))
    }
}

/// A request to cancel on its way to the server, over a connection of its own.
private final class CancelRequest: Sendable {
    private let delivered = Atomic(false)

    var isDelivered: Bool { delivered.load(ordering: .acquiring) }

    /// Takes over a `PGcancel`. Sending blocks until the server has closed that connection, by when it has delivered the
    /// signal: on a queue of its own, so that a dead host holds up nobody else.
    init(_ cancel: OpaquePointer?, wakeUp: WakeUp) {
        let target = unsafe CancelTarget(pointer: cancel)
        DispatchQueue(label: "postgres-cancel").async {
            target.send()
            self.delivered.store(true, ordering: .releasing)
            wakeUp.wake()
        }
    }
}

/// Owns a `PGcancel`.
///
/// - Invariant: The session's thread sets the pointer in `init` and lets go of it. After that one closure on a queue of its own
///   uses it, and it is freed when that has returned.
@safe
private final class CancelTarget: @unchecked Sendable {
    private let pointer: OpaquePointer?

    init(pointer: OpaquePointer?) { unsafe self.pointer = pointer }
    deinit { unsafe PQfreeCancel(pointer) }

    func send() {
        var message = [CChar](repeating: 0, count: 256)
        // Whether it succeeded shows in the statement's end, or in that it does not end.
        _ = unsafe PQcancel(pointer, &message, Int32(message.count))
    }
}

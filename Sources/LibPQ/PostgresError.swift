/// The failure of a statement or connection. No case ever holds the value of a parameter.
public enum PostgresError: Error, Sendable, Equatable {
    /// The server refused the statement, which had no effect.
    case server(ServerError)
    /// The connection broke during a statement. It is unknown whether the statement took effect.
    case connectionLost(reason: String)
    /// The server executed the statement but did not confirm that it is durable: the wait for a standby was cut short,
    /// or there was a warning. A failover may undo the statement. `after` tells whether the caller itself cut it short,
    /// which says nothing about the server.
    case outcomeUnknown(reason: String, after: Interruption? = nil)
    /// There is no connection, and nothing was sent. The server cannot be reached, or the next attempt to connect is
    /// not due yet.
    case unavailable(reason: String)
    /// The server refuses the login, and will refuse it until somebody changes the server or the settings: a wrong
    /// password, no such role or database, or no line for it in `pg_hba.conf`. Nothing was sent.
    case refused(ServerError)
    /// The deadline passed. The statement was not sent, or the server has cancelled it.
    case deadlineExceeded
    /// The awaiting task was cancelled. The statement was not sent, or the server has cancelled it.
    case cancelled
    /// The pool has no connection to lend: all are in use, and the queue for them is full.
    case poolExhausted
    /// A column does not hold what its reader expects; `column` counts from 0.
    case decoding(column: Int, reason: String)
    /// A parameter cannot be sent, for example text with a NUL character. `parameter` counts from 1, as in `$1`.
    case encoding(parameter: Int, reason: String)
    /// The connection string is malformed.
    case invalidConnectionString(reason: String)

    /// Why the server was asked to cancel a statement.
    public enum Interruption: Sendable, Equatable {
        /// The awaiting task was cancelled.
        case cancellation
        /// The deadline passed.
        case deadline
    }

    /// The SQLSTATE, if the server reported one.
    public var sqlState: String? {
        switch self {
        case .server(let error), .refused(let error): error.sqlState
        default: nil
        }
    }
}

extension PostgresError {
    /// An error as the server reported it.
    ///
    /// The server's texts may quote values (`Key (email)=(a@b.c) already exists`). Text between double quotes is
    /// therefore removed from messages about data, and details are not read.
    public struct ServerError: Sendable, Equatable {
        /// SQLSTATE of five characters, for example `23505`.
        public var sqlState: String
        /// `ERROR`, `FATAL` or `PANIC`.
        var severity: String
        /// The primary message.
        public var message: String
        /// Name of the violated constraint, if any.
        public var constraint: String?

        init(sqlState: String, severity: String, message: String, constraint: String? = nil) {
            self.sqlState = sqlState
            self.severity = severity
            self.message = sqlState.hasPrefix("22") ? withoutQuotedText(message) : message
            self.constraint = constraint
        }
    }
}

extension PostgresError: CustomStringConvertible {
    /// One line for a log.
    public var description: String {
        switch self {
        case .server(let error): "\(error.severity) \(error.sqlState): \(error.message)"
        case .refused(let error): "the server refuses the login: \(error.severity) \(error.sqlState): \(error.message)"
        case .connectionLost(let reason): "connection lost: \(reason)"
        case .outcomeUnknown(let reason, _): "outcome unknown: \(reason)"
        case .unavailable(let reason): "unavailable: \(reason)"
        case .deadlineExceeded: "deadline exceeded"
        case .cancelled: "cancelled"
        case .poolExhausted: "every connection of the pool is taken and its queue is full"
        case .decoding(let column, let reason): "column \(column): \(reason)"
        case .encoding(let parameter, let reason): "parameter $\(parameter): \(reason)"
        case .invalidConnectionString(let reason): "invalid connection string: \(reason)"
        }
    }
}

/// Returns the text with everything from the first to the last double quote replaced. The quoted text may be a value,
/// and a value may itself contain quotes.
func withoutQuotedText(_ text: String) -> String {
    guard let first = text.firstIndex(of: "\""), let last = text.lastIndex(of: "\"") else { return text }
    return text[..<first] + "\"…\"" + text[text.index(after: last)...]
}

import GatewayCore
import LibPQ

// The only place where an error of the database becomes one of the gateway.

extension GatewayError {
    /// No identifier can be made.
    static let noRandomBytes = GatewayError.unavailable(retryAfter: 1, cause: "the system gives no random bytes")

    /// A statement that always has a row had none.
    static func noRow(of subject: StaticString) -> GatewayError {
        .unavailable(retryAfter: 1, cause: "PostgreSQL gave no row for \(subject)")
    }

    /// The schema of the database is not the one that this program carries.
    static func otherSchema(retryAfter seconds: Int) -> GatewayError {
        .unavailable(retryAfter: seconds, cause: "the schema of the database is not the one of this program")
    }

    /// Something else than the database failed.
    static func unexpected(_ error: any Error) -> GatewayError {
        .unavailable(retryAfter: 1, cause: "\(type(of: error)) where only the database could fail")
    }
}

extension PostgresError {
    /// What a caller can act on: only that the database did not do it, and when to try again.
    var asGatewayError: GatewayError {
        switch self {
        // Nothing was done for want of time: the database is there, but slow.
        case .deadlineExceeded, .poolExhausted: .slowDown(retryAfter: 1, cause: cause)
        // query_canceled by its own time limit, lock_not_available.
        case .server(let error) where ["57014", "55P03"].contains(error.sqlState):
            .slowDown(retryAfter: 1, cause: cause)
        // Done or not, or done and perhaps to be undone: never answered as done.
        case .connectionLost, .outcomeUnknown, .server, .unavailable, .cancelled, .decoding, .encoding,
            .invalidConnectionString:
            .unavailable(retryAfter: 1, cause: cause)
        }
    }

    /// What somebody can act on who changes rows.
    var asRefusalOfChange: GatewayError {
        if refusesData { return .conflict(reason: "The database refuses such a row.") }
        // Another change is under way: as long as it lasts, nothing but waiting helps.
        return sqlState == "55P03" ? .unavailable(retryAfter: 1, cause: cause) : asGatewayError
    }

    /// Whoever reads policy decides nothing without it, whatever the database's reason.
    var asPolicyFailure: GatewayError { .unavailable(retryAfter: 1, cause: cause) }

    /// What the log says; the server's texts quote values in none of the classes that keep their message.
    private var cause: Cause { "PostgreSQL: \(self)" }

    /// Whether the values of parameters are to blame (classes "data exception" and "integrity constraint violation"),
    /// and so perhaps those of one item only.
    var refusesData: Bool {
        switch self {
        case .encoding: true
        // A day without a partition is a check_violation too, of no constraint, and everybody's.
        case .server(let error):
            error.sqlState.utf8.starts(with: "22".utf8)
                || (error.sqlState.utf8.starts(with: "23".utf8) && error.constraint != nil)
        default: false
        }
    }
}

import GatewayCore
import LibPQ
import Logging

// Errors of the database become errors of the gateway in this file only.

extension GatewayError {
    /// A statement that always returns a row returned none.
    static func noRow(of subject: StaticString) -> GatewayError {
        .unavailable(retryAfter: 1, cause: "PostgreSQL gave no row for \(subject)")
    }

    /// This program does not fit the schema of the database.
    static func otherSchema(retryAfter seconds: Int) -> GatewayError {
        .unavailable(retryAfter: seconds, cause: "this program does not fit the schema of the database")
    }

    /// An error arrived from a source other than the database, where only the database can fail.
    static func unexpected(_ error: any Error) -> GatewayError {
        .unavailable(retryAfter: 1, cause: "\(type(of: error)) where only the database could fail")
    }
}

extension Logger {
    /// Logs why the database did not do something, and returns the error for the caller.
    ///
    /// - Parameters:
    ///   - error: The error of the database.
    ///   - complaint: The log message. It says what could not be done.
    ///   - outage: The outages of the database.
    ///   - metadata: Further metadata of the line.
    func refusal(
        of error: PostgresError, _ complaint: Logger.Message, in outage: Outage?, metadata: Logger.Metadata = [:]
    ) -> GatewayError {
        report(error, complaint, in: outage, metadata: metadata)
        return error.asGatewayError
    }

    /// Logs why a change failed, and returns the error for whoever asked for the change. An error of the gateway is an
    /// answer: it is returned as it is, without a line.
    ///
    /// - Parameters:
    ///   - error: What the change threw.
    ///   - complaint: The log message. It says what could not be done.
    ///   - outage: The outages of the database.
    ///   - metadata: Further metadata of the line.
    func refusal(
        ofChange error: any Error, _ complaint: Logger.Message, in outage: Outage?, metadata: Logger.Metadata
    ) -> GatewayError {
        if let error = error as? GatewayError { return error }
        report(error, complaint, in: outage, metadata: metadata)
        return (error as? PostgresError)?.asRefusalOfChange ?? .unexpected(error)
    }
}

extension PostgresError {
    /// The error as a caller sees it: the database did not do the work, and when to try again.
    var asGatewayError: GatewayError {
        switch self {
        // What 'prove_actor' raises.
        case .server(let error) where error.sqlState == "SL001": .staleCaller
        // The database is reachable but slow: it ran out of time, or the caller out of patience, and it did nothing.
        case .deadlineExceeded, .poolExhausted, .cancelled: .slowDown(retryAfter: 1, cause: cause)
        // 57014 is query_canceled, by the server's own time limit; 55P03 is lock_not_available.
        case .server(let error) where ["57014", "55P03"].contains(error.sqlState):
            .slowDown(retryAfter: 1, cause: cause)
        // The work may or may not be done, or may still be undone. Never report it as done.
        case .connectionLost, .outcomeUnknown, .server, .unavailable, .decoding, .encoding,
            .invalidConnectionString, .refused:
            .unavailable(retryAfter: 1, cause: cause)
        }
    }

    /// The error as the caller of a change sees it.
    var asRefusalOfChange: GatewayError {
        if case .server(let error) = self, let constraint = error.constraint, Self.ofUpdates.contains(constraint) {
            return .conflict(
                reason: "The update of the database is not finished, "
                    + "and gateways of the version before know neither ListObjects and DeleteObject nor links to a CDN. "
                    + "Run 'sluice migrate --finish' first.")
        }
        if refusesData { return .conflict(reason: "The database refused the row.") }
        // Another change is under way. Until it ends, only waiting helps.
        return sqlState == "55P03" ? .unavailable(retryAfter: 1, cause: cause) : asGatewayError
    }

    /// The constraints that admit ``Action/listObjects``, ``Action/deleteObject`` and links to a CDN once an update is
    /// finished.
    private static let ofUpdates: Set = [
        "grants_actions_check", "quotas_action_check", "tickets_actions_check", "storage_credentials_kind_check",
        "buckets_cdn_credential_id_check",
    ]

    /// The text for the log. Server messages are kept only for error classes that never quote values.
    private var cause: Cause {
        // 42501 is insufficient_privilege.
        let advice =
            sqlState == "42501"
            ? "; the owner of the schema gives the gateway's role its rights with 'sluice migrate'" : ""
        return "PostgreSQL: \(self)\(advice)"
    }

    /// Whether the parameters' values caused the error, and so perhaps those of one item only. These are the classes
    /// "data exception" and "integrity constraint violation".
    var refusesData: Bool {
        switch self {
        case .encoding: true
        // A missing day partition raises a check_violation too. It names no constraint, and concerns every item.
        case .server(let error):
            error.sqlState.utf8.starts(with: "22".utf8)
                || (error.sqlState.utf8.starts(with: "23".utf8) && error.constraint != nil)
        default: false
        }
    }
}

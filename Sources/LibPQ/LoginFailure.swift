/// The text with which libpq reports that it could not log in, in the form that `PQERRORS_VERBOSE` gives.
struct LoginFailure {
    /// The text without the server's source file and line.
    let message: String
    /// SQLSTATE of the server; `nil` if libpq itself failed, for example to connect.
    let sqlState: String?

    /// Reads a text such as `connection to server at "h", port 5432 failed: FATAL:  28P01: password … LOCATION:  …`.
    init(_ text: String) {
        let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("LOCATION:") }
        message = lines.map { $0.drop(while: \.isWhitespace) }.joined(separator: "; ")
        // The severity may be in another language; the form around the code is always the same.
        sqlState = message.firstMatch(of: #/:  ([0-9A-Z]{5}): /#).map { String($0.1) }
    }

    /// Whether the same login will fail again. Class 28 is an invalid authorization, 3D000 a database that does not
    /// exist, 42501 a missing right to connect.
    var isFinal: Bool {
        guard let sqlState else { return false }
        return sqlState.hasPrefix("28") || ["3D000", "42501"].contains(sqlState)
    }

    /// The error. Waiting helps against every failure that is not final.
    var error: PostgresError {
        guard isFinal, let sqlState else { return .unavailable(reason: message) }
        let text = message.split(separator: "\(sqlState): ", maxSplits: 1).last.map(String.init) ?? message
        return .refused(.init(sqlState: sqlState, severity: "FATAL", message: text))
    }
}

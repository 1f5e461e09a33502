import LibPQ

/// A line of the log of policy changes.
struct PolicyChange: Sendable {
    var scopes: [String]
    var actor: String
    var requestID: String
    /// Number of times that the commit asks for the lock of the log, for two seconds each.
    var attempts: Int32 = 1
}

/// The statement that writes the table `policy_log`.
enum PolicyLogTable {
    /// Ends a change. Execute it last: the commit takes the lock and writes the line.
    static let append = Statement<PolicyChange, Void>("SELECT append_policy_log($1, $2, $3, $4)") {
        [$0.scopes, $0.actor, $0.requestID, $0.attempts]
    }
}

import LibPQ

/// A line of the log of policy changes.
struct PolicyChange: Sendable {
    var scopes: [String]
    var actor: String
    var requestID: String
    /// How often the commit asks for the lock of the log, two seconds each time.
    var attempts: Int32 = 1
}

/// The table `policy_log`, as far as it is written here.
enum PolicyLogTable {
    /// Ends a change; to be executed last. The commit writes the line, and takes the lock for it.
    static let append = Statement<PolicyChange, Void>("SELECT append_policy_log($1, $2, $3, $4)") {
        [$0.scopes, $0.actor, $0.requestID, $0.attempts]
    }
}

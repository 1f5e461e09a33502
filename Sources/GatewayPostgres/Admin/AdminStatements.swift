import Foundation
import LibPQ

/// A line of the audit.
struct AuditEntry: Sendable {
    /// What happened to the row.
    enum Operation: String, Sendable {
        case create
        case delete
    }

    var id: UUID
    var operation: Operation
    var resourceID: String
    var actor: String
    var requestID: String
}

/// A line of the log of policy changes.
struct PolicyChange: Sendable {
    var scopes: [String]
    var actor: String
    var requestID: String
    /// Grants that were created.
    var created: [UUID]
    /// Grants that were removed.
    var removed: [UUID]
}

/// Statements that all kinds of rows share.
enum AdminStatements {
    /// Ends a change; to be executed last.
    static let appendPolicyLog = Statement<PolicyChange, Void>("SELECT append_policy_log($1, $2, $3, $4, $5)") {
        [$0.scopes, $0.actor, $0.requestID, $0.created, $0.removed]
    }

    /// Writes a line of the audit with a row as it is, which is its state after its creation and before its removal.
    ///
    /// - Parameters:
    ///   - kind: What is written into the column `kind`.
    ///   - members: Names and values of the row's members, for `jsonb_build_object`; secrets and hashes are not among them.
    ///   - source: Where the row `r` with the identifier `$3` is found.
    static func audit(_ kind: String, members: String, from source: String) -> Statement<AuditEntry, Void> {
        Statement(
            """
            INSERT INTO admin_audit (id, operation, kind, resource_id, actor, request_id, before, after)
            SELECT $1, $2, '\(kind)', $3, $4, $5,
                CASE $2 WHEN 'delete' THEN d.document END, CASE $2 WHEN 'create' THEN d.document END
            FROM (SELECT jsonb_build_object(\(members)) AS document FROM \(source)) d
            """
        ) { [$0.id, $0.operation.rawValue, $0.resourceID, $0.actor, $0.requestID] }
    }

    /// Makes a statement that locks the row with the identifier `$1` and gives the scope that it changes under.
    static func lock(scope: String, from source: String) -> Statement<String, String> {
        Statement("SELECT \(scope) FROM \(source) FOR UPDATE") {
            [$0]
        } decode: { row throws(PostgresError) in
            try row.decode(0)
        }
    }
}

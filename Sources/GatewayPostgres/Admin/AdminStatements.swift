import Foundation
import GatewayCore
import LibPQ

/// A line of the audit.
struct AuditEntry: Sendable {
    /// What happened to the row.
    enum Operation: String, Sendable {
        case create
        case update
        case delete
        case reset
    }

    var id: UUID
    var operation: Operation
    var resourceID: String
    var actor: String
    var requestID: String
    /// JSON of the row before and after, without secrets; `nil` where there was or is none.
    var before: String?
    var after: String?
}

/// A line of the log of policy changes.
struct PolicyChange: Sendable {
    var scopes: [String]
    var actor: String
    var requestID: String
    /// How often the commit asks for the lock of the log, two seconds each time.
    var attempts: Int32 = 1
}

/// Statements that all kinds of rows share.
enum AdminStatements {
    /// Ends a change; to be executed last. The commit writes the line, and takes the lock for it.
    static let appendPolicyLog = Statement<PolicyChange, Void>("SELECT append_policy_log($1, $2, $3, $4)") {
        [$0.scopes, $0.actor, $0.requestID, $0.attempts]
    }

    /// Writes a line of the audit.
    static let audit = Statement<(entry: AuditEntry, kind: String), Void>(
        """
        INSERT INTO admin_audit (id, operation, kind, resource_id, actor, request_id, before, after)
        VALUES ($1, $2, $3, $4, $5, $6, $7::text::jsonb, $8::text::jsonb)
        """
    ) {
        [
            $0.entry.id, $0.entry.operation.rawValue, $0.kind, $0.entry.resourceID, $0.entry.actor,
            $0.entry.requestID, $0.entry.before, $0.entry.after,
        ]
    }

    /// Writes to the log of the server alone: a commit that comes after all others before it, at the standby too.
    static let writeNothing = Statement<Void, Void>("SELECT pg_logical_emit_message(true, 'sluice', '')")

    /// Makes a statement that gives a row as JSON, for the audit.
    ///
    /// - Parameters:
    ///   - members: Names and values of the row's members, for `jsonb_build_object`; secrets and hashes are not among them.
    ///   - source: Where the row `r` with the identifier `$1` is found.
    static func document(_ members: String, from source: String) -> Statement<String, String> {
        Statement("SELECT jsonb_build_object(\(members))::text FROM \(source)") {
            [$0]
        } decode: { row throws(PostgresError) in
            try row.decode(0)
        }
    }

    /// Makes a statement that locks the row with the identifier `$1` and gives the scope that it changes under.
    static func lock(scope: String, revision: String, from source: String) -> Statement<String, LockedRow> {
        lock(scopes: "ARRAY[\(scope)]", revision: revision, from: source)
    }

    /// Makes a statement that locks the row with the identifier `$1` and gives the scopes that it changes under.
    static func lock(scopes: String, revision: String, from source: String) -> Statement<String, LockedRow> {
        Statement("SELECT \(scopes), \(revision) FROM \(source) FOR UPDATE") {
            [$0]
        } decode: { row throws(PostgresError) in
            LockedRow(scopes: try row.decode(0), revision: try row.decode(1))
        }
    }

    /// Makes a statement that reads a row with its revision, which is the column before those of the row.
    static func read<Row>(
        _ revision: String, _ columns: String, from source: String,
        _ decode: @escaping @Sendable (borrowing PostgresRow, Int) throws(PostgresError) -> Row
    ) -> Statement<String, Stored<Row>> {
        Statement("SELECT \(revision), \(columns) FROM \(source)", onlyReads: true) {
            [$0]
        } decode: { row throws(PostgresError) in
            Stored(row: try decode(row, 1), revision: try row.decode(0))
        }
    }
}

/// What is to be known of a row that is locked.
struct LockedRow: Sendable {
    /// The scopes that it changes under.
    var scopes: [String]
    var revision: UUID
}

/// A row that was removed together with others.
struct RemovedRow: Sendable {
    /// The scope that it changes under.
    var scope: String
    /// What the audit holds of it.
    var document: String
}

/// Columns that a row is written with, the same in `INSERT` and `UPDATE`: the n-th has the value `$n`.
struct WrittenColumns: Sendable {
    private let names: [String]

    /// Lists the columns; the first is the identifier.
    init(_ names: String...) {
        self.names = names
    }

    /// For `INSERT INTO table`.
    var insertion: String {
        let values = names.indices.map { "$\($0 + 1)" }
        return "(\(names.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")))"
    }

    /// For `UPDATE table`: all but the identifier, and a new revision.
    var assignment: String {
        let pairs = names.indices.dropFirst().map { "\(names[$0]) = $\($0 + 1)" }
        return "SET \((pairs + ["revision = gen_random_uuid()"]).joined(separator: ", ")) WHERE \(names[0]) = $1"
    }
}

import Foundation
import GatewayCore
import LibPQ

/// Statements that all kinds of rows share.
enum AdminStatements {
    /// Writes to the log of the server alone: a commit that comes after all others before it, at the standby too.
    static let writeNothing = Statement<Void, Void>("SELECT pg_logical_emit_message(true, 'sluice', '')")

    /// Makes a statement that gives a row as JSON, for the audit.
    ///
    /// - Parameters:
    ///   - members: Names and values of the row's members, for `jsonb_build_object`; secrets and hashes are not among
    ///     them.
    ///   - source: Where the row `r` with the identifier `$1` is found.
    static func document(_ members: String, from source: String) -> Statement<String, String> {
        Statement("SELECT jsonb_build_object(\(members))::text FROM \(source)") {
            [$0]
        } decode: { row throws(PostgresError) in
            try row.next()
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
            LockedRow(scopes: try row.next(), revision: try row.next())
        }
    }

    /// Makes a statement that reads a row with its revision.
    static func read<Row>(
        _ revision: String, _ columns: String, from source: String,
        _ decode: @escaping @Sendable (inout PostgresRow) throws(PostgresError) -> Row
    ) -> Statement<String, Stored<Row>> {
        Statement("SELECT \(revision), \(columns) FROM \(source)", onlyReads: true) {
            [$0]
        } decode: { row throws(PostgresError) in
            let revision: UUID = try row.next()
            return Stored(row: try decode(&row), revision: revision)
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

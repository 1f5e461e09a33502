import FoundationEssentials
import GatewayCore
import LibPQ

/// Statements that all kinds of rows share.
enum AdminStatements {
    /// Writes a message to the server's write-ahead log only. Its commit comes after all earlier ones, at the standby
    /// too.
    ///
    /// A change that finds nothing to do executes it before it says so: an earlier change may have done it, on this
    /// server alone so far, and a failover would undo that.
    static let writeNothing = Statement<Void, Void>("SELECT pg_logical_emit_message(true, 'sluice', '')")

    /// Makes a statement that returns a row as JSON, for the audit.
    ///
    /// - Parameters:
    ///   - members: Names and values of the row's members, for `jsonb_build_object`, without secrets and hashes.
    ///   - source: Selects the row `r` with the identifier `$1`.
    static func document(_ members: String, from source: String) -> Statement<String, String> {
        Statement("SELECT jsonb_build_object(\(members))::text FROM \(source)") {
            [$0]
        }
    }

    /// Adds to a document the names of the secrets that a change replaced, added or removed.
    static let noteSecrets = Statement<(document: String, secrets: [String]), String>(
        "SELECT ($1::text::jsonb || jsonb_build_object('changedSecrets', $2::text[]))::text"
    ) {
        [$0.document, $0.secrets]
    }

    /// Makes a statement that locks the row with the identifier `$1` and returns the scope that its changes touch.
    static func lock(scope: String, revision: String, from source: String) -> Statement<String, LockedRow> {
        lock(scopes: "ARRAY[\(scope)]", revision: revision, from: source)
    }

    /// Makes a statement that locks the row with the identifier `$1` and returns the scopes that its changes touch.
    static func lock(scopes: String, revision: String, from source: String) -> Statement<String, LockedRow> {
        Statement("SELECT \(scopes), \(revision) FROM \(source) FOR UPDATE") {
            [$0]
        } decode: { row throws(PostgresError) in
            LockedRow(scopes: try row.next(), revision: try row.next())
        }
    }

    /// Makes a statement that reads a row with its revision.
    static func read<Row: RowReadable>(
        _ revision: String, _ columns: String, from source: String
    ) -> Statement<String, Stored<Row>> {
        read(revision, columns, from: source) { row throws(PostgresError) in try Row(&row) }
    }

    /// Makes a statement that reads a row with its revision, by a function.
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

    /// Makes a statement that reads a page of rows.
    ///
    /// - Parameters:
    ///   - listing: The list. It names columns as the source does.
    ///   - columns: What is read of a row.
    ///   - source: Selects the rows.
    static func page<Row: RowReadable>(
        of listing: PagedList, _ columns: String, from source: String
    ) -> Statement<PageRequest, Row> {
        page(of: listing, columns, from: source) { row throws(PostgresError) in try Row(&row) }
    }

    /// Makes a statement that reads a page of rows by a function.
    static func page<Row>(
        of listing: PagedList, _ columns: String, from source: String,
        _ decode: @escaping @Sendable (inout PostgresRow) throws(PostgresError) -> Row
    ) -> Statement<PageRequest, Row> {
        Statement(
            """
            SELECT \(columns) FROM \(source)
            WHERE \(listing.isListed)
            ORDER BY \(listing.sorting) LIMIT \(listing.limit)
            """, onlyReads: true, encode: \.parameters, decode: decode)
    }
}

extension GatewayError {
    /// Whether the refusal of a change tells what rows are there: that one is missing, is there already or differs.
    fileprivate var tellsOfRows: Bool {
        switch self {
        case .notFound, .alreadyExists, .preconditionFailed: true
        case .itemsRefused(let first, let more): first.error.tellsOfRows || more.contains { $0.error.tellsOfRows }
        default: false
        }
    }
}

/// Whether the failure of a change tells what rows are there. Only ``AdminStatements/writeNothing`` makes that safe to
/// say.
func tellsOfRows(_ failure: any Error) -> Bool {
    // 23505 is unique_violation.
    (failure as? GatewayError)?.tellsOfRows ?? ((failure as? PostgresError)?.sqlState == "23505")
}

/// The scopes and the revision of a locked row.
struct LockedRow: Sendable {
    /// The scopes that a change of the row touches.
    var scopes: [String]
    var revision: UUID
}

/// A row that was removed together with others.
struct RemovedRow: Sendable {
    /// The scope that its removal touches.
    var scope: String
    /// The row's document for the audit.
    var document: String
}

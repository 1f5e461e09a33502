import FoundationEssentials
import GatewayCore
import LibPQ

extension LoadedRow: RowReadable {
    /// Reads a row of ``PolicyStatements/load``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        position = PolicyPosition(sequence: try row.next(), tag: try row.next())
        principal = row.nextPart(PrincipalRows.columnCount) { row throws(PostgresError) in try PrincipalRows(&row) }
        bucket = row.nextJoinedPart(BucketTable.columns.count) { row throws(PostgresError) in try Bucket(&row) }
        credential = row.nextJoinedPart(StorageCredentialTable.columns.count) { row throws(PostgresError) in
            try SealedStorageCredential(&row)
        }
        issuer = row.nextJoinedPart(IssuerTable.columns.count + 1) { row throws(PostgresError) in
            Stored(row: try SealedIssuer(&row), revision: try row.next())
        }
        apiKey = row.nextJoinedPart(APIKeyTable.columns.count) { row throws(PostgresError) in try APIKey(&row) }
        ticket = row.nextJoinedPart(TicketTable.columns.count) { row throws(PostgresError) in
            try SealedTicket(&row)
        }
    }
}

extension PostgresRow {
    /// Reads the next columns. If they cannot be read, the columns after them still can.
    mutating func nextPart<Value>(
        _ count: Int, _ read: (inout PostgresRow) throws(PostgresError) -> Value
    ) -> Result<Value, PostgresError> {
        let end = place + count
        do throws(PostgresError) {
            return .success(try read(&self))
        } catch {
            skip(end - place)
            return .failure(error)
        }
    }

    /// Reads the next columns, which come from a joined table.
    fileprivate mutating func nextJoinedPart<Value>(
        _ count: Int, _ read: (inout PostgresRow) throws(PostgresError) -> Value
    ) -> Result<Value?, PostgresError> {
        nextPart(count) { row throws(PostgresError) in try row.nextJoined(count, read) }
    }
}

extension PrincipalRows {
    /// Number of columns: the principal, its groups, whether all its grants were loaded; then the grants and the
    /// quotas.
    fileprivate static let columnCount = 3 + GrantTable.columnsOfPrincipal.count + QuotaTable.columnsOfPrincipal.count

    /// Reads the rows of a principal. They are empty if no principal was asked for.
    fileprivate init(_ row: inout PostgresRow) throws(PostgresError) {
        guard !row.isNextNull else {
            row.skip(Self.columnCount)
            self.init()
            return
        }
        let principal = try row.nextParsed(Principal.init(_:))
        let groups = try row.nextList(Principal.init(_:))
        let isComplete: Bool = try row.next()
        let grants = try Grant.list(&row, of: principal)
        self.init(
            groups: groups, grants: grants, isComplete: isComplete, quotas: try Quota.list(&row, of: principal))
    }
}

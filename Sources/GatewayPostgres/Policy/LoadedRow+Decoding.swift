import FoundationEssentials
import GatewayCore
import LibPQ

extension LoadedRow {
    /// Reads a row of ``PolicyStatements/load``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        position = PolicyPosition(sequence: try row.next(), tag: try row.next())
        principal = try PrincipalRows(&row)
        bucket = try row.nextJoined(BucketTable.columns.count) { row throws(PostgresError) in try Bucket(&row) }
        credential = try row.nextJoined(StorageCredentialTable.columns.count) { row throws(PostgresError) in
            try SealedStorageCredential(&row)
        }
        issuer = try row.nextJoined(IssuerTable.columns.count + 1) { row throws(PostgresError) in
            Stored(row: try SealedIssuer(&row), revision: try row.next())
        }
        apiKey = try row.nextJoined(APIKeyTable.columns.count) { row throws(PostgresError) in try APIKey(&row) }
        ticket = try row.nextJoined(TicketTable.columns.count) { row throws(PostgresError) in
            try SealedTicket(&row)
        }
    }
}

extension PrincipalRows {
    /// Number of columns: the principal, its groups, whether all its grants were loaded; then the grants and the
    /// quotas.
    private static let columnCount = 3 + GrantTable.columnsOfPrincipal.count + QuotaTable.columnsOfPrincipal.count

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

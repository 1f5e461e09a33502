import Foundation
import GatewayCore
import LibPQ

extension LoadedRow {
    /// Reads a row of ``PolicyStatements/load``.
    init(_ row: borrowing PostgresRow) throws(PostgresError) {
        position = PolicyPosition(sequence: try row.decode(0), tag: try row.decode(1))
        principal = try Self.principalRows(row)
        // NULL in a key column: nothing was asked for, or nothing found.
        bucket = try row.decode(25, as: String?.self) == nil ? nil : Bucket(row, from: 25)
        credential = try row.decode(43, as: UUID?.self) == nil ? nil : StorageCredentialRow(row, from: 43)
        issuer = try row.decode(52, as: UUID?.self) == nil ? nil : IssuerRow(row, from: 52)
        apiKey = try row.decode(68, as: UUID?.self) == nil ? nil : APIKey(row, from: 68)
        ticket = try row.decode(77, as: UUID?.self) == nil ? nil : TicketRow(row, from: 77)
    }

    private static func principalRows(_ row: borrowing PostgresRow) throws(PostgresError) -> PrincipalRows {
        guard let text = try row.decode(24, as: String?.self) else { return PrincipalRows() }
        let principal = try parsed(24) { () throws(GatewayError) in try Principal(text) }
        var groups: [Principal] = []
        for group in try row.decode(2, as: [String].self) {
            groups.append(try parsed(2) { () throws(GatewayError) in try Principal(group) })
        }
        return PrincipalRows(
            groups: groups, grants: try grants(row, of: principal), isComplete: try row.decode(3),
            quotas: try quotas(row, of: text))
    }

    private static func grants(
        _ row: borrowing PostgresRow, of principal: Principal
    ) throws(PostgresError) -> [Grant] {
        guard let ids = try row.decode(4, as: [UUID]?.self) else { return [] }
        let buckets: [String] = try row.decode(5)
        let prefixes: [String] = try row.decode(6)
        let areTemplates: [Bool] = try row.decode(7)
        let actions: [String] = try row.decode(8)
        let effects: [String] = try row.decode(9)
        let conditions: [String?] = try row.decode(10)
        let notBefore: [Date?] = try row.decode(11)
        let notAfter: [Date?] = try row.decode(12)
        let notes: [String] = try row.decode(13)
        let createdBy: [String] = try row.decode(14)
        let createdAt: [Date] = try row.decode(15)
        var grants: [Grant] = []
        grants.reserveCapacity(ids.count)
        for index in ids.indices {
            let grant = GrantRow(
                id: ids[index], principal: principal.rawValue, bucket: buckets[index], prefix: prefixes[index],
                isTemplate: areTemplates[index], actions: actions[index], effect: effects[index],
                conditions: conditions[index], notBefore: notBefore[index], notAfter: notAfter[index],
                note: notes[index], createdBy: createdBy[index], createdAt: createdAt[index])
            grants.append(try grant.grant(of: principal, column: 4))
        }
        return grants
    }

    private static func quotas(
        _ row: borrowing PostgresRow, of principal: String
    ) throws(PostgresError) -> [Quota] {
        guard let ids = try row.decode(16, as: [UUID]?.self) else { return [] }
        let buckets: [String?] = try row.decode(17)
        let actions: [String?] = try row.decode(18)
        let metrics: [String] = try row.decode(19)
        let periods: [String] = try row.decode(20)
        let sharings: [String] = try row.decode(21)
        let limits: [Int64] = try row.decode(22)
        let createdAt: [Date] = try row.decode(23)
        var quotas: [Quota] = []
        for index in ids.indices {
            let quota = QuotaRow(
                id: ids[index], principal: principal, bucket: buckets[index], action: actions[index],
                metric: metrics[index], period: periods[index], sharing: sharings[index], limit: limits[index],
                createdAt: createdAt[index])
            quotas.append(try quota.quota(16))
        }
        return quotas
    }
}

import Foundation
import GatewayCore
import LibPQ

// Rows hold what was checked when they were created; what does not parse was written by somebody else, and nothing is decided
// on it.

/// Reads a value out of a text of a column.
func parsed<Value>(
    _ column: Int, _ make: () throws(GatewayError) -> Value
) throws(PostgresError) -> Value {
    do throws(GatewayError) {
        return try make()
    } catch {
        throw .decoding(column: column, reason: "malformed \(Value.self)")
    }
}

extension PostgresRow {
    /// Reads a column that holds one of a fixed set of words.
    func word<Word: RawRepresentable>(_ column: Int) throws(PostgresError) -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: try decode(column)) else {
            throw .decoding(column: column, reason: "malformed \(Word.self)")
        }
        return word
    }

    /// Reads a column that holds a principal.
    func principal(_ column: Int) throws(PostgresError) -> Principal {
        let text: String = try decode(column)
        return try parsed(column) { () throws(GatewayError) in try Principal(text) }
    }
}

extension Bucket {
    /// What ``init(_:from:)`` reads, of a row `b`.
    static let columns = """
        b.name, b.provider, b.endpoint, b.region, b.addressing, b.scheme, b.credential_id, b.default_ttl, b.max_ttl,
        b.allows_unenforced_size, b.allows_redirects, b.external_deletions, b.allowed_origins, b.created_at,
        b.max_session_ttl, b.honours_unsigned_headers, b.callback, b.callback_var
        """

    /// Reads a row, the columns of which begin at a place.
    init(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        let name: String = try row.decode(first)
        self.init(
            name: try parsed(first) { () throws(GatewayError) in try BucketName(name) },
            provider: try row.word(first + 1), endpoint: try row.decode(first + 2), region: try row.decode(first + 3),
            addressing: try row.word(first + 4), scheme: try row.word(first + 5),
            credentialID: try row.decode(first + 6), defaultTTL: Int(try row.decode(first + 7, as: Int32.self)),
            maxTTL: Int(try row.decode(first + 8, as: Int32.self)), allowsUnenforcedSize: try row.decode(first + 9),
            allowsRedirects: try row.decode(first + 10), externalDeletions: try row.decode(first + 11),
            honoursUnsignedHeaders: try row.decode(first + 15), callback: try row.decode(first + 16),
            callbackVar: try row.decode(first + 17), allowedOrigins: try row.decode(first + 12),
            maxSessionTTL: Int(try row.decode(first + 14, as: Int32.self)), createdAt: try row.decode(first + 13))
    }
}

extension APIKey {
    /// What ``init(_:from:)`` reads, of a row `k`.
    static let columns = """
        k.id, k.prefix, k.hash, k.name, k.principal, k.groups, k.roles, k.expires_at, k.created_at
        """

    /// The same columns of a row `r` as the table has them.
    static let stored = """
        r.id, r.prefix, r.hash, r.name, r.principal, r.groups, r.roles, r.expires_at, r.created_at
        """

    /// Reads a row, the columns of which begin at a place.
    init(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        var groups: [Principal] = []
        for group in try row.decode(first + 5, as: [String].self) {
            groups.append(try parsed(first + 5) { () throws(GatewayError) in try Principal(group) })
        }
        self.init(
            id: try row.decode(first), prefix: try row.decode(first + 1), hash: try row.decode(first + 2),
            name: try row.decode(first + 3), principal: try row.principal(first + 4), groups: groups,
            roles: try Role.set(row, first + 6), expiresAt: try row.decode(first + 7),
            createdAt: try row.decode(first + 8))
    }
}

extension Role {
    /// Reads a column that lists roles.
    static func set(_ row: borrowing PostgresRow, _ column: Int) throws(PostgresError) -> Set<Role> {
        var roles: Set<Role> = []
        for text in try row.decode(column, as: [String].self) {
            guard let role = Role(rawValue: text) else { throw .decoding(column: column, reason: "malformed role") }
            roles.insert(role)
        }
        return roles
    }
}

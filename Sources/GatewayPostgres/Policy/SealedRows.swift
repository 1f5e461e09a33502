import Foundation
import GatewayCore
import LibPQ

/// A credential of a store as it is kept.
struct StorageCredentialRow: Sendable {
    /// What ``init(_:from:)`` reads, of a row `c`.
    static let columns = """
        c.id, c.name, c.access_key_id, c.sealed, c.key_id, c.expires_at, c.created_at, c.kind, c.session_role::text
        """

    /// The sealed half, as JSON.
    private struct Secrets: Codable {
        var secretAccessKey: String
        var sessionToken: String?
    }

    let id: UUID
    private let name: String
    private let accessKeyID: String
    private let sealed: SealedBytes
    private let expiresAt: Date?
    private let createdAt: Date
    private let kind: StorageCredential.Kind
    private let sessionRole: SessionRole?

    /// Reads a row, the columns of which begin at a place.
    init(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        id = try row.decode(first)
        name = try row.decode(first + 1)
        accessKeyID = try row.decode(first + 2)
        sealed = SealedBytes(bytes: try row.decode(first + 3), keyID: try row.decode(first + 4))
        expiresAt = try row.decode(first + 5)
        createdAt = try row.decode(first + 6)
        kind = try row.word(first + 7)
        sessionRole = try Self.sessionRole(row.decode(first + 8), column: first + 8)
    }

    private static func sessionRole(_ json: String?, column: Int) throws(PostgresError) -> SessionRole? {
        guard let json else { return nil }
        guard let role = try? JSONDecoder().decode(SessionRole.self, from: Data(json.utf8)) else {
            throw .decoding(column: column, reason: "malformed role")
        }
        return role
    }

    /// Seals the secret half of a credential.
    static func seal(_ credential: StorageCredential, with keys: MasterKeyRing) throws -> SealedBytes {
        let secrets = Secrets(
            secretAccessKey: credential.secretAccessKey.reveal(), sessionToken: credential.sessionToken?.reveal())
        return try keys.seal(Array(JSONEncoder().encode(secrets)), in: .storageCredential(credential.id))
    }

    /// Opens the secret half.
    func opened(with keys: MasterKeyRing) throws(MasterKeyError) -> StorageCredential {
        let bytes = try keys.open(sealed, in: .storageCredential(id))
        guard let secrets = try? JSONDecoder().decode(Secrets.self, from: Data(bytes)) else {
            throw .doesNotOpen(keyID: sealed.keyID)
        }
        return StorageCredential(
            id: id, name: name, secretKind: kind, accessKeyID: accessKeyID,
            secretAccessKey: Secret(secrets.secretAccessKey),
            sessionToken: secrets.sessionToken.map { Secret($0) }, expiresAt: expiresAt, sessionRole: sessionRole,
            createdAt: createdAt)
    }
}

/// An issuer as it is kept.
struct IssuerRow: Sendable {
    /// What ``init(_:from:)`` reads, of a row `i`.
    static let columns = """
        i.id, i.issuer, i.audiences, i.algorithms, i.keys_url, i.keys_inline, i.keys_sealed, i.key_id, i.principal_prefix,
        i.group_prefix, i.subject_claim, i.groups_claim, i.usable_claims, i.roles_claim, i.may_confer_roles, i.created_at
        """

    /// The issuer; where its keys are a secret, that is still missing.
    private let issuer: Issuer
    private let sealed: SealedBytes?

    var id: UUID { issuer.id }

    /// Reads a row, the columns of which begin at a place.
    init(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        let url: String? = try row.decode(first + 4)
        let inline: String? = try row.decode(first + 5)
        let bytes: [UInt8]? = try row.decode(first + 6)
        let keyID: String? = try row.decode(first + 7)
        sealed = bytes.map { SealedBytes(bytes: $0, keyID: keyID ?? "") }
        issuer = Issuer(
            id: try row.decode(first), issuer: try row.decode(first + 1), audiences: try row.decode(first + 2),
            algorithms: try row.decode(first + 3),
            keys: url.map { .url($0) } ?? inline.map { .inline($0) } ?? .secret(Secret("")),
            principalPrefix: try row.decode(first + 8), groupPrefix: try row.decode(first + 9),
            subjectClaim: try row.decode(first + 10), groupsClaim: try row.decode(first + 11),
            usableClaims: try row.decode(first + 12), rolesClaim: try row.decode(first + 13),
            mayConferRoles: try Role.set(row, first + 14), createdAt: try row.decode(first + 15))
    }

    /// Opens the secret, if there is one.
    func opened(with keys: MasterKeyRing) throws(MasterKeyError) -> Issuer {
        guard let sealed else { return issuer }
        let bytes = try keys.open(sealed, in: .issuer(issuer.id))
        var issuer = issuer
        issuer.keys = .secret(Secret(String(decoding: bytes, as: UTF8.self)))
        return issuer
    }
}

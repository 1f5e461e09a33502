import FoundationEssentials
import LibPQ

/// Sealed bytes with the identifier of the key that opens them.
struct SealedBytes: Sendable {
    /// The bytes that ``MasterKeyRing`` made.
    var bytes: [UInt8]
    /// Identifier of the key.
    var keyID: String
}

extension SealedBytes {
    /// Reads two columns, the bytes and the identifier of their key. Returns `nil` if there are no bytes.
    init?(_ row: inout PostgresRow) throws(PostgresError) {
        let bytes: [UInt8]? = try row.next()
        let keyID: String? = try row.next()
        guard let bytes else { return nil }
        self.init(bytes: bytes, keyID: keyID ?? "")
    }
}

/// The row that sealed bytes belong to.
struct SealedPlace: Sendable {
    /// Name of the table.
    var table: String
    /// Primary key.
    var row: UUID

    /// A storage credential.
    static func storageCredential(_ id: UUID) -> SealedPlace { SealedPlace(table: "storage_credentials", row: id) }

    /// The secret of an issuer.
    static func issuer(_ id: UUID) -> SealedPlace { SealedPlace(table: "issuers", row: id) }

    /// The key that encrypts a ticket's answers.
    static func ticket(_ id: UUID) -> SealedPlace { SealedPlace(table: "tickets", row: id) }

    /// The answer to a request with an idempotency key.
    static func idempotencyKey(_ id: UUID) -> SealedPlace { SealedPlace(table: "idempotency_keys", row: id) }

    /// Returns the bytes that are authenticated with the secret: table, row and key identifier. NUL separates them,
    /// since none of them contains it.
    func associatedData(keyID: String) -> [UInt8] {
        Array([table, row.uuidString.lowercased(), keyID].joined(separator: "\0").utf8)
    }
}

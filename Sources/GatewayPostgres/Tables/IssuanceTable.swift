import FoundationEssentials
import GatewayCore
import LibPQ

/// The columns of the table `issuances` that are read here. The recording functions write it.
enum IssuanceTable {
    /// Columns of a row `i`, in the order in which ``RecordedIssuance/init(_:)`` reads them.
    static let columns = """
        i.content_md5, i.id, i.issued_at, i.expires_at, i.delivery, i.principal, i.matched_principal, i.grant_id,
        i.credential_id, string_to_array(i.action, ','), i.method, i.bucket, i.object_key, i.content_type,
        i.content_length, i.request_id, i.policy_seq, i.quota_ids, i.quota_amounts
        """

    /// The same columns of a row `i` as the table stores them, and those that conditions name besides.
    static let stored = columns.replacing("string_to_array(i.action, ',')", with: "i.action")
}

extension RecordedIssuance: RowReadable {
    /// Reads the columns of ``IssuanceTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        let digests = ContentDigests(try row.next())
        self.init(
            id: try row.next(), issuedAt: try row.next(), expiresAt: try row.next(), delivery: try row.next(),
            principal: try row.next(), matchedPrincipal: try row.next(), grantID: try row.next(),
            credentialID: try row.next(), actions: try row.next(), method: try row.next(), bucket: try row.next(),
            key: try row.next(), contentType: try row.next(), contentMD5: digests.md5, contentSHA256: digests.sha256,
            contentLength: try row.next(), requestID: try row.next(), policySequence: try row.next(),
            charges: try Charge.list(&row))
    }
}

extension RecordedIssuance.Charge {
    /// Reads two columns: the quotas, and the amount charged to each.
    fileprivate static func list(_ row: inout PostgresRow) throws(PostgresError) -> [Self] {
        let quotas = try row.next(as: [UUID]?.self) ?? []
        let amounts = try row.next(as: [Int64]?.self) ?? []
        return zip(quotas, amounts).map { Self(quotaID: $0, amount: $1) }
    }
}

import LibPQ
import PostgresTesting
import Testing

extension DeliveryGround {
    /// Number of rows of the asker and the sender.
    struct Rows: Equatable {
        /// Those that idempotency keys list.
        var ofKeys: Int
        var others: Int

        static func - (left: Rows, right: Rows) -> Rows {
            Rows(ofKeys: left.ofKeys - right.ofKeys, others: left.others - right.others)
        }
    }

    private var ours: String { "principal IN ('\(asker.user.principal)', '\(sender.user.principal)')" }

    /// The rows of the asker and the sender now.
    func rows() async throws -> Rows {
        let listed = "SELECT FROM idempotency_keys k WHERE i.id = ANY (k.issuance_ids)"
        return Rows(
            ofKeys: Int(
                try await session.number("SELECT count(*) FROM issuances i WHERE \(ours) AND EXISTS (\(listed))")),
            others: Int(
                try await session.number("SELECT count(*) FROM issuances i WHERE \(ours) AND NOT EXISTS (\(listed))")))
    }

    /// How many rows of the asker and the sender the ledger has of each delivery.
    func rowsByDelivery() async throws -> [String: Int] {
        let lines = try await session.texts(
            "SELECT delivery::text || ' ' || count(*) FROM issuances WHERE \(ours) GROUP BY delivery::text")
        return Dictionary(
            uniqueKeysWithValues: try lines.map { line in
                let words = line.split(separator: " ")
                return (String(words[0]), try #require(Int(words[1])))
            })
    }

    /// All rows by the requests that led to them: `<request id> <delivery>`.
    func rowsByRequest() async throws -> [String] {
        try await session.texts("SELECT request_id || ' ' || delivery::text FROM issuances")
    }

    /// Expects that ledger, counters, reservations, parts, uploads, deletions and keys agree with one another.
    func expectAccountAgrees(_ when: String) async throws {
        for (flaw, count) in flaws {
            let found = try await session.number(count)
            #expect(found == 0, "\(when): \(flaw)")
        }
    }

    /// What must not exist, each with a statement that counts it.
    private var flaws: [(name: String, count: String)] {
        let row = "SELECT FROM issuances i WHERE i.id ="
        return [
            ("a counter that the gateway's own account finds wrong", "SELECT count(*) FROM audit_quotas()"),
            (
                "a counter that is not the sum of the charges in the ledger",
                """
                SELECT count(*) FROM (
                    SELECT c.id, sum(c.amount) AS amount
                    FROM issuances i CROSS JOIN LATERAL unnest(i.quota_ids, i.quota_amounts) AS c (id, amount)
                    GROUP BY c.id
                ) c
                FULL JOIN (SELECT u.quota_id AS id, sum(u.used) AS used FROM quota_usage u GROUP BY u.quota_id) u
                    ON u.id = c.id
                WHERE coalesce(c.amount, 0) <> coalesce(u.used, 0)
                """
            ),
            (
                "a row of the asker that is not charged once",
                """
                SELECT count(*) FROM issuances i
                WHERE i.principal = '\(asker.user.principal)'
                    AND (
                        coalesce(cardinality(array_positions(i.quota_ids, '\(quota)'::uuid)), 0)
                            <> CASE WHEN i.delivery = 'multipart-complete' THEN 0 ELSE 1 END
                        OR 1 <> ANY (i.quota_amounts)
                    )
                """
            ),
            (
                "a row of the sender without the one reservation of its bytes",
                """
                SELECT count(*) FROM issuances i
                WHERE i.principal = '\(sender.user.principal)' AND (
                    SELECT count(*) FROM reservations r
                    WHERE r.issuance_id = i.id AND r.amount = i.quota_amounts[1] AND r.amount IN (5, 10)
                ) <> 1
                """
            ),
            (
                "a reservation without a row",
                "SELECT count(*) FROM reservations r WHERE NOT EXISTS (\(row) r.issuance_id)"
            ),
            (
                "a part without a row",
                "SELECT count(*) FROM multipart_parts p WHERE NOT EXISTS (\(row) p.issuance_id)"
            ),
            (
                "an issued part that is not reserved",
                """
                SELECT count(*) FROM issuances i
                WHERE i.delivery = 'multipart-part'
                    AND NOT EXISTS (SELECT FROM multipart_parts p WHERE p.issuance_id = i.id)
                """
            ),
            (
                "an upload without the row of its start",
                """
                SELECT count(*) FROM multipart_uploads u
                WHERE u.store_upload_id IS DISTINCT FROM 'u1' AND NOT EXISTS (\(row) u.id)
                """
            ),
            ("a deletion without a row", "SELECT count(*) FROM deletions d WHERE NOT EXISTS (\(row) d.issuance_id)"),
            (
                "an issuance of a key without a row",
                """
                SELECT count(*) FROM idempotency_keys k CROSS JOIN LATERAL unnest(k.issuance_ids) AS r (id)
                WHERE NOT EXISTS (\(row) r.id)
                """
            ),
            ("a key with two issuances", "SELECT count(*) FROM idempotency_keys WHERE cardinality(issuance_ids) > 1"),
        ]
    }
}

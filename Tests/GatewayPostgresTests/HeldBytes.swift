/// SQL that reserves bytes as recordings do.
enum HeldBytes {
    private static let columns = """
        issuance_id, quota_id, holder, period_start, amount, issued_at, policy_seq, principal, matched_principal, grant_id,
        credential_id, delivery, action, bucket, object_key, dead_at, check_at
        """

    /// Reserves bytes for rows `i` of the ledger. All arguments are SQL.
    ///
    /// - Parameter source: What follows `FROM`.
    static func ofLedger(
        _ amount: String, quota: String, holder: String = "i.principal", period: String = "i.issued_at",
        deadAt: String = "i.expires_at", from source: String
    ) -> String {
        """
        INSERT INTO reservations (\(columns))
        SELECT i.id, \(quota), \(holder), \(period), \(amount), i.issued_at, i.policy_seq, i.principal, i.matched_principal,
            i.grant_id, i.credential_id, i.delivery, i.action, i.bucket, i.object_key, \(deadAt), \(deadAt)
        FROM \(source)
        """
    }

    /// Reserves bytes for uploads that are not in the ledger, one for each row `n` of a source. All arguments are SQL.
    static func ofNobody(
        _ amount: String, quota: String = "gen_random_uuid()", period: String = "now()", deadAt: String = "now()",
        from source: String = "generate_series(1, 1) n"
    ) -> String {
        """
        INSERT INTO reservations (\(columns))
        SELECT gen_random_uuid(), \(quota), 'user:a', \(period), \(amount), now(), 1, 'user:a', 'user:a', gen_random_uuid(),
            gen_random_uuid(), 'presigned-url', 'PutObject', 'demo', 'k', \(deadAt), now()
        FROM \(source)
        """
    }
}

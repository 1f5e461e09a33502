/// The condition that a row `m` of `issuance_sums`, `caller_sums` or another table of sums may count rows of the ledger
/// that pass a filter. No sum knows keys, so prefixes do not narrow it.
enum SumCondition {
    /// Makes the condition on bucket, action, delivery and credential. All arguments are names of parameters.
    static func ofKinds(bucket: String, action: String, delivery: String, credential: String) -> String {
        """
        (\(bucket)::text IS NULL OR m.bucket = \(bucket))
            AND (\(action)::text IS NULL OR m.action = \(action)
                OR strpos(m.action, ',') > 0 AND \(action) = ANY (string_to_array(m.action, ',')))
            AND (\(delivery)::text IS NULL OR m.delivery = \(delivery))
            AND (\(credential)::uuid IS NULL OR m.credential_id = \(credential))
        """
    }

    /// Makes the condition on caller and grant. Where all scopes of a reach name principals, indexes find these: as the
    /// user who asked, or as the principal of the grant.
    static func ofCallers(principal: String, grant: String, named: String) -> String {
        """
        (\(principal)::text IS NULL OR m.principal = \(principal))
            AND (\(grant)::uuid IS NULL OR m.grant_id = \(grant))
            AND (\(named)::text[] IS NULL OR m.principal = ANY (\(named))
                OR m.matched_principal <> m.principal AND m.matched_principal = ANY (\(named)))
        """
    }
}

import GatewayCore
import LibPQ

extension PostgresTimestamp {
    /// The text for page tokens: microseconds since 1970.
    var tokenText: String { String(microsecondsSince1970) }

    /// Reads the text of a page token.
    init(token: String) throws(GatewayError) {
        self.init(microsecondsSince1970: try PageToken.microseconds(token))
    }
}

extension IssuanceFilter {
    /// The condition that a row `i` of the ledger must meet. It has the parameters `$1` to `$10`; see
    /// ``parameters(from:to:)``.
    ///
    /// PostgreSQL plans it anew for each set of values. Absent filters then drop out, and days out of range are not
    /// opened. If a prefix contains the first two segments of its keys, an index on these finds the rows.
    static let condition = """
        i.issued_at >= $1 AND i.issued_at < $2
            AND ($3::text IS NULL OR i.principal = $3) AND ($4::text IS NULL OR i.bucket = $4)
            AND ($5::text IS NULL OR starts_with(i.object_key, $5))
            AND ($5 IS NULL OR $5 NOT LIKE '%/%/%' OR leading_segments(i.object_key) = leading_segments($5))
            AND ($6::text IS NULL OR i.action = $6
                OR strpos(i.action, ',') > 0 AND $6 = ANY (string_to_array(i.action, ',')))
            AND ($7::text IS NULL OR i.delivery = $7)
            AND ($8::uuid IS NULL OR i.grant_id = $8) AND ($9::uuid IS NULL OR i.credential_id = $9)
            AND (NOT $10 OR i.expires_at > now())
        """

    /// Whether there may be few rows that pass, or none: those of one caller, grant or place.
    var mayBeRare: Bool {
        principal != nil || grantID != nil || prefix != nil
            || reach.scopes.map { $0.contains { $0.principals != nil || !$0.prefix.rawValue.isEmpty } } ?? false
    }

    /// Makes the condition that a row `i` of the ledger lies inside a reach: for the user who asked, or for the
    /// principal of the grant.
    static func isInside(_ parameter: String) -> String {
        ReachCondition.holds(
            parameter, bucket: "i.bucket", place: "i.object_key", principals: "i.principal", "i.matched_principal")
    }

    /// Returns the values for ``condition`` in a period of the ledger. Where only one place can be seen, the filter
    /// states it, so that indexes find its rows.
    func parameters(from: PostgresTimestamp, to: PostgresTimestamp) -> [any PostgresValue] {
        let only = reach.scopes.flatMap { $0.count == 1 ? $0.first : nil }
        let bucket = bucket ?? only?.bucket
        let prefix = prefix ?? only.flatMap { $0.prefix.rawValue.isEmpty ? nil : $0.prefix }
        return [
            from, to, principal?.rawValue, bucket?.rawValue, prefix?.rawValue, action?.rawValue, delivery?.rawValue,
            grantID, credentialID, isAlive,
        ]
    }
}

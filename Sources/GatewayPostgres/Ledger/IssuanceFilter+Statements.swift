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

/// The parameters of a filter in a statement, by their names in SQL.
struct FilterParameters: Sendable {
    /// Begin and end of a period of the ledger.
    let from, to: String
    let principal: String
    let bucket: String
    let prefix: String
    let action: String
    let delivery: String
    let grant: String
    let credential: String
    let isAlive: String

    /// Adds the parameters of a filter to those of a statement.
    ///
    /// Where only one place can be seen, the values state it, so that indexes find its rows.
    init<Request: Sendable>(
        in list: inout ParameterList<Request>, from: @escaping @Sendable (Request) -> PostgresTimestamp,
        to: @escaping @Sendable (Request) -> PostgresTimestamp,
        filter: @escaping @Sendable (Request) -> IssuanceFilter
    ) {
        self.from = list.add { from($0) }
        self.to = list.add { to($0) }
        principal = list.add { filter($0).principal?.rawValue }
        bucket = list.add { filter($0).narrowed.bucket?.rawValue }
        prefix = list.add { filter($0).narrowed.prefix?.rawValue }
        action = list.add { filter($0).action?.rawValue }
        delivery = list.add { filter($0).delivery?.rawValue }
        grant = list.add { filter($0).grantID }
        credential = list.add { filter($0).credentialID }
        isAlive = list.add { filter($0).isAlive }
    }

    /// The condition that a row `i` of the ledger must meet.
    ///
    /// PostgreSQL plans it anew for each set of values. Absent filters then drop out, and days out of range are not
    /// opened. If a prefix contains the first two segments of its keys, an index on these finds the rows.
    var condition: String { "\(conditionWithoutEnd) AND (NOT \(isAlive) OR i.expires_at > now())" }

    /// The same condition, for a row that does not tell when the credential ends.
    var conditionWithoutEnd: String {
        """
        i.issued_at >= \(from) AND i.issued_at < \(to)
            AND (\(principal)::text IS NULL OR i.principal = \(principal))
            AND (\(bucket)::text IS NULL OR i.bucket = \(bucket))
            AND (\(prefix)::text IS NULL OR starts_with(i.object_key, \(prefix)))
            AND (\(prefix) IS NULL OR \(prefix) NOT LIKE '%/%/%'
                OR leading_segments(i.object_key) = leading_segments(\(prefix)))
            AND (\(action)::text IS NULL OR i.action = \(action)
                OR strpos(i.action, ',') > 0 AND \(action) = ANY (string_to_array(i.action, ',')))
            AND (\(delivery)::text IS NULL OR i.delivery = \(delivery))
            AND (\(grant)::uuid IS NULL OR i.grant_id = \(grant))
            AND (\(credential)::uuid IS NULL OR i.credential_id = \(credential))
        """
    }
}

extension IssuanceFilter {
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

    /// The filter that also states the place that can be seen, if there is only one.
    fileprivate var narrowed: IssuanceFilter {
        guard let scopes = reach.scopes, scopes.count == 1 else { return self }
        var filter = self
        filter.bucket = bucket ?? scopes[0].bucket
        filter.prefix = prefix ?? (scopes[0].prefix.rawValue.isEmpty ? nil : scopes[0].prefix)
        return filter
    }
}

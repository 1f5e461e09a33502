import FoundationEssentials
import GatewayCore

/// The condition that a row lies inside what a delegated admin reaches. It says the same as
/// ``AdminReach/holds(bucket:place:principals:)``, and every statement that narrows by a reach is made with it.
enum ReachCondition {
    /// Makes the condition.
    ///
    /// - Parameters:
    ///   - parameter: A parameter with the value ``AdminReach/parameter``. If it is NULL, every row is inside.
    ///   - bucket: An SQL expression, like the others.
    ///   - place: A key or the prefix of a grant.
    ///   - principals: The principals that the row concerns; one of them must be inside.
    static func holds(_ parameter: String, bucket: String, place: String, principals: String...) -> String {
        holds(parameter, bucket: bucket, places: [place], principals: principals)
    }

    /// Makes the condition for several keys or prefixes, which must all lie inside the same scope.
    static func holds(_ parameter: String, bucket: String, places: [String], principals: [String]) -> String {
        """
        (\(parameter)::text IS NULL OR EXISTS (
            SELECT FROM \(scopes(parameter))
            WHERE s.bucket = \(bucket) AND \(places.map { "starts_with(\($0), s.prefix)" }.joined(separator: " AND "))
                AND (s.principal IS NULL OR \(principals.map(isNamed).joined(separator: " OR ")))
        ))
        """
    }

    /// The condition that a scope `s` names a principal.
    static func isNamed(_ principal: String) -> String {
        """
        \(principal) = s.principal
                    OR right(s.principal, 1) = '*' AND starts_with(\(principal), left(s.principal, -1))
        """
    }

    /// The scopes of a reach as rows `s`, one for each principal that a scope names. PostgreSQL reads the parameter
    /// once for a whole statement.
    static func scopes(_ parameter: String) -> String {
        "jsonb_to_recordset(\(parameter)::text::jsonb) AS s (bucket text, prefix text, principal text)"
    }
}

extension AdminReach {
    /// A row of ``ReachCondition/scopes(_:)``.
    private struct Row: Encodable {
        var bucket: String
        var prefix: String
        /// A pattern; `nil` for all principals.
        var principal: String?
    }

    /// The principals to whom all scopes are limited, for indexes; `nil` if a scope names none, or names beginnings.
    var onlyPrincipals: [String]? {
        guard let scopes else { return nil }
        var names: [String] = []
        for scope in scopes {
            guard let patterns = scope.principals?.map(\.rawValue),
                patterns.allSatisfy({ $0.utf8.last != UInt8(ascii: "*") })
            else { return nil }
            names += patterns
        }
        return names
    }

    /// The users who must have asked for all that lies inside, for indexes of the ledger; `nil` if others may have, as
    /// members of a group that a scope names.
    var onlyUsers: [String]? {
        onlyPrincipals.flatMap { names in names.allSatisfy { $0.utf8.starts(with: "user:".utf8) } ? names : nil }
    }

    /// The scopes for statements, as JSON; `nil` if the reach is unlimited.
    var parameter: String? {
        guard let scopes else { return nil }
        let rows = scopes.flatMap { scope in
            let principals = scope.principals.map { $0.map { Optional($0.rawValue) } } ?? [nil]
            return principals.map {
                Row(bucket: scope.bucket.rawValue, prefix: scope.prefix.rawValue, principal: $0)
            }
        }
        return jsonText(rows)
    }
}

/// Encodes an array for a column or a parameter. What cannot be encoded becomes the empty array, never NULL: NULL
/// stands for "no limits".
func jsonText(_ values: [some Encodable]) -> String {
    (try? JSONEncoder().encode(values)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
}

import GatewayCore
import LibPQ
import StrictJSON

/// A line of the log of policy changes.
struct PolicyChange: Sendable {
    var scopes: [String]
    var actor: String
    var requestID: String
    /// What the change's credential rests on, which the commit proves.
    var proof: CredentialProof?
    /// Number of times that the commit asks for the lock of the log, for two seconds each.
    var attempts: Int32 = 1
}

/// The statement that writes the table `policy_log`.
enum PolicyLogTable {
    /// Ends a change. Execute it last: the commit takes the lock and writes the line.
    static let append = Statement<PolicyChange, Void>(
        "SELECT append_policy_log($1, $2, $3, $4), \(settingProof("$5"))"
    ) {
        [$0.scopes, $0.actor, $0.requestID, $0.attempts, $0.proof?.json]
    }

    /// Proves at once what a change's credential rests on, for a change that is not in the log.
    static let prove = Statement<CredentialProof, Void>("SELECT prove_actor($1::text::jsonb)") { [$0.json] }

    /// SQL of a row `p` whose column `is_proved` proves a ``CredentialProof``, for statements that depend on it.
    static func proof(_ parameter: String) -> String {
        "(SELECT prove_actor(\(parameter)::text::jsonb) AS is_proved OFFSET 0) p"
    }

    /// SQL that hands a ``CredentialProof`` to the commit.
    static func settingProof(_ parameter: String) -> String {
        "set_config('sluice.proof', coalesce(\(parameter), ''), true)"
    }
}

extension CredentialProof {
    /// The value as `prove_actor` takes it. Make it when the statement is written, as ``PolicyPosition/toProve`` asks.
    var json: String {
        let position = self.position.toProve
        var json = JSONWriter()
        json.object { json in
            json.member("seq", position.sequence)
            json.member("tag", position.tag.lowercaseText)
            json.member("scopes", scopes.map(\.rawValue))
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension PostgresPool {
    /// Runs the transaction of a change, and ties it to the claim of the request's idempotency key, if it has one.
    ///
    /// A refusal that tells what rows are there is thrown once they are safe on the standby.
    /// - Throws: `idempotency`; what `body` throws; `PostgresError`.
    func withChange<Result: Sendable>(
        _ change: ChangeContext, _ body: @Sendable (borrowing PostgresTransaction) throws -> Result
    ) async throws -> Result {
        do {
            return try await withTransaction { transaction in
                try transaction.mark(change)
                return try body(transaction)
            }
        } catch let error where tellsOfRows(error) {
            try await perform(AdminStatements.writeNothing, ())
            throw error
        }
    }
}

extension PostgresTransaction {
    /// Proves what a change's credential rests on, where the commit does not: the change is not in the log. Call it
    /// last.
    func prove(_ change: ChangeContext) throws(PostgresError) {
        if let proof = change.proof { try perform(PolicyLogTable.prove, proof) }
    }
}

import GatewayCore
import LibPQ
import Logging

/// Lists and removes all that a user has in PostgreSQL.
struct PostgresOffboarding: OffboardingStore {
    /// Time for the removal. A user may have more rows than other changes touch, so it may take as long as a connection
    /// waits for an answer.
    private static let statementTimeout = "30s"

    private let pool: PostgresPool
    private let logger: Logger

    /// Creates a store on connections logged in as the gateway, with ``PostgresAdminStores/sessionSettings``.
    init(pool: PostgresPool, logger: Logger) {
        self.pool = pool
        self.logger = logger
    }

    /// Lists the rows that give a user something.
    func rows(of user: Principal) async throws(GatewayError) -> OffboardingRows {
        let found: [FoundRow]
        do throws(PostgresError) {
            found = try await pool.execute(Self.list, user)
        } catch {
            throw refusal(error, requestID: nil)
        }
        return OffboardingRows(
            counts: Dictionary(found.map { ($0.row.kind, $0.count) }) { first, _ in first },
            rows: found.map(\.row), tag: found.first?.tag ?? "none")
    }

    /// Removes these rows as one change.
    func remove(
        allOf user: Principal, seenAs tag: String, by change: ChangeContext
    ) async throws(GatewayError) -> Int64 {
        do {
            try await pool.perform(TicketTable.noteRevocation, (user, change))
            return try await pool.withChange(change) { transaction in
                try transaction.runScript("SET LOCAL statement_timeout = '\(Self.statementTimeout)'")
                // If the rows differ, the whole transaction is undone: it has marked the request's claim as having
                // changed something.
                guard let count = try transaction.execute(Self.offboard, (user, tag, change)).first ?? nil else {
                    throw GatewayError.preconditionFailed
                }
                // Only a change of policy is proved by the commit.
                if count == 0 { try transaction.prove(change) }
                return count
            }
        } catch let error as PostgresError where error.sqlState == "40001" {
            // Somebody else added or changed a row meanwhile.
            throw .preconditionFailed
        } catch {
            throw refusal(error, requestID: change.requestID)
        }
    }

    private func refusal(_ error: any Error, requestID: String?) -> GatewayError {
        logger.refusal(
            ofChange: error, "a user cannot be offboarded", in: pool.outage,
            metadata: ["request.id": "\(requestID ?? "")"])
    }
}

extension PostgresOffboarding {
    /// A row, and what is known of all rows.
    struct FoundRow: Sendable {
        var row: OffboardingRow
        /// Number of rows of this kind.
        var count: Int64
        var tag: String
    }

    static let list = Statement<Principal, FoundRow>(
        """
        WITH found AS MATERIALIZED (
            SELECT r.kind, r.id, r.mark, r.document FROM offboarding_rows($1) r
        )
        SELECT n.kind, n.id, n.document::text, n.count, (SELECT offboarding_tag(array_agg(f.mark)) FROM found f)
        FROM (
            SELECT f.kind, f.id, f.document, count(*) OVER (PARTITION BY f.kind) AS count,
                row_number() OVER (PARTITION BY f.kind ORDER BY f.id COLLATE "C") AS number
            FROM found f
        ) n
        WHERE n.number <= \(OffboardingRows.maxOfKind)
        ORDER BY n.kind, n.number
        """, onlyReads: true
    ) {
        [$0.rawValue]
    } decode: { row throws(PostgresError) in
        FoundRow(
            row: OffboardingRow(kind: try row.nextWord(), id: try row.next(), document: try row.next()),
            count: try row.next(), tag: try row.next())
    }

    static let offboard = Statement<(user: Principal, tag: String, change: ChangeContext), Int64?>(
        """
        SELECT CASE WHEN \(PolicyLogTable.settingProof("$6")) IS NOT NULL
            THEN offboard_principal($1, $2, $3, $4, $5) END
        """
    ) {
        [
            $0.user.rawValue, $0.tag, $0.change.actor.rawValue, $0.change.requestID,
            $0.change.credential?.rawValue, $0.change.proof?.json,
        ]
    }
}

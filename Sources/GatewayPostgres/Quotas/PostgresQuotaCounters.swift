import FoundationEssentials
import GatewayCore
import LibPQ
import Logging

/// Reads and resets the counters of quotas in PostgreSQL, for admins.
struct PostgresQuotaCounters: QuotaCounterStore {
    private static let maxAttempts = 5
    /// Time for a reset. A quota may have reserved bytes for a million uploads, so it may take as long as a connection
    /// waits for an answer. The deletion of reservations holds up nobody. Then the policy lock, shared, and the
    /// counters are held until the commit: for 40 ms after 300,000 reservations, and longer the more there were. So
    /// long wait recordings on these counters, and changes of policy.
    private static let statementTimeout = "30s"

    private let pool: PostgresPool
    private let logger: Logger
    private let now: @Sendable () -> Date

    init(pool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.pool = pool
        self.logger = logger
        self.now = now
    }

    /// Sums up the use of quotas. Quotas that do not exist are left out.
    func summaries(of quotas: [UUID]) async throws(GatewayError) -> [UUID: QuotaUseSummary] {
        let rows = try await execute(Self.readSummaries, quotas)
        return Dictionary(rows.map { ($0.id, $0.summary) }) { first, _ in first }
    }

    /// Reads holders, highest use first.
    func uses(
        of quota: UUID, holder: String?, after place: QuotaUse.Place?, limit: Int
    ) async throws(GatewayError) -> [QuotaUse] {
        try await execute(
            Self.readUses, QuotaUseQuestion(quota: quota, holder: holder, after: place, limit: Int64(limit)))
    }

    /// Sets the current period's counters to zero, for one holder or for all.
    func reset(
        _ quota: UUID, of holders: QuotaHolders, by change: ChangeContext
    ) async throws(GatewayError) -> QuotaReset {
        let entry = try UUID.new(at: now())
        let call = QuotaResetCall(entry: entry, quota: quota, holder: holders.single, change: change)
        for _ in 0..<Self.maxAttempts {
            guard let outcome = try await attempt(call) else { continue }
            guard outcome.isClaimed else { throw .idempotency(.inFlight(retryAfter: 1)) }
            guard let reset = outcome.reset else {
                _ = try await execute(AdminStatements.writeNothing, (), for: change.requestID)
                throw .notFound(.quota)
            }
            return reset
        }
        throw .slowDown(
            retryAfter: 1, cause: "each attempt to reset the quota met a settlement or the end of a period")
    }

    /// Tries to reset once. Returns `nil` if a settlement locks the quota's reservations at this moment, or if the
    /// period ends meanwhile.
    private func attempt(_ call: QuotaResetCall) async throws(GatewayError) -> QuotaResetCall.Outcome? {
        do {
            return try await pool.withTransaction { transaction in
                try transaction.runScript("SET LOCAL statement_timeout = '\(Self.statementTimeout)'")
                guard let outcome = try transaction.execute(Self.resetUsage, call).first else {
                    throw PostgresError.decoding(column: 0, reason: "no answer")
                }
                return outcome
            }
        } catch let error as PostgresError where error.sqlState == "40001" {
            return nil
        } catch let error as PostgresError {
            throw refusal(error, call.change.requestID)
        } catch {
            throw .unexpected(error)
        }
    }

    private func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters, for requestID: String = ""
    ) async throws(GatewayError) -> [Row] {
        do throws(PostgresError) {
            return try await pool.execute(statement, parameters)
        } catch {
            throw refusal(error, requestID)
        }
    }

    private func refusal(_ error: PostgresError, _ requestID: String) -> GatewayError {
        logger.refusal(
            of: error, "counters cannot be read or reset", in: pool.outage, metadata: ["request.id": "\(requestID)"])
    }
}

/// The counters to read.
struct QuotaUseQuestion: Sendable {
    var quota: UUID
    var holder: String?
    var after: QuotaUse.Place?
    var limit: Int64
}

/// A reset and the admin who asked for it.
struct QuotaResetCall: Sendable {
    /// Identifier of the audit line.
    var entry: UUID
    var quota: UUID
    var holder: Principal?
    var change: ChangeContext

    /// The result of the call.
    struct Outcome: Sendable {
        /// Whether the request still held its claim of the idempotency key. It is true for a request without a key.
        var isClaimed: Bool
        /// The result of the reset; `nil` if the quota does not exist.
        var reset: QuotaReset?
    }
}

extension PostgresQuotaCounters {
    static let readSummaries = Statement<[UUID], (id: UUID, summary: QuotaUseSummary)>(
        """
        SELECT q.id, nullif(p.starts_at, quota_period_start('total', now())), quota_period_end(q.period, p.starts_at),
            coalesce(u.used, 0), coalesce(u.highest, 0), u.holders
        FROM quotas q
        CROSS JOIN LATERAL (SELECT quota_period_start(q.period, statement_timestamp()) AS starts_at) p
        CROSS JOIN LATERAL (
            SELECT sum(c.used)::bigint AS used, max(c.used) AS highest, count(*) AS holders
            FROM quota_usage c
            WHERE c.quota_id = q.id AND c.period_start = p.starts_at AND c.used > 0
        ) u
        WHERE q.id = ANY ($1)
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        let id: UUID = try row.next()
        let summary = QuotaUseSummary(
            periodStart: try row.next(), resetsAt: try row.next(), used: try row.next(), highest: try row.next(),
            holders: try row.next())
        return (id, summary)
    }

    static let readUses = Statement<QuotaUseQuestion, QuotaUse>(
        """
        WITH reserved AS MATERIALIZED (
            SELECT r.holder, sum(r.amount)::bigint AS bytes
            FROM quotas q
            JOIN reservations r
                ON r.quota_id = q.id AND r.period_start = quota_period_start(q.period, statement_timestamp())
            WHERE q.id = $1 AND q.metric = 'bytes' AND ($2::text IS NULL OR r.holder = $2)
            GROUP BY r.holder
        )
        SELECT c.holder, c.used, least(c.used, coalesce(r.bytes, 0))
        FROM quotas q
        JOIN quota_usage c ON c.quota_id = q.id AND c.period_start = quota_period_start(q.period, statement_timestamp())
        LEFT JOIN reserved r ON r.holder = c.holder
        WHERE q.id = $1 AND c.used > 0 AND ($2::text IS NULL OR c.holder = $2)
            AND ($3::bigint IS NULL OR c.used < $3 OR (c.used = $3 AND c.holder > $4))
        ORDER BY c.used DESC, c.holder
        LIMIT $5
        """, onlyReads: true
    ) {
        [$0.quota, $0.holder, $0.after?.used, $0.after?.holder, $0.limit]
    } decode: { row throws(PostgresError) in
        QuotaUse(holder: try row.nextParsed(Principal.init(_:)), used: try row.next(), reserved: try row.next())
    }

    static let resetUsage = Statement<QuotaResetCall, QuotaResetCall.Outcome>(
        """
        SELECT r.is_claimed, r.holders, r.released
        FROM reset_quota($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb) r
        """
    ) {
        [
            $0.quota, $0.holder?.rawValue, $0.entry, $0.change.actor.rawValue, $0.change.requestID, $0.change.claim?.id,
            $0.change.claim?.attempt, $0.change.credential?.rawValue, $0.change.proof?.json,
        ]
    } decode: { row throws(PostgresError) in
        var outcome = QuotaResetCall.Outcome(isClaimed: try row.next())
        if let holders = try row.next(as: Int64?.self), let released = try row.next(as: Int64?.self) {
            outcome.reset = QuotaReset(holders: holders, released: released)
        }
        return outcome
    }
}

extension QuotaHolders {
    /// The one holder; `nil` for all.
    fileprivate var single: Principal? { if case .one(let holder) = self { holder } else { nil } }
}

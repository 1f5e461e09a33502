import FoundationEssentials
import GatewayCore
import LibPQ

/// A day of the ledger, or a part of it.
struct LedgerDay: Sendable {
    /// Begin of what is read, inclusive.
    var from: PostgresTimestamp
    /// End of what is read, exclusive.
    var to: PostgresTimestamp
    /// The end of the day, or of the period if that ends earlier. It tells days apart in page tokens.
    var end: PostgresTimestamp

    /// Whether sums tell that all rows to be read are of this hour or less, so that they are found by their times.
    var isShort = false
    /// Whether sums of callers or grants tell that few rows are to be read, so that an index finds them soonest.
    var hasFew = false
    /// Whether the period ends with it.
    var endsPeriod = false
}

/// Parameters of a list of days.
struct LedgerDaysRequest: Sendable {
    var filter: IssuanceFilter
    var from: PostgresTimestamp
    var to: PostgresTimestamp

    /// The statement that lists the days: the sums tell where callers, grants and kinds of issuances have rows.
    fileprivate var statement: Statement<LedgerDaysRequest, LedgerDay> {
        if filter.principal != nil || filter.grantID != nil || filter.reach.onlyPrincipals != nil {
            return LedgerPool.daysOfCallers
        }
        if filter.bucket != nil || filter.action != nil || filter.delivery != nil || filter.credentialID != nil {
            return LedgerPool.daysOfKinds
        }
        return LedgerPool.days
    }
}

extension LedgerPool {
    /// Lists the days of a period that may have rows that pass a filter, the newest first.
    ///
    /// Of days that are over and summed up, what lies before the first and after the last such row is left out, to the
    /// hour or minute; days without such rows are left out. Other days are whole.
    func days(_ request: LedgerDaysRequest, deadline: ContinuousClock.Instant) async throws(GatewayError) -> [LedgerDay]
    {
        try await execute(request.statement, request, deadline: deadline)
    }

    /// The parameters of a list of days: the period, and what is compared with sums.
    private struct DaysParameters: Sendable {
        private(set) var list: ParameterList<LedgerDaysRequest>
        let from: String
        let to: String

        init() {
            var list = ParameterList<LedgerDaysRequest>()
            from = list.add { $0.from }
            to = list.add { $0.to }
            self.list = list
        }

        /// Adds the parameters of the condition on sums without callers.
        mutating func ofKinds() -> String {
            SumCondition.ofKinds(
                bucket: list.add { $0.filter.bucket?.rawValue }, action: list.add { $0.filter.action?.rawValue },
                delivery: list.add { $0.filter.delivery?.rawValue }, credential: list.add { $0.filter.credentialID })
        }

        /// Adds the parameters of the condition on sums with callers.
        mutating func ofCallers() -> String {
            let kinds = ofKinds()
            let callers = SumCondition.ofCallers(
                principal: list.add { $0.filter.principal?.rawValue }, grant: list.add { $0.filter.grantID },
                named: list.add { $0.filter.reach.onlyPrincipals })
            return "\(kinds)\nAND \(callers)"
        }

        /// Adds the parameter that says whether only sums of what has not expired are wanted.
        mutating func isAlive() -> String { list.add { $0.filter.isAlive } }
    }

    static let days: Statement<LedgerDaysRequest, LedgerDay> = list(
        "SELECT d.starts_at, d.ends_at, d.ends_at, false, false FROM days d WHERE d.starts_at < d.ends_at",
        DaysParameters())

    /// Looks among the sums by the hour, which know callers and grants.
    static let daysOfCallers: Statement<LedgerDaysRequest, LedgerDay> = {
        var names = DaysParameters()
        let condition = names.ofCallers()
        let isAlive = names.isAlive()
        return list(
            among: """
                SELECT date_trunc('day', m.hour, 'UTC') AS day, min(m.hour) AS first,
                    max(m.hour) + interval '1 hour' AS last, sum(m.urls)::bigint AS count
                FROM caller_sums m
                WHERE m.hour > \(names.from) - interval '1 hour' AND m.hour < \(names.to) AND \(condition)
                    AND (NOT \(isAlive) OR m.last_expires_at > now())
                GROUP BY 1
                """, isOver: "EXISTS (SELECT FROM summed_caller_days s WHERE s.starts_at = d.day)", names)
    }()

    /// Looks among the sums by the minute.
    static let daysOfKinds: Statement<LedgerDaysRequest, LedgerDay> = {
        var names = DaysParameters()
        let condition = names.ofKinds()
        return list(
            among: """
                SELECT date_trunc('day', m.minute, 'UTC') AS day, min(m.minute) AS first,
                    max(m.minute) + interval '1 minute' AS last, NULL::bigint AS count
                FROM issuance_sums m
                WHERE m.minute > \(names.from) - interval '1 minute' AND m.minute < \(names.to) AND \(condition)
                GROUP BY 1
                """,
            isOver: """
                EXISTS (SELECT FROM summed_days s WHERE s.starts_at = d.day AND s.summed_to = d.day + interval '24 hours')
                """, names)
    }()

    private static func list(
        among sums: String, isOver: String, _ names: DaysParameters
    ) -> Statement<LedgerDaysRequest, LedgerDay> {
        list(
            """
            SELECT p.starts_at, p.ends_at, p.day_ends_at,
                p.is_over AND p.ends_at - p.starts_at <= interval '1 hour', coalesce(p.is_over AND p.count <= 5000, false)
            FROM (
                SELECT d.ends_at AS day_ends_at, o.is_over, k.count,
                    CASE WHEN o.is_over THEN greatest(d.starts_at, k.first) ELSE d.starts_at END AS starts_at,
                    CASE WHEN o.is_over THEN least(d.ends_at, k.last) ELSE d.ends_at END AS ends_at
                FROM days d
                CROSS JOIN LATERAL (SELECT \(isOver) AS is_over) o
                LEFT JOIN (
                    \(sums)
                ) k ON k.day = d.day
                WHERE k.day IS NOT NULL OR NOT o.is_over
            ) p
            WHERE p.starts_at < p.ends_at
            """, names)
    }

    /// A table of the days that have a partition: when each starts, and its table.
    static let partitions =
        "(SELECT i.day::timestamp AT TIME ZONE 'UTC' AS day, i.partition FROM issuances_partitions() i)"

    private static func list(
        _ selection: String, _ names: DaysParameters
    ) -> Statement<LedgerDaysRequest, LedgerDay> {
        let parameters = names.list
        return Statement(
            """
            WITH days AS MATERIALIZED (
                SELECT p.day, greatest(p.day, \(names.from)) AS starts_at,
                    least(p.day + interval '24 hours', \(names.to)) AS ends_at
                FROM \(partitions) p
                WHERE p.day < \(names.to) AND p.day + interval '24 hours' > \(names.from)
            )
            \(selection)
            ORDER BY 1 DESC
            """, onlyReads: true
        ) {
            parameters.encode($0)
        } decode: { row throws(PostgresError) in
            LedgerDay(
                from: try row.next(), to: try row.next(), end: try row.next(), isShort: try row.next(),
                hasFew: try row.next())
        }
    }
}

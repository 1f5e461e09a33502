import FoundationEssentials
import GatewayCore
import LibPQ

/// The table `quotas`.
enum QuotaTable {
    /// The columns, in the order in which ``UnparsedQuota`` reads them. Only the limit may change. The other columns
    /// fix the meaning of the counters, and the gateway's role may not change them.
    static let columns = Columns<Quota>(
        Column("id", as: "id") { $0.id },
        Column("principal", as: "principal", isFixed: true) { $0.principal.rawValue },
        Column("bucket", as: "bucket", isFixed: true) { $0.bucket?.rawValue },
        Column("action", as: "action", isFixed: true) { $0.action?.rawValue },
        Column("metric", as: "metric", isFixed: true) { $0.metric.rawValue },
        Column("period", as: "period", isFixed: true) { $0.period.rawValue },
        Column("sharing", as: "sharing", isFixed: true) { $0.sharing.rawValue },
        Column("quota_limit", as: "limit") { $0.limit },
        Column("created_at", as: "createdAt"))

    /// The columns whose values differ between the quotas of one principal, in the order in which ``Quota/list(_:of:)``
    /// reads them.
    static let columnsOfPrincipal = columns.without("principal")

    static let insert = columns.insert(into: "quotas")

    static let update = columns.update("quotas")

    static let read: Statement<String, Stored<Quota>> = AdminStatements.read(
        "q.revision", columns.selected(of: "q"), from: "quotas q WHERE q.id = $1::text::uuid")

    static let listing = PagedList(
        of: .quota,
        filters: [
            .text("principal", is: "q.principal"), .text("bucket", is: "q.bucket"), .text("action", is: "q.action"),
            .text("metric", is: "q.metric"), .text("period", is: "q.period"),
            .number("nearLimit") {
                """
                EXISTS (
                    SELECT FROM quota_usage c
                    WHERE c.quota_id = q.id AND c.period_start = quota_period_start(q.period, statement_timestamp())
                        AND c.used > 0 AND c.used >= \($0) * q.quota_limit
                )
                """
            },
        ],
        order: [.uuid("q.id")], isDescending: true, isNarrowed: true)

    static let page: Statement<PageRequest, Quota> = AdminStatements.page(
        of: listing, columns.selected(of: "q"), from: "quotas q")

    /// Reads a page of the quotas that may be seen within a reach; see ``Quota/isVisible(within:)``.
    static let pageWithin = Statement<PageRequest, Quota>(
        """
        SELECT \(columns.selected(of: "q")) FROM quotas q
        WHERE \(listing.isListed)
            AND EXISTS (
                SELECT FROM \(ReachCondition.scopes(listing.reach))
                WHERE CASE WHEN s.principal IS NULL THEN s.prefix = '' AND q.bucket = s.bucket
                    ELSE (q.bucket IS NULL OR q.bucket = s.bucket) AND (\(ReachCondition.isNamed("q.principal"))) END
            )
        ORDER BY \(listing.sorting) LIMIT \(listing.limit)
        """, onlyReads: true
    ) {
        $0.narrowedParameters
    }

    static let lock = AdminStatements.lock(
        scope: "q.principal", revision: "q.revision", from: "quotas q WHERE q.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM quotas q WHERE q.id = $1::text::uuid") { [$0] }

    /// Finds another quota that counts the same.
    static let twin = Statement<Quota, String>(
        """
        SELECT q.id::text FROM quotas q
        WHERE q.id <> $1 AND q.principal = $2 AND q.bucket IS NOT DISTINCT FROM $3::text
            AND q.action IS NOT DISTINCT FROM $4::text AND q.metric = $5 AND q.period = $6 AND q.sharing = $7
        """, onlyReads: true
    ) {
        [
            $0.id, $0.principal.rawValue, $0.bucket?.rawValue, $0.action?.rawValue, $0.metric.rawValue,
            $0.period.rawValue, $0.sharing.rawValue,
        ]
    }

    static let document = AdminStatements.document(
        columns.document, from: "quotas r WHERE r.id = $1::text::uuid")
}

/// A quota as its row holds it.
private struct UnparsedQuota {
    var id: UUID
    var bucket: String?
    var action: String?
    var metric: String
    var period: String
    var sharing: String
    var limit: Int64
    var createdAt: Date

    /// Parses the quota.
    ///
    /// - Parameter column: The column that errors name if a member does not parse.
    func quota(of principal: Principal, column: Int) throws(PostgresError) -> Quota {
        let bucket = self.bucket.map { try? BucketName($0) }
        let action = self.action.map { Action(rawValue: $0) }
        guard bucket != .some(nil), action != .some(nil), let metric = Quota.Metric(rawValue: metric),
            let period = Quota.Period(rawValue: period), let sharing = Quota.Sharing(rawValue: sharing)
        else { throw .decoding(column: column, reason: "quota \(id.lowercaseText): malformed") }
        return Quota(
            id: id, principal: principal, bucket: bucket ?? nil, action: action ?? nil, metric: metric, period: period,
            sharing: sharing, limit: limit, createdAt: createdAt)
    }
}

extension Quota: RowReadable {
    /// Reads the columns of ``QuotaTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        let column = row.place
        let id: UUID = try row.next()
        let principal = try row.nextParsed(Principal.init(_:))
        let quota = UnparsedQuota(
            id: id, bucket: try row.next(), action: try row.next(), metric: try row.next(), period: try row.next(),
            sharing: try row.next(), limit: try row.next(), createdAt: try row.next())
        self = try quota.quota(of: principal, column: column)
    }

    /// Reads the quotas of a principal. The row holds each column of ``QuotaTable/columnsOfPrincipal`` as an array.
    static func list(_ row: inout PostgresRow, of principal: Principal) throws(PostgresError) -> [Quota] {
        let column = row.place
        guard let ids = try row.next(as: [UUID]?.self) else {
            row.skip(QuotaTable.columnsOfPrincipal.count - 1)
            return []
        }
        let buckets: [String?] = try row.next()
        let actions: [String?] = try row.next()
        let metrics: [String] = try row.next()
        let periods: [String] = try row.next()
        let sharings: [String] = try row.next()
        let limits: [Int64] = try row.next()
        let createdAt: [Date] = try row.next()
        var quotas: [Quota] = []
        quotas.reserveCapacity(ids.count)
        for index in ids.indices {
            let quota = UnparsedQuota(
                id: ids[index], bucket: buckets[index], action: actions[index], metric: metrics[index],
                period: periods[index], sharing: sharings[index], limit: limits[index], createdAt: createdAt[index])
            quotas.append(try quota.quota(of: principal, column: column))
        }
        return quotas
    }
}

extension AdminTable<Quota> {
    static var quotas: Self {
        AdminTable(
            kind: .quota, listing: QuotaTable.listing, position: { [$0.id.lowercaseText] },
            identifier: { $0.id.lowercaseText }, isIdentifier: isLowerCaseUUID,
            referenceConflict: "The bucket does not exist.",
            insert: { quota, transaction in try transaction.perform(QuotaTable.insert, quota) },
            read: QuotaTable.read, page: QuotaTable.page, lockRow: QuotaTable.lock,
            update: { change, transaction in try transaction.perform(QuotaTable.update, change.row) },
            delete: { removal, transaction in try transaction.perform(QuotaTable.delete, removal.id) },
            document: QuotaTable.document, twin: QuotaTable.twin, pageWithin: { _ in QuotaTable.pageWithin })
    }
}

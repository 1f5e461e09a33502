import Foundation
import GatewayCore
import LibPQ

/// A grant as it is kept.
struct GrantRow: Sendable {
    /// What ``init(_:from:)`` reads, of a row `g`.
    static let columns = """
        g.id, g.principal, g.bucket, g.prefix, g.is_template, array_to_string(g.actions, ','), g.effect,
        nullif(g.conditions, '{}')::text, g.not_before, g.not_after, g.note, g.created_by, g.created_at
        """

    /// The same columns of a row `r` as the table has them.
    static let stored = """
        r.id, r.principal, r.bucket, r.prefix, r.is_template, r.actions, r.effect, r.conditions, r.not_before, r.not_after,
        r.note, r.created_by, r.created_at
        """

    var id: UUID
    var principal: String
    var bucket: String
    var prefix: String
    var isTemplate: Bool
    /// Parted by commas.
    var actions: String
    var effect: String
    /// JSON; `nil` where there are none.
    var conditions: String?
    var notBefore: Date?
    var notAfter: Date?
    var note: String
    var createdBy: String
    var createdAt: Date
}

extension GrantRow {
    /// Reads a row, the columns of which begin at a place.
    init(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        self.init(
            id: try row.decode(first), principal: try row.decode(first + 1), bucket: try row.decode(first + 2),
            prefix: try row.decode(first + 3), isTemplate: try row.decode(first + 4),
            actions: try row.decode(first + 5), effect: try row.decode(first + 6),
            conditions: try row.decode(first + 7), notBefore: try row.decode(first + 8),
            notAfter: try row.decode(first + 9), note: try row.decode(first + 10),
            createdBy: try row.decode(first + 11), createdAt: try row.decode(first + 12))
    }

    /// The grant.
    ///
    /// - Parameter column: What to name where a member does not parse.
    func grant(_ column: Int) throws(PostgresError) -> Grant {
        try grant(
            of: try parsed(column) { () throws(GatewayError) in try Principal(principal) }, column: column)
    }

    /// The grant, with its principal read already.
    func grant(of principal: Principal, column: Int) throws(PostgresError) -> Grant {
        var actions: Set<Action> = []
        for name in self.actions.utf8.split(separator: UInt8(ascii: ",")) {
            guard let action = Action(rawValue: String(Substring(name))) else {
                throw .decoding(column: column, reason: "malformed action")
            }
            actions.insert(action)
        }
        guard let effect = Grant.Effect(rawValue: effect) else {
            throw .decoding(column: column, reason: "malformed effect")
        }
        let bucket = try parsed(column) { () throws(GatewayError) in try BucketName(self.bucket) }
        // Checked when it was created; here the two cases only have to be told apart.
        let prefix: KeyPrefix = isTemplate ? .template(ExactText(prefix)) : .literal(ExactText(prefix))
        return Grant(
            id: id, principal: principal, bucket: bucket, prefix: prefix, actions: actions, effect: effect,
            conditions: try readConditions(column), notBefore: notBefore, notAfter: notAfter, note: note,
            createdBy: createdBy, createdAt: createdAt)
    }

    private func readConditions(_ column: Int) throws(PostgresError) -> GrantConditions {
        guard let conditions else { return GrantConditions() }
        do {
            return try JSONDecoder().decode(GrantConditions.self, from: Data(conditions.utf8))
        } catch {
            throw .decoding(column: column, reason: "malformed conditions")
        }
    }
}

/// A quota as it is kept.
struct QuotaRow: Sendable {
    /// What ``init(_:from:)`` reads, of a row `q`.
    static let columns = """
        q.id, q.principal, q.bucket, q.action, q.metric, q.period, q.sharing, q.quota_limit, q.created_at
        """

    var id: UUID
    var principal: String
    var bucket: String?
    var action: String?
    var metric: String
    var period: String
    var sharing: String
    var limit: Int64
    var createdAt: Date
}

extension QuotaRow {
    /// Reads a row, the columns of which begin at a place.
    init(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        self.init(
            id: try row.decode(first), principal: try row.decode(first + 1), bucket: try row.decode(first + 2),
            action: try row.decode(first + 3), metric: try row.decode(first + 4), period: try row.decode(first + 5),
            sharing: try row.decode(first + 6), limit: try row.decode(first + 7),
            createdAt: try row.decode(first + 8))
    }

    /// The quota.
    ///
    /// - Parameter column: What to name where a member does not parse.
    func quota(_ column: Int) throws(PostgresError) -> Quota {
        var bucket: BucketName?
        if let name = self.bucket { bucket = try parsed(column) { () throws(GatewayError) in try BucketName(name) } }
        let action = self.action.map { Action(rawValue: $0) }
        guard action != .some(nil), let metric = Quota.Metric(rawValue: metric),
            let period = Quota.Period(rawValue: period), let sharing = Quota.Sharing(rawValue: sharing)
        else { throw .decoding(column: column, reason: "malformed quota") }
        return Quota(
            id: id, principal: try parsed(column) { () throws(GatewayError) in try Principal(principal) },
            bucket: bucket, action: action ?? nil, metric: metric, period: period, sharing: sharing, limit: limit,
            createdAt: createdAt)
    }
}

import Foundation
public import GatewayCore
import LibPQ
import Logging

/// Gateways as ``Heartbeat`` made them known.
public struct PostgresGateways: GatewayDirectory {
    private let pool: PostgresPool
    private let logger: Logger

    init(pool: PostgresPool, logger: Logger) {
        self.pool = pool
        self.logger = logger
    }

    /// Reads a page of gateways, those that started last first.
    public func gateways(_ query: ListQuery) async throws(GatewayError) -> Page<KnownGateway> {
        if let name = query.filters.keys.first {
            throw .invalidArgument(field: name, reason: "There is no such filter.")
        }
        let tokens = PageToken(of: "Gateway", filters: [:])
        var before: String?
        if let text = query.pageToken {
            let id = try tokens.values(in: text, count: 1)[0]
            guard AdminColumn.isLowerCaseUUID(id) else { throw PageToken.foreign }
            before = id
        }
        let limit = min(max(query.pageSize, 1), 1000)
        var rows: [KnownGateway]
        do throws(PostgresError) {
            // One more tells whether there is a next page.
            rows = try await pool.execute(Self.page, (before, Int64(limit) + 1))
        } catch {
            logger.report(error, "gateways cannot be read", in: pool.outage)
            throw error.asGatewayError
        }
        guard rows.count > limit else { return Page(items: rows, nextPageToken: nil) }
        rows.removeLast()
        return Page(items: rows, nextPageToken: rows.last.map { tokens.text(after: [$0.id.lowercaseText]) })
    }

    /// Identifiers begin with the time at which they were made.
    static let page = Statement<(before: String?, limit: Int64), KnownGateway>(
        """
        SELECT g.id, g.version, g.started_at, g.last_seen_at, is_live_gateway(g.last_seen_at), g.policy_seq, g.policy_tag,
            g.clock_difference, g.key_ids
        FROM gateways g
        WHERE $1::text IS NULL OR g.id < $1::text::uuid
        ORDER BY g.id DESC LIMIT $2
        """, onlyReads: true
    ) {
        [$0.before, $0.limit]
    } decode: { row throws(PostgresError) in
        var position: PolicyPosition?
        if let sequence = try row.decode(5, as: Int64?.self) {
            position = PolicyPosition(sequence: sequence, tag: try row.decode(6))
        }
        return KnownGateway(
            id: try row.decode(0), version: try row.decode(1), startedAt: try row.decode(2),
            lastSeenAt: try row.decode(3), isLive: try row.decode(4), position: position,
            clockDifference: try row.decode(7), masterKeyIDs: try row.decode(8))
    }
}

import FoundationEssentials
import GatewayCore
import LibPQ
import Logging

/// Lists the gateways that ``Heartbeat`` has announced.
struct PostgresGateways: GatewayDirectory {
    private static let listing = PagedList(name: "Gateway", filters: [], order: [.uuid("id")])

    private let pool: StorePool

    init(pool: PostgresPool, logger: Logger) {
        self.pool = StorePool(pool: pool, logger: logger, complaint: "gateways cannot be read")
    }

    /// Reads a page of gateways, most recently started first.
    func gateways(_ query: ListQuery) async throws(GatewayError) -> Page<KnownGateway> {
        let rows = try await pool.execute(Self.page, Self.listing.request(query))
        return Self.listing.page(rows, of: query) { [$0.id.lowercaseText] }
    }

    /// Reads a page of gateways. Identifiers begin with the time at which they were made, so their order is that of the
    /// starts.
    static let page = Statement<PageRequest, KnownGateway>(
        """
        SELECT g.id, g.version, g.started_at, g.last_seen_at, is_live_gateway(g.last_seen_at), g.policy_seq, g.policy_tag,
            g.clock_difference, g.key_ids
        FROM gateways g
        WHERE $1::text IS NULL OR g.id < $1::text::uuid
        ORDER BY g.id DESC LIMIT $2
        """, onlyReads: true
    ) {
        $0.parameters
    }
}

extension KnownGateway: RowReadable {
    /// Reads a row of ``PostgresGateways/page``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        self.init(
            id: try row.next(), version: try row.next(), startedAt: try row.next(), lastSeenAt: try row.next(),
            isLive: try row.next(), position: try PolicyPosition(ifKnown: &row), clockDifference: try row.next(),
            masterKeyIDs: Self.identifiers(in: try row.next()))
    }

    /// The identifiers in fingerprints of master keys, before the colons. Those of keys to come may be among them, as
    /// ``MasterKeyRing/announcement`` says.
    private static func identifiers(in fingerprints: [String]) -> [String] {
        fingerprints.filter { !$0.isEmpty }.map { String(Substring($0.utf8.prefix { $0 != UInt8(ascii: ":") })) }
    }
}

extension PolicyPosition {
    /// Reads two columns, number and tag. Both are NULL if there is no position.
    fileprivate init?(ifKnown row: inout PostgresRow) throws(PostgresError) {
        let sequence: Int64? = try row.next()
        let tag: UUID? = try row.next()
        guard let sequence, let tag else { return nil }
        self.init(sequence: sequence, tag: tag)
    }
}

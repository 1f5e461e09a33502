public import FoundationEssentials
import LibPQ

extension MasterKeyRotation {
    /// A running gateway that does not seal with the key. Without the key, it could not open what the rotation seals.
    /// With another key before it, it would go on sealing with that one.
    public struct LackingGateway: Sendable, Equatable {
        /// Identifier of this start of the gateway, as in `GET /admin/v1/gateways`.
        public var id: UUID
        /// Version of the program.
        public var version: String
        /// When it started, by its own clock.
        public var startedAt: Date
        /// Fingerprints of the keys that it has, as ``MasterKeyRing/announcement`` lists them.
        public var keys: [String]
    }

    /// Gateways run that do not seal with the key, so the rotation stopped.
    public struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        /// Fingerprint of the key that seals in the rotation.
        public var key: String
        /// The gateways, in the order of their starts; never empty.
        public var gateways: [LackingGateway]
        /// Number of rows that were sealed with the key before. It is 0 unless a gateway started during the rotation.
        public var resealed: Int

        /// Names the gateways, in one line.
        public var description: String {
            let done = resealed == 0 ? "Nothing was sealed again" : "\(resealed) rows were sealed again, no more"
            let names = gateways.map { gateway in
                let keys = gateway.keys.filter { !$0.isEmpty }.map { "'\($0)'" }.joined(separator: ", ")
                let flaw = gateway.keys.contains(key) ? "seals with another one" : "does not have it"
                let start = "version \(gateway.version), started \(gateway.startedAt.formatted(.iso8601))"
                return "\(gateway.id.uuidString.lowercased()), \(start), \(flaw): \(keys)"
            }
            return "\(done): gateways do not seal with the master key '\(key)': \(names.joined(separator: "; "))"
        }

        /// Says what to do, in one line.
        public var advice: String {
            """
            Add the key's line to SLUICE_MASTER_KEY or its file where it is missing, and reload or restart those \
            gateways. Once all have it, put it first on each, reload or restart them, and run this command again. \
            A gateway that did not stop by itself counts as running for 30 seconds.
            """
        }
    }

    /// Lists the running gateways that do not seal with the key of a fingerprint: they lack it, or another one is their
    /// first.
    static let lackingGateways = Statement<String, LackingGateway>(
        """
        SELECT g.id, g.version, g.started_at, g.key_ids FROM gateways g
        WHERE is_live_gateway(g.last_seen_at) AND g.key_ids[1] IS DISTINCT FROM $1::text
        ORDER BY g.id
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        LackingGateway(
            id: try row.next(), version: try row.next(), startedAt: try row.next(), keys: try row.next())
    }
}

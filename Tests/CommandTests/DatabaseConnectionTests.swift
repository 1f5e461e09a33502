import Foundation
import GatewayCore
import LibPQ
import Logging
import Testing

@testable import sluice

@Suite("connections to PostgreSQL", .timeLimit(.minutes(1)))
struct DatabaseConnectionTests {
    @Test func `The documents count the connections that a gateway has`() throws {
        let database = Settings.Database(connectionString: Secret("postgresql://127.0.0.1/sluice"))
        let connections = try DatabaseConnections(database, logger: Logger(label: "sluice.test"))
        func count(_ isCounted: (DatabaseConnections.Kind.Work) -> Bool) -> Int {
            connections.kinds.filter { isCounted($0.work) }.reduce(0) { $0 + $1.size }
        }
        let (policy, recording) = (count { $0 == .policy }, count { $0 == .recording })
        let others = count { $0 != .policy && $0 != .recording && $0 != .watching }

        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        func text(_ name: String) throws -> String {
            try String(contentsOf: root.appending(path: name), encoding: .utf8).replacing("\n", with: " ")
        }
        let document = try text("docs/operations.md")
        #expect(
            document.contains(
                "at most \(policy + others) per gateway besides those that record: "
                    + "`SLUICE_DATABASE_POOL_CONNECTIONS` (\(policy)) and \(others) others;"))
        #expect(
            document.contains(
                "\(recording + policy + others + 2) for each gateway with the default settings: "
                    + "\(recording) that record, \(policy + others) others, and two that watch the server."))
        let all = recording + policy + others + 2
        #expect(try text("CHANGELOG.md").contains("A gateway takes at most \(all) connections to PostgreSQL"))
        // Three gateways, one that starts and one that ends, and 20 for commands, backups and standbys.
        #expect(try text("docs/kubernetes.md").contains("need `max_connections` of \(5 * all + 20) at"))
    }

    @Test func `Whatever keeps connections for reuse closes them when the gateway stops`() throws {
        let database = Settings.Database(connectionString: Secret("postgresql://127.0.0.1/sluice"))
        let connections = try DatabaseConnections(database, logger: Logger(label: "sluice.test"))
        let pools = [
            connections.policyPool, connections.queryPool, connections.adminPool, connections.idempotencyPool,
            connections.ledgerPool, connections.eventPool,
        ]
        for pool in pools {
            #expect(connections.services.contains { ($0 as? PostgresPool) === pool })
        }
    }
}

public import FoundationEssentials
public import LibPQ

extension MasterKeyRing {
    /// Compares the keys with the stored secrets and, if they open those, with the keys of the other gateways that run.
    ///
    /// - Parameters:
    ///   - gateway: The gateway that has the keys, or is to have them.
    ///   - connection: Logged in as the gateway.
    /// - Returns: What ``MasterKeyCheck`` or ``clashes(with:)`` finds; empty if the keys fit.
    public func flaws(
        besides gateway: UUID, over connection: PostgresConnection
    ) async throws(PostgresError) -> [MasterKeyError] {
        let flaws = try await MasterKeyCheck(connection: connection, keys: self).run().flaws
        guard flaws.isEmpty else { return flaws }
        let running = try await DatabaseDiagnosis(connection: connection).runningGateways()
        return clashes(with: running.filter { $0.id != gateway })
    }

    /// Compares the keys with those of the gateways that run. Of two gateways that have different keys with one
    /// identifier, neither opens what the other seals.
    ///
    /// - Returns: One error for each identifier under which a gateway has another key, in the order of the identifiers.
    public func clashes(with gateways: [RunningGateway]) -> [MasterKeyError] {
        let given = fingerprints
        return identifiers.sorted().compactMap { id in
            let start = "\(id):".utf8
            let holders = gateways.filter { gateway in
                gateway.masterKeys.contains { $0.utf8.starts(with: start) && !given.contains($0) }
            }
            return holders.isEmpty ? nil : .differs(keyID: id, gateways: holders.map(\.id))
        }
    }
}

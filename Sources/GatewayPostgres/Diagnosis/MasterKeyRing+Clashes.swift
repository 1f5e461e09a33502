extension MasterKeyRing {
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

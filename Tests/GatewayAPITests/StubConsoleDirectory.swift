import GatewayCore

/// Takes the rows from the stores in memory.
struct StubConsoleDirectory: ConsoleDirectory {
    let issuers: MemoryStore<Issuer>
    let buckets: MemoryStore<Bucket>

    func surroundings() async throws(GatewayError) -> ConsoleSurroundings {
        let rows = try await issuers.list(ListQuery(pageSize: 1000)).items
        let stores = try await buckets.list(ListQuery(pageSize: 1000)).items
        return ConsoleSurroundings(
            issuers: rows.compactMap { row in
                row.console.map { SignInIssuer(id: row.id, issuer: row.issuer, console: $0) }
            },
            stores: stores.map { StoreSite(endpoint: $0.endpoint, hasBucketsAsHosts: $0.addressing == .virtual) })
    }
}

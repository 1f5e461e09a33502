import GatewayCore

/// Writes rows of one kind: straight into their store, or through a use case with its own rules.
struct RowWriter<Resource: Sendable>: Sendable {
    /// Adds a row.
    let create: @Sendable (_ row: Resource, _ change: ChangeContext) async throws(GatewayError) -> Stored<Resource>
    /// Replaces an old row, if it still has the revision that was read.
    let update:
        @Sendable (_ row: Resource, _ old: Stored<Resource>, _ change: ChangeContext) async throws(GatewayError)
            -> Stored<Resource>

    init(
        create: @escaping @Sendable (Resource, ChangeContext) async throws(GatewayError) -> Stored<Resource>,
        update:
            @escaping @Sendable (Resource, Stored<Resource>, ChangeContext) async throws(GatewayError)
            -> Stored<Resource>
    ) {
        self.create = create
        self.update = update
    }

    /// Makes a writer for a store.
    init(_ store: any AdminStore<Resource>) {
        create = { (row, change) async throws(GatewayError) in try await store.create(row, by: change) }
        update = { (row, old, change) async throws(GatewayError) in
            try await store.update(row, from: old.revision, by: change)
        }
    }
}

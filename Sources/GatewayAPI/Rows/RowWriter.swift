import GatewayCore

/// Writes rows of one kind: straight into their store, or by a use case with rules of its own.
struct RowWriter<Resource: Sendable>: Sendable {
    /// Adds a row.
    let create: @Sendable (_ row: Resource, _ change: ChangeContext) async throws(GatewayError) -> Stored<Resource>
    /// Puts a row in the place of an old one, if that is still of the revision that was read.
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

    /// Writes into a store.
    init(_ store: any AdminStore<Resource>) {
        create = { (row, change) async throws(GatewayError) in try await store.create(row, by: change) }
        update = { (row, old, change) async throws(GatewayError) in
            try await store.update(row, from: old.revision, by: change)
        }
    }
}

import GatewayCore

/// Writes rows of one kind: straight into their store, or through a use case with its own rules.
struct RowWriter<Resource: ValidatedRow>: Sendable {
    /// Adds a row.
    let create:
        @Sendable (_ row: Validated<Resource>, _ change: ChangeContext) async throws(GatewayError)
            -> CreatedRow<Resource>
    /// Replaces an old row, if it still has the revision that was read.
    let update:
        @Sendable (_ row: Validated<Resource>, _ old: Stored<Resource>, _ change: ChangeContext)
            async throws(GatewayError) -> Stored<Resource>

    init(
        create:
            @escaping @Sendable (Validated<Resource>, ChangeContext) async throws(GatewayError) -> CreatedRow<Resource>,
        update:
            @escaping @Sendable (Validated<Resource>, Stored<Resource>, ChangeContext) async throws(GatewayError)
            -> Stored<Resource>
    ) {
        self.create = create
        self.update = update
    }

    /// Makes a writer for a store.
    init(_ store: any AdminStore<Resource>) {
        create = { (row, change) async throws(GatewayError) in
            CreatedRow(stored: try await store.create(row, by: change))
        }
        update = { (row, old, change) async throws(GatewayError) in
            try await store.update(row, from: old.revision, by: change)
        }
    }
}

/// A new row, with what only the answer to its creation shows.
struct CreatedRow<Resource: ValidatedRow>: Sendable {
    let stored: Stored<Resource>
    /// The secret that belongs to the row; `nil` for rows without one.
    var shown: ShownMember?
}

/// A member of an answer that shows a secret, once.
struct ShownMember: Sendable {
    let name: StaticString
    let secret: Secret<String>
}

import GatewayCore

extension AdminEndpoints<Bucket> {
    /// `/admin/v1/buckets`: works as for other rows, but a use case writes the bucket. Where a change needs proof of
    /// a credential, the members `secretAccessKey` and `cdnSecret` carry its secret.
    init(
        store: any AdminStore<Bucket>, changes: BucketChanges, newRow: @escaping @Sendable (Caller) throws -> NewRow
    ) {
        self.init(store: store, newRow: newRow) { body in
            let secrets = ShownSecrets(
                secretAccessKey: try body.string("secretAccessKey").map { Secret($0) },
                cdnSecret: try body.string("cdnSecret").map { Secret($0) })
            return RowWriter(
                create: { (bucket, change) async throws(GatewayError) in
                    CreatedRow(stored: try await changes.create(bucket, showing: secrets, by: change))
                },
                update: { (bucket, old, change) async throws(GatewayError) in
                    try await changes.update(bucket, over: old, showing: secrets, by: change)
                })
        }
    }
}

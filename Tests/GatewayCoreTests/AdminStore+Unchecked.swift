@testable import GatewayCore

extension AdminStore {
    /// Adds a row that a use case is to find, without its rules.
    func create(_ row: Resource, by change: ChangeContext) async throws(GatewayError) -> Stored<Resource> {
        try await create(Validated(unchecked: row), by: change)
    }
}

extension APIKeyChanges {
    /// Checks a key and creates it.
    func create(
        _ key: APIKey, by change: ChangeContext
    ) async throws(GatewayError) -> (stored: Stored<APIKey>, text: APIKeyText) {
        try await create(Validated(key), by: change)
    }

    /// Checks a key and replaces its row.
    func update(
        _ key: APIKey, over old: Stored<APIKey>, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<APIKey> {
        try await update(Validated(key), over: old, by: change)
    }
}

extension BucketChanges {
    /// Checks a bucket and creates it.
    func create(
        _ bucket: Bucket, showing secrets: ShownSecrets, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Bucket> {
        try await create(Validated(bucket), showing: secrets, by: change)
    }

    /// Checks a bucket and replaces its row.
    func update(
        _ bucket: Bucket, over old: Stored<Bucket>, showing secrets: ShownSecrets, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Bucket> {
        try await update(Validated(bucket), over: old, showing: secrets, by: change)
    }
}

import Foundation
public import GatewayAPI
import GatewayCore
import LibCrypto

/// Creates the rows of the demo, each once, through the stores that the admin API uses.
public struct DemoRows: Sendable {
    let stores: AdminStores
    let keys: DemoKeys

    private let change: ChangeContext
    private let buckets: BucketChanges

    /// Prepares the creation of the rows.
    ///
    /// - Throws: `GatewayError` for an invalid name; the names of ``DemoWorld`` are valid.
    public init(stores: AdminStores, keys: DemoKeys) throws {
        self.stores = stores
        self.keys = keys
        change = ChangeContext(actor: try .user("dev"), requestID: "sluice-dev")
        buckets = BucketChanges(
            buckets: stores.buckets, credentials: stores.credentials, dependency: stores.dependency)
    }

    /// Creates the missing rows, and points the bucket to the store's current address.
    ///
    /// - Parameter storeEndpoint: Origin of the store, such as `http://127.0.0.1:9000`.
    /// - Throws: `GatewayError` if the database refuses or cannot be reached, `CryptoError` if no random bytes are
    ///   available.
    public func make(storeEndpoint: String) async throws {
        let name = try BucketName(DemoWorld.bucket)
        if let bucket = try await stores.buckets.find(name.rawValue) {
            try await point(bucket, to: storeEndpoint)
        } else {
            try await makeBucket(name, endpoint: storeEndpoint)
        }
        let user = try Principal(DemoWorld.user)
        try await makeKey(keys.userToken, name: "demo user", for: user)
        try await makeKey(keys.strangerToken, name: "demo stranger", for: try Principal(DemoWorld.stranger))
        let mine = ListQuery(filters: ["principal": user.rawValue, "bucket": name.rawValue], pageSize: 1)
        if try await stores.grants.list(mine).items.isEmpty {
            let grant = Grant(
                id: try newID(), principal: user, bucket: name, prefix: try KeyPrefix(literal: DemoWorld.prefix),
                actions: [.putObject, .getObject], effect: .allow, note: "Demo", createdBy: change.actor.rawValue,
                createdAt: .now)
            _ = try await stores.grants.create(grant.validated(), by: change)
        }
        if try await stores.quotas.list(mine).items.isEmpty {
            let quota = Quota(
                id: try newID(), principal: user, bucket: name, action: nil, metric: .urls, period: .day,
                sharing: .each, limit: Int64(DemoWorld.urlsPerDay), createdAt: .now)
            _ = try await stores.quotas.create(quota.validated(), by: change)
        }
    }

    private func makeBucket(_ name: BucketName, endpoint: String) async throws {
        let credentials = try await stores.credentials.list(ListQuery(filters: ["name": "demo"], pageSize: 1))
        var credentialID = credentials.items.first?.id
        if credentialID == nil {
            let credential = StorageCredential(
                id: try newID(), name: "demo", accessKeyID: keys.storeAccessKeyID,
                secretAccessKey: storeSecret, createdAt: .now)
            credentialID = try await stores.credentials.create(credential.validated(), by: change).id
        }
        guard let credentialID else { return }
        let bucket = Bucket(
            name: name, provider: .s3, endpoint: endpoint, region: DemoWorld.region, addressing: .path, scheme: .awsV4,
            credentialID: credentialID, createdAt: .now)
        _ = try await buckets.create(bucket, showing: storeSecret, by: change)
    }

    /// A later start may change the store's port, but no other part of the demo.
    private func point(_ bucket: Stored<Bucket>, to endpoint: String) async throws {
        guard bucket.endpoint != endpoint else { return }
        var row = bucket.row
        row.endpoint = endpoint
        _ = try await buckets.update(row, over: bucket, showing: storeSecret, by: change)
    }

    private var storeSecret: Secret<String> { Secret(keys.storeSecretAccessKey) }

    private func makeKey(_ token: String, name: String, for principal: Principal) async throws {
        guard let text = APIKeyText(parsing: Secret(token)) else { return }
        let key = APIKey(
            id: try newID(), prefix: text.prefix, hash: text.hash, name: name, principal: principal, createdAt: .now)
        do throws(GatewayError) {
            _ = try await stores.apiKeys.create(key.validated(), by: change)
        } catch .alreadyExists {
            // An earlier start created the key.
        }
    }

    private func newID() throws -> UUID {
        .version7(at: .now, randomBytes: try randomBytes(count: 10))
    }
}

extension AdminStore {
    /// Reads a row; `nil` if there is none.
    fileprivate func find(_ id: String) async throws(GatewayError) -> Stored<Resource>? {
        do throws(GatewayError) {
            return try await get(id)
        } catch .notFound {
            return nil
        }
    }
}

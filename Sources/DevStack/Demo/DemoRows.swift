public import FoundationEssentials
public import GatewayCore
import LibCrypto

/// Creates the rows of the demo, each once, through the stores that the admin API uses.
public struct DemoRows: Sendable {
    let stores: AdminStores
    let keys: DemoKeys

    private let change: ChangeContext
    private let keyChanges: APIKeyChanges
    private let now: @Sendable () -> Date

    /// Prepares the creation of the rows.
    ///
    /// - Parameters:
    ///   - stores: The stores of the admin API.
    ///   - keys: The secrets of the demo.
    ///   - now: The clock that the rows are created by.
    /// - Throws: `GatewayError` for an invalid name; the names of ``DemoWorld`` are valid.
    public init(stores: AdminStores, keys: DemoKeys, now: @escaping @Sendable () -> Date) throws {
        self.stores = stores
        self.keys = keys
        self.now = now
        change = ChangeContext(actor: try .user("dev"), requestID: "sluice-dev")
        keyChanges = stores.apiKeyChanges(now: now) { try randomBytes(count: $0) }
    }

    /// Creates the missing rows, and points the buckets and the roles to the store's current address.
    ///
    /// - Parameter storeEndpoint: Origin of the store, such as `http://127.0.0.1:9000`.
    /// - Throws: `GatewayError` if the database refuses or cannot be reached, `CryptoError` if no random bytes are
    ///   available.
    public func make(storeEndpoint: String) async throws {
        let user = try Principal(DemoWorld.user)
        for language in [PolicyLanguage.aws, .alibaba] {
            let bucket = try await makeBucket(language, endpoint: storeEndpoint)
            let mine = ListQuery(filters: ["principal": user.rawValue, "bucket": bucket.rawValue], pageSize: 1)
            if try await stores.grants.list(mine).items.isEmpty { try await makeGrant(of: user, in: bucket) }
            if try await stores.quotas.list(mine).items.isEmpty { try await makeQuota(of: user, in: bucket) }
        }
        try await makeKey(keys.userToken, name: "demo user", for: user)
        try await makeKey(keys.strangerToken, name: "demo stranger", for: try Principal(DemoWorld.stranger))
    }

    /// Makes the admin key of the console's one-time address, and removes the one of an earlier start.
    ///
    /// The console replaces the key as soon as it has read it from the address, so that the address opens nothing a
    /// second time. It expires after ``DemoWorld/consoleHours``, used or not.
    ///
    /// - Returns: The key.
    public func makeConsoleKey() async throws -> Secret<String> {
        let mine = ListQuery(filters: ["principal": change.actor.rawValue], pageSize: 1_000)
        for old in try await stores.apiKeys.list(mine).items where old.name == DemoWorld.consoleKeyName {
            try await stores.apiKeys.delete(old.id.uuidString.lowercased(), by: change)
        }
        let key = APIKey(
            id: try newID(), prefix: "", hash: Digest(), name: DemoWorld.consoleKeyName, principal: change.actor,
            roles: [.admin], expiresAt: now().addingTimeInterval(DemoWorld.consoleHours * 3600), createdAt: now())
        return try await keyChanges.create(Validated(key), by: change).text.text
    }

    /// Gives the store a new secret for its notifications about each bucket. Earlier secrets remain valid for a week,
    /// so that a secret that the user made remains usable.
    ///
    /// - Returns: Where the store sends the notifications about each bucket, by name.
    public func makeEventTargets(_ secrets: EventSecrets) async throws -> [String: StoreOutlet.Target] {
        var targets: [String: StoreOutlet.Target] = [:]
        for (bucket, path) in [(DemoWorld.bucket, "/v1/events/s3"), (DemoWorld.ossBucket, "/v1/events/oss")] {
            let overlap = try RotationOverlap(seconds: RotationOverlap.maxSeconds)
            let secret = try await secrets.rotate(try BucketName(bucket), overlap: overlap, by: change)
            targets[bucket] = StoreOutlet.Target(path: path, secret: secret.text.reveal())
        }
        return targets
    }

    private func makeGrant(of user: Principal, in bucket: BucketName) async throws {
        // Sessions include downloads only if their holder may choose the type of the answer.
        let grant = Grant(
            id: try newID(), principal: user, bucket: bucket, prefix: try KeyPrefix(literal: DemoWorld.prefix),
            actions: [.putObject, .getObject, .listObjects, .deleteObject], effect: .allow,
            conditions: GrantConditions(allowResponseContentType: true), note: "Demo",
            createdBy: change.actor.rawValue, createdAt: now())
        _ = try await stores.grants.create(Validated(grant), by: change)
    }

    private func makeQuota(of user: Principal, in bucket: BucketName) async throws {
        let quota = Quota(
            id: try newID(), principal: user, bucket: bucket, action: nil, metric: .urls, period: .day,
            sharing: .each, limit: Int64(DemoWorld.urlsPerDay), createdAt: now())
        _ = try await stores.quotas.create(Validated(quota), by: change)
    }

    /// Creates a bucket and its credential, or points them to the store. A later start may change the store's port, but
    /// no other part of the demo.
    private func makeBucket(_ language: PolicyLanguage, endpoint: String) async throws -> BucketName {
        let isOSS = language == .alibaba
        let credential = try await makeCredential(language, named: isOSS ? "demo-oss" : "demo", endpoint: endpoint)
        let name = try BucketName(isOSS ? DemoWorld.ossBucket : DemoWorld.bucket)
        if let bucket = try await stores.buckets.find(name.rawValue) {
            guard bucket.endpoint != endpoint else { return name }
            var row = bucket.row
            row.endpoint = endpoint
            _ = try await stores.bucketChanges.update(
                Validated(row), over: bucket, showing: ShownSecrets(secretAccessKey: storeSecret), by: change)
        } else {
            let bucket = Bucket(
                name: name, provider: isOSS ? .oss : .s3, endpoint: endpoint,
                region: isOSS ? DemoWorld.ossRegion : DemoWorld.region, addressing: .path,
                scheme: isOSS ? .ossV4 : .awsV4, credentialID: credential, permitsSymlinks: isOSS, createdAt: now())
            _ = try await stores.bucketChanges.create(
                Validated(bucket), showing: ShownSecrets(secretAccessKey: storeSecret), by: change)
        }
        return name
    }

    /// Creates the credential of a bucket, with the role that opens sessions at the store, or points the role.
    private func makeCredential(
        _ language: PolicyLanguage, named name: String, endpoint: String
    ) async throws -> UUID {
        let role = SessionRole(
            roleARN: AssumeRoleCall.roles[language] ?? "", service: language == .aws ? .aws : .alibaba,
            endpoint: endpoint, region: language == .aws ? DemoWorld.region : DemoWorld.ossRegion,
            maxDuration: SessionRole.durations.upperBound)
        let found = try await stores.credentials.list(ListQuery(filters: ["name": name], pageSize: 1)).items.first
        guard let found else {
            let credential = StorageCredential(
                id: try newID(), name: name, accessKeyID: keys.storeAccessKeyID, secretAccessKey: storeSecret,
                sessionRole: role, createdAt: now())
            return try await stores.credentials.create(Validated(credential), by: change).id
        }
        if found.sessionRole != role {
            let held = try await stores.credentials.get(found.id.uuidString.lowercased())
            var row = held.row
            row.sessionRole = role
            _ = try await stores.credentials.update(Validated(row), from: held.revision, by: change)
        }
        return found.id
    }

    private var storeSecret: Secret<String> { Secret(keys.storeSecretAccessKey) }

    private func makeKey(_ token: String, name: String, for principal: Principal) async throws {
        guard let text = APIKeyText(parsing: Secret(token)) else { return }
        let key = APIKey(
            id: try newID(), prefix: text.prefix, hash: text.digest, name: name, principal: principal, createdAt: now())
        do throws(GatewayError) {
            _ = try await keyChanges.create(Validated(key), holding: text, by: change)
        } catch .alreadyExists {
            // An earlier start created the key.
        }
    }

    private func newID() throws -> UUID {
        .version7(at: now(), randomBytes: try randomBytes(count: 10))
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

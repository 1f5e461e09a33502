import Foundation
import GatewayCore
import LibPQ
import Logging
import PostgresTesting
import Testing

@testable import GatewayPostgres
import LibCrypto

/// Stores and a policy source over the database of the running test, logged in as the gateway.
struct AdminWorld: Sendable {
    static let change = ChangeContext(actor: admin, requestID: "request-7")

    let connection: PostgresConnection
    let keys: MasterKeyRing
    let stores: PostgresAdminStores
    let source: PostgresPolicySource

    init(keys: MasterKeyRing? = nil) throws {
        let database = try TestDatabase.current
        func pool(_ settings: [(name: String, value: String)]) throws -> PostgresPool {
            let settings = settings + [("role", "sluice_gateway")]
            return PostgresPool(try database.configuration(sessionSettings: settings), size: 4, logger: .silent)
        }
        connection = try PostgresConnection(testing: database.connectionString)
        self.keys = try keys ?? .sample("k1")
        stores = PostgresAdminStores(
            pool: try pool(PostgresAdminStores.sessionSettings), keys: self.keys, logger: .silent,
            now: { Date() })
        source = PostgresPolicySource(
            pool: try pool(PostgresPolicySource.sessionSettings), keys: self.keys, logger: .silent)
    }

    private static var admin: Principal {
        guard let admin = try? Principal("user:root") else { return .anyone }
        return admin
    }

    /// A credential and a bucket that uses it.
    @discardableResult
    func makeBucket(_ name: String = "demo") async throws -> Bucket {
        let credential = try await stores.credentials.create(.sample(name: "of " + name), by: Self.change)
        return try await stores.buckets.create(.sample(name, credential: credential.id), by: Self.change).row
    }

    /// The scopes of the last log entry.
    func lastScopes() async throws -> [String] {
        let lines = try await connection.execute(
            Statement<Void, [String]>("SELECT scopes FROM policy_log ORDER BY seq DESC LIMIT 1") {
                row throws(PostgresError) in try row.decode(0)
            })
        return try #require(lines.first)
    }

    /// The whole audit as text, in order.
    func audit() async throws -> [String] {
        try await connection.execute(
            Statement<Void, String>(
                """
                SELECT concat_ws(' ', operation, kind, resource_id, actor, request_id, 'before', before::text, 'after',
                    after::text)
                FROM admin_audit ORDER BY id
                """
            ) { row throws(PostgresError) in try row.decode(0) })
    }
}

extension MasterKeyRing {
    /// A key ring whose keys are derived from the positions of their identifiers. The first one seals.
    static func sample(_ ids: String...) throws -> MasterKeyRing {
        try MasterKeyRing(parsing: Secret(ids.map { sampleLine($0) }.joined(separator: "\n")))
    }

    /// The line of a sample key.
    static func sampleLine(_ id: String) -> String {
        let byte = UInt8(truncatingIfNeeded: id.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })
        return id + ":" + Data(repeating: byte, count: 32).base64EncodedString()
    }
}

extension StorageCredential {
    /// A credential with a secret that is easy to search for.
    static func sample(name: String = "main", token: String? = nil) -> StorageCredential {
        StorageCredential(
            id: .version7(at: Date(), randomBytes: (0..<10).map { _ in .random(in: 0...255) }), name: name,
            accessKeyID: "AKIAEXAMPLE", secretAccessKey: Secret("TopSecretKey0123"),
            sessionToken: token.map { Secret($0) }, expiresAt: token.map { _ in Date(timeIntervalSince1970: 2e9) },
            createdAt: Date(timeIntervalSince1970: 0))
    }
}

extension Bucket {
    static func sample(_ name: String = "demo", credential: UUID, provider: Provider = .s3) throws -> Bucket {
        Bucket(
            name: try BucketName(name), provider: provider, endpoint: "https://s3.example", region: "eu-west-1",
            addressing: .path, scheme: .awsV4, credentialID: credential, defaultTTL: 300, maxTTL: 3600,
            allowsUnenforcedSize: true, createdAt: Date(timeIntervalSince1970: 0))
    }
}

extension Grant {
    static func sample(
        _ principal: String = "user:alice", _ prefix: String = "team/", bucket: String = "demo", template: Bool = false,
        maxTTL: Int? = nil
    ) throws -> Grant {
        Grant(
            id: .version7(at: Date(), randomBytes: (0..<10).map { _ in .random(in: 0...255) }),
            principal: try Principal(principal), bucket: try BucketName(bucket),
            prefix: template ? try KeyPrefix(template: prefix) : try KeyPrefix(literal: prefix),
            actions: [.getObject, .putObject], effect: .allow,
            conditions: GrantConditions(
                contentTypes: ["image/*"], maxBytes: 1 << 33, maxTTL: maxTTL, sourceCIDRs: ["192.0.2.0/24"]),
            notBefore: Date(timeIntervalSince1970: 1e9), notAfter: Date(timeIntervalSince1970: 3e9), note: "é \"note\"",
            createdBy: "user:root", createdAt: Date(timeIntervalSince1970: 0))
    }
}

extension APIKey {
    static func sample(prefix: String = "abcdefghij01", principal: String = "user:alice") throws -> APIKey {
        APIKey(
            id: UUID(), prefix: prefix, hash: DigestAlgorithm.sha256.digest(of: "0xab"), name: "ci",
            principal: try Principal(principal), groups: [try Principal("group:builders")], roles: [.auditor],
            expiresAt: Date(timeIntervalSince1970: 2e9), createdAt: Date(timeIntervalSince1970: 0))
    }
}

extension Issuer {
    static func sample(
        _ issuer: String = "https://login.example", prefix: String = "a|", groupPrefix: String? = nil,
        keys: Keys = .secret(Secret("a shared secret of 32 bytes, really"))
    ) -> Issuer {
        Issuer(
            id: UUID(), issuer: issuer, audiences: ["sluice"], algorithms: ["HS256"], keys: keys,
            principalPrefix: prefix, groupPrefix: groupPrefix ?? prefix, groupsClaim: "groups",
            usableClaims: ["tenant"], rolesClaim: "roles", roles: [.init(role: .admin, values: ["staff"])],
            console: ConsoleSignIn(
                clientID: "é \"client\"", scopes: ["openid", "profile"], authorizationEndpoint: issuer + "/a",
                tokenEndpoint: issuer + "/t", send: .idToken),
            createdAt: Date(timeIntervalSince1970: 0))
    }
}

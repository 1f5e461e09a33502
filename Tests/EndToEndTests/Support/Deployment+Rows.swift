import Foundation
import Testing

/// A user with an API key.
struct User: Sendable {
    let principal: String
    let keyID: String
    let client: APIClient

    /// Asks for a URL.
    func ask(_ body: JSON, headers: [(name: String, value: String)] = []) async throws -> Answer {
        try await client.ask(body, headers: headers)
    }
}

extension Deployment {
    /// Makes a row through the admin API and returns it as answered.
    @discardableResult func create(_ collection: String, _ row: JSON) async throws -> JSON {
        let answer = try await admin.call("POST", "/admin/v1/\(collection)", row)
        try #require(answer.status == 201, "\(collection): \(answer.text)")
        return answer.json
    }

    /// Removes a row through the admin API.
    func delete(_ collection: String, _ id: String) async throws {
        let answer = try await admin.call("DELETE", "/admin/v1/\(collection)/\(id)")
        try #require(answer.status == 204, "\(collection): \(answer.text)")
    }

    /// Makes a bucket at an S3 store, with the credential that signs for it.
    @discardableResult func makeBucket(
        _ name: String, endpoint: String = "https://store.example", region: String = "eu-west-1",
        accessKeyID: String = "AKIDEXAMPLE", secretAccessKey: String = "secret-\(UUID().uuidString)",
        options: [String: JSON] = [:]
    ) async throws -> String {
        keepSecret(secretAccessKey)
        let credential = try await create(
            "storage-credentials",
            ["name": "for \(name)", "accessKeyID": "\(accessKeyID)", "secretAccessKey": "\(secretAccessKey)"])
        let bucket: JSON = [
            "name": "\(name)", "endpoint": "\(endpoint)", "region": "\(region)", "addressing": "path",
            "credentialID": credential["id"],
        ]
        try await create("buckets", bucket.with(options))
        return name
    }

    /// Makes a user with its own key.
    func makeUser(_ name: String, groups: [String] = [], roles: [String] = []) async throws -> User {
        let key = try await create(
            "api-keys",
            [
                "name": "key of \(name)", "principal": "user:\(name)",
                "groups": .array(groups.map { .string("group:" + $0) }), "roles": .array(roles.map { .string($0) }),
            ])
        let token = try #require(key["key"].text)
        keepSecret(token)
        return User(
            principal: "user:\(name)", keyID: try #require(key["id"].text), client: client(token: token))
    }

    /// Makes a grant; returns its identifier.
    @discardableResult func grant(
        _ actions: [String], to principal: String, in bucket: String, prefix: String = "",
        options: [String: JSON] = [:]
    ) async throws -> String {
        let grant: JSON = [
            "principal": "\(principal)", "bucket": "\(bucket)", "prefix": "\(prefix)",
            "actions": .array(actions.map { .string($0) }),
        ]
        return try #require(try await create("grants", grant.with(options))["id"].text)
    }

    /// Makes a quota of URLs; returns its identifier.
    @discardableResult func quota(
        _ limit: Int, for principal: String, options: [String: JSON] = [:]
    ) async throws -> String {
        let quota: JSON = ["principal": "\(principal)", "metric": "urls", "period": "total", "limit": .number(limit)]
        return try #require(try await create("quotas", quota.with(options))["id"].text)
    }

    /// Changes the limit of a quota.
    func limit(_ quota: String, to limit: Int) async throws {
        let answer = try await admin.call(
            "PATCH", "/admin/v1/quotas/\(quota)", ["limit": .number(limit)],
            headers: [(name: "If-Match", value: "*")])
        try #require(answer.status == 200, "\(answer.text)")
    }

    /// Registers the parts of a URL that must not appear in the logs.
    func keepSecret(urlOf answer: Answer) {
        guard let url = answer.json["url"].text else { return }
        keepSecret(url)
        if let signature = url.firstRange(of: "X-Amz-Signature=") {
            keepSecret(String(url[signature.upperBound...].prefix { $0 != "&" }))
        }
    }
}

extension JSON {
    /// The body of a request for a download.
    static func download(_ key: String, from bucket: String) -> JSON {
        ["action": "GetObject", "bucket": "\(bucket)", "key": "\(key)"]
    }

    /// The body of a request for an upload of a text.
    static func upload(_ key: String, to bucket: String) -> JSON {
        [
            "action": "PutObject", "bucket": "\(bucket)", "key": "\(key)", "contentType": "text/plain",
            "contentLength": 5,
        ]
    }
}

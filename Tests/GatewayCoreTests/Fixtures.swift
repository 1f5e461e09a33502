import Foundation
import GatewayCore
import Testing

/// Values on which tests build: a bucket, a caller, grants and quotas, at one fixed instant.
enum Fixture {
    static let now = Date(timeIntervalSince1970: 1_715_934_600)
    static let position = PolicyPosition(sequence: 10, tag: id(1_000_010))

    static func id(_ number: Int) -> UUID {
        var number = UInt64(number)
        var bytes = [UInt8](repeating: 0, count: 16)
        for index in (8..<16).reversed() {
            bytes[index] = UInt8(truncatingIfNeeded: number)
            number >>= 8
        }
        return UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9],
                bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            )
        )
    }

    static func bucket(
        _ name: String = "demo-bucket", defaultTTL: Int = 900, maxTTL: Int = 604_800,
        endpoint: String = "https://s3.example.com", addressing: Bucket.Addressing = .path,
        scheme: Bucket.Scheme = .awsV4, allowsUnenforcedSize: Bool = false
    ) throws -> Bucket {
        Bucket(
            name: try BucketName(name), provider: .s3, endpoint: endpoint, region: "eu-west-1",
            addressing: addressing, scheme: scheme, credentialID: id(500), defaultTTL: defaultTTL, maxTTL: maxTTL,
            allowsUnenforcedSize: allowsUnenforcedSize, createdAt: now
        )
    }

    static func credential(endingAfter seconds: TimeInterval? = nil) -> StorageCredential {
        StorageCredential(
            id: id(500), name: "demo", accessKeyID: "AKIAEXAMPLE", secretAccessKey: Secret("not-a-secret"),
            sessionToken: seconds.map { _ in Secret("session") },
            expiresAt: seconds.map { now.addingTimeInterval($0) }, createdAt: now
        )
    }

    static func grant(
        _ number: Int, to principal: String = "user:alice", on prefix: String = "team/",
        in bucket: String = "demo-bucket",
        actions: Set<Action> = [.putObject, .getObject], effect: Grant.Effect = .allow,
        conditions: GrantConditions = GrantConditions(), from notBefore: Date? = nil, until notAfter: Date? = nil
    ) throws -> Grant {
        Grant(
            id: id(number), principal: try Principal(principal), bucket: try BucketName(bucket),
            prefix: prefix.contains("${") ? try KeyPrefix(template: prefix) : try KeyPrefix(literal: prefix),
            actions: actions, effect: effect, conditions: conditions, notBefore: notBefore, notAfter: notAfter,
            createdBy: "user:admin", createdAt: now
        )
    }

    /// A grant whose downloads fit temporary credentials: it leaves the headers of the answer to the holder.
    static func sessionGrant(
        _ number: Int, to principal: String = "user:alice", on prefix: String = "team/",
        actions: Set<Action> = [.putObject, .getObject], effect: Grant.Effect = .allow,
        conditions: GrantConditions = GrantConditions(), from notBefore: Date? = nil, until notAfter: Date? = nil
    ) throws -> Grant {
        var grant = try grant(
            number, to: principal, on: prefix, actions: actions, effect: effect, conditions: conditions,
            from: notBefore, until: notAfter)
        if effect == .allow, grant.conditions.allowResponseContentType == nil {
            grant.conditions.allowResponseContentType = true
        }
        return grant
    }

    static func quota(
        _ number: Int, for principal: String = "user:alice", bucket: String? = nil, action: Action? = nil,
        metric: Quota.Metric = .urls, sharing: Quota.Sharing = .each, limit: Int64 = 10
    ) throws -> Quota {
        Quota(
            id: id(number), principal: try Principal(principal), bucket: try bucket.map { try BucketName($0) },
            action: action, metric: metric, period: .day, sharing: sharing, limit: limit, createdAt: now
        )
    }

    static func put(
        _ key: String = "team/photo.png", bucket: String = "demo-bucket", type: String? = "image/png",
        length: Int64? = nil, _ change: (inout IssueRequest.Fields) -> Void = { _ in }
    ) throws -> IssueRequest {
        var fields = IssueRequest.Fields()
        fields.action = "PutObject"
        fields.bucket = bucket
        fields.key = key
        fields.contentType = type
        fields.contentLength = length
        change(&fields)
        return try IssueRequest(fields)
    }

    static func get(
        _ key: String = "team/photo.png", bucket: String = "demo-bucket",
        _ change: (inout IssueRequest.Fields) -> Void = { _ in }
    ) throws -> IssueRequest {
        var fields = IssueRequest.Fields()
        fields.action = "GetObject"
        fields.bucket = bucket
        fields.key = key
        change(&fields)
        return try IssueRequest(fields)
    }

    /// The policy of a caller, made from grants and quotas of any of the caller's principals.
    static func policy(
        grants: [Grant] = [], quotas: [Quota] = [], principals: [String] = ["user:alice", "group:staff", "*"],
        bucket: Bucket?? = nil, credential: StorageCredential?? = nil
    ) throws -> AccessPolicy {
        AccessPolicy(
            position: position,
            principals: try principals.map { name in
                let principal = try Principal(name)
                let rows = PrincipalRows(
                    grants: grants.filter { $0.principal == principal },
                    quotas: quotas.filter { $0.principal == principal }
                )
                return PrincipalPolicy(principal: principal, rows: rows)
            },
            bucket: try bucket ?? Self.bucket(),
            credential: credential ?? Self.credential(),
            scopes: []
        )
    }

    static func decided(
        _ request: IssueRequest, under policy: AccessPolicy, claims: [String: String] = [:],
        from address: String? = nil,
        at instant: Date = now
    ) throws -> Verdict<Permit> {
        decide(
            request, for: Subject(principal: try Principal("user:alice"), claims: claims), under: policy,
            sourceAddress: address.flatMap { IPAddress($0) }, now: instant
        )
    }
}

extension Verdict {
    /// The permit of a decision; fails the test where there is none.
    var permit: Permitted {
        get throws {
            guard let permit = permitOrNil else { throw UnexpectedDecision(description: "\(self)") }
            return permit
        }
    }

    var permitOrNil: Permitted? {
        guard case .permit(let permit) = self else { return nil }
        return permit
    }

    /// The error of a refusal; `nil` for a permit.
    var error: GatewayError? {
        guard case .refuse(let refusal) = self else { return nil }
        return refusal.error
    }
}

struct UnexpectedDecision: Error, CustomStringConvertible {
    let description: String
}

/// A change that makes a request invalid, and the field that the error names.
struct BadField: Sendable, CustomTestStringConvertible {
    let field: String
    let change: @Sendable (inout IssueRequest.Fields) -> Void

    init(_ field: String, _ change: @escaping @Sendable (inout IssueRequest.Fields) -> Void) {
        self.field = field
        self.change = change
    }

    var testDescription: String { field }
}

/// The field that an `invalidArgument` names; `nil` when something else, or nothing, was thrown.
func refusedField<Value>(_ body: () throws -> Value) -> String? {
    do {
        _ = try body()
        return nil
    } catch GatewayError.invalidArgument(let field, _) {
        return field
    } catch {
        return nil
    }
}

extension Bucket.Scheme {
    /// The kind of credential that signs in the scheme.
    var credentialKind: StorageCredential.Kind {
        switch self {
        case .awsV4, .awsV2, .ossV4, .ossV1, .gcsV4HMAC: .accessKey
        case .gcsV4RSA, .gcsV2RSA: .serviceAccount
        }
    }
}

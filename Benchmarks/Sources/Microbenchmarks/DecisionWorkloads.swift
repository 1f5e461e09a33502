import Foundation
import GatewayCore

/// What the gateway decides in memory: a request read from its fields, and a decision on the rows that bear on it.
enum DecisionWorkloads {
    /// `decision/N-grants`: the caller has so many grants in the bucket, one of which matches, and two quotas.
    /// `signer/put`: what was decided is signed, and proved.
    static let names = ["request/put", "decision/1-grant", "decision/10-grants", "decision/1000-grants", "signer/put"]

    /// The work of a name.
    static func work(_ name: String) throws -> () throws -> Int {
        if name == "signer/put" { return try signing() }
        guard let count = Int(name.split(separator: "/")[1].prefix { $0.isNumber }) else {
            return { try Self.request().key.rawValue.utf8.count }
        }
        let policy = try Self.policy(grantCount: count)
        let subject = Subject(principal: try Principal("user:alice"), claims: [:])
        let request = try Self.request()
        let now = Self.now
        return {
            let decision = decide(request, for: subject, under: policy, sourceAddress: nil, now: now)
            guard case .permit(let permit) = decision else { throw UsageError(description: "\(name) was refused") }
            return permit.expiresIn
        }
    }

    private static func signing() throws -> () throws -> Int {
        let signer = URLSigner()
        let policy = try policy(grantCount: 1)
        let request = try request()
        let decision = decide(
            request, for: Subject(principal: try Principal("user:alice"), claims: [:]), under: policy,
            sourceAddress: nil, now: now)
        guard case .permit(let permit) = decision else { throw UsageError(description: "signer/put was refused") }
        return { try signer.url(for: request, by: permit).reveal().utf8.count }
    }

    private static let now = Date(timeIntervalSince1970: 1_715_934_600)

    private static func request() throws -> IssueRequest {
        var fields = IssueRequest.Fields()
        fields.action = "PutObject"
        fields.bucket = "demo-bucket"
        fields.key = "users/alice/uploads/photo-1.jpg"
        fields.contentType = "image/jpeg"
        fields.contentMD5 = "1B2M2Y8AsgTpgAmY7PhCfg=="
        return try IssueRequest(fields)
    }

    private static func policy(grantCount: Int) throws -> AccessPolicy {
        let principal = try Principal("user:alice")
        let bucket = try BucketName("demo-bucket")
        let credentialID = UUID()
        let grants = try (0..<grantCount).map { number in
            Grant(
                id: UUID(), principal: principal, bucket: bucket,
                prefix: try KeyPrefix(literal: number == 0 ? "users/alice/" : "users/alice-\(number)/"),
                actions: [.putObject, .getObject], effect: .allow, conditions: GrantConditions(), notBefore: nil,
                notAfter: nil, createdBy: "user:admin", createdAt: now)
        }
        let quotas = [Quota.Period.day, .month].map { period in
            Quota(
                id: UUID(), principal: principal, bucket: bucket, action: .putObject, metric: .urls, period: period,
                sharing: .each, limit: 1_000_000, createdAt: now)
        }
        let rows = PrincipalRows(grants: grants, quotas: quotas)
        return AccessPolicy(
            position: PolicyPosition(sequence: 1, tag: UUID()),
            principals: [
                PrincipalPolicy(principal: principal, rows: rows),
                PrincipalPolicy(principal: .anyone, rows: PrincipalRows(grants: [], quotas: [])),
            ],
            bucket: Bucket(
                name: bucket, provider: .s3, endpoint: "https://store.example.com", region: "eu-west-1",
                addressing: .path, scheme: .awsV4, credentialID: credentialID, defaultTTL: 900, maxTTL: 604_800,
                allowsUnenforcedSize: false, createdAt: now),
            credential: StorageCredential(
                id: credentialID, name: "demo", accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("not-a-secret"),
                sessionToken: nil, expiresAt: nil, createdAt: now),
            scopes: [])
    }
}

import HTTPTesting
import PostgresTesting

/// The ways in which clients that race ask for URLs.
enum Asking: String, CaseIterable, Sendable {
    case oneByOne = "one at a time"
    case inBatches = "seven at a time"
    case byRedirect = "by redirect"
    case byForm = "by form"

    /// The bytes that ask for something to be done with an object.
    func request(for key: String, in bucket: String, by user: User) throws -> RawRequest {
        let download = JSON.download(key, from: bucket)
        switch self {
        case .oneByOne: return try user.client.request("POST", "/v1/presigned-urls", download)
        case .inBatches:
            let items = JSON.array(Array(repeating: download, count: 7))
            return try user.client.request("POST", "/v1/presigned-urls/batch", ["items": items])
        case .byRedirect: return try user.client.request("GET", "/v1/objects/\(bucket)/\(key)")
        case .byForm:
            let form: JSON = [
                "bucket": "\(bucket)", "key": "\(key)", "contentTypes": ["text/plain"], "maxBytes": 10,
            ]
            return try user.client.request("POST", "/v1/post-policies", form)
        }
    }
}

extension Deployment {
    /// A bucket and a grant under which a user may ask in all these ways.
    func allowAsking(by users: [User], in bucket: String) async throws {
        try await makeBucket(bucket, options: ["allowsRedirects": true])
        for user in users { try await grant(["GetObject", "PutObject"], to: user.principal, in: bucket) }
    }

    /// What ``Tally/issued`` may hold: the names of all rows of the ledger.
    func recordedNames(in other: TestCluster? = nil) async throws -> Set<String> {
        Set(
            try await session(in: other).texts(
                "SELECT id::text FROM issuances UNION ALL SELECT 'request ' || request_id FROM issuances"))
    }
}

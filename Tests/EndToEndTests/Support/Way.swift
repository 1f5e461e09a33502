import Foundation
import HTTPTesting
import PostgresTesting
import TestSupport
import Testing

/// All the ways in which clients ask for a credential.
enum Way: String, CaseIterable, Sendable {
    case oneByOne = "one at a time"
    case inBatches = "seven at a time"
    case byRedirect = "by redirect"
    case byForm = "by form"
    case byPart = "by part of an upload"
    case bySession = "by session"
    case bySignature = "by signature"
    case byRequest = "by signature of a request"
    case byCookies = "by cookies"

    /// The ways whose answer is a URL or a form.
    static let byURL: [Way] = [.oneByOne, .inBatches, .byRedirect, .byForm]

    /// The ways that need no running store.
    static let withoutStore = allCases.filter { ![.byPart, .bySession].contains($0) }

    /// Number of bytes that each upload announces.
    static let bytes = 10

    /// The delivery in the ledger.
    var delivery: String {
        switch self {
        case .oneByOne, .inBatches: "presigned-url"
        case .byRedirect: "redirect"
        case .byForm: "post-policy"
        case .byPart: "multipart-part"
        case .bySession: "sts"
        case .bySignature, .byRequest: "remote-signature"
        case .byCookies: "cdn-cookies"
        }
    }

    /// The bytes of a request for one object; a batch repeats it seven times.
    func request(for key: String, by asker: Asker) throws -> RawRequest {
        try request(for: self == .inBatches ? Array(repeating: key, count: 7) : [key], by: asker)
    }

    /// The bytes of a request for objects: several in a batch, otherwise one.
    ///
    /// - Parameters:
    ///   - uploads: Whether a URL uploads, where both directions are possible.
    ///   - headers: Further header fields.
    func request(
        for keys: [String], uploads: Bool = false, by asker: Asker, headers: [(name: String, value: String)] = []
    ) throws -> RawRequest {
        let (bucket, key) = (asker.bucket, try #require(keys.first))
        func post(_ target: String, _ body: JSON) throws -> RawRequest {
            try asker.user.client.request("POST", target, body, headers: headers)
        }
        func item(_ key: String) -> JSON {
            guard uploads else { return .download(key, from: bucket) }
            return JSON.upload(key, to: bucket).with(["contentLength": .number(Self.bytes)])
        }
        switch self {
        case .oneByOne: return try post("/v1/presigned-urls", item(key))
        case .inBatches: return try post("/v1/presigned-urls/batch", ["items": .array(keys.map(item))])
        case .byRedirect:
            return try asker.user.client.request("GET", "/v1/objects/\(bucket)/\(key)", headers: headers)
        case .byForm:
            let form: JSON = [
                "bucket": "\(bucket)", "key": "\(key)", "contentTypes": ["text/plain"], "maxBytes": .number(Self.bytes),
            ]
            return try post("/v1/post-policies", form)
        case .byPart:
            let part: JSON = ["partNumber": 1, "contentLength": .number(Self.bytes)]
            return try post("/v1/multipart-uploads/\(try #require(asker.upload).id)/parts", ["parts": [part]])
        case .bySession:
            return try post("/v1/sts", ["bucket": "\(bucket)", "prefix": "\(key)", "actions": ["GetObject"]])
        case .bySignature:
            return try post(
                "/v1/signatures/aws-v2", ["content": "GET\n\n\n\(Self.httpDate(.now))\n/\(bucket)/\(key)"])
        case .byRequest:
            let request: JSON = [
                "region": "\(asker.region)", "method": "GET", "uri": "\(asker.endpoint)/\(bucket)/\(key)",
                "headers": [:],
            ]
            return try post("/v1/aws/s3/sign", request)
        case .byCookies: return try post("/v1/cdn-cookies", ["bucket": "\(bucket)", "prefix": "\(key)"])
        }
    }
}

extension Way {
    /// Formats a time for an HTTP header.
    private static func httpDate(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = .gmt
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
    }
}

/// A user who asks in all these ways.
struct Asker: Sendable {
    var user: User
    let bucket: String
    var endpoint = "https://store.example"
    var region = "eu-west-1"
    /// The user's multipart upload; `nil` where no store runs.
    var upload: (id: String, key: String)?
    /// A ticket of the user's for the prefix `own/`; `nil` where none was made.
    var ticket: String?
}

/// The place where clients ask: a bucket at the store that issues sessions, where it runs, or at no store.
struct AskingGround: Sendable {
    /// The bucket's row, as it was made.
    let row: JSON
    let bucket: String
    let endpoint: String
    let region: String
    /// The secret of the bucket's credential.
    let secret: String
    /// Whether a store runs there.
    let isAtStore: Bool

    /// The ways of asking that are possible here.
    var ways: [Way] { isAtStore ? Way.allCases : Way.withoutStore }

    /// The settings that gateways need for this.
    static var settings: [String: String] {
        store("STS_ENDPOINT").map { ["SLUICE_OUTBOUND_ALLOW": $0] } ?? [:]
    }

    /// Whether the store that issues sessions runs.
    static var hasStore: Bool { store("STS_ENDPOINT") != nil }

    /// A value of the store; `nil` where it does not run.
    fileprivate static func store(_ name: String) -> String? {
        ProcessInfo.processInfo.environment["SLUICE_TEST_RADOSGW_\(name)"]
    }
}

extension Deployment {
    /// Makes the bucket: the store's, of which there is one, or else one of the given name.
    func makeAskingGround(_ name: String = "race", needsStore: Bool = true) async throws -> AskingGround {
        let keyPair = try await create(
            "storage-credentials",
            ["name": "of the CDN for \(name)", "keyPair": ["id": "K2JCJMDEHXQW5F", "privateKey": "\(TestKey.pem)"]])
        let isAtStore = needsStore && AskingGround.hasStore
        if needsStore { #expect(isAtStore || !StoreKind.radosgw.isExpected) }
        func value(_ name: String, orElse other: String) throws -> String {
            isAtStore ? try #require(AskingGround.store(name), "\(name)") : other
        }
        let endpoint = try value("STS_ENDPOINT", orElse: "https://store.example")
        let region = try value("REGION", orElse: "eu-west-1")
        let secret = try value("SECRET_KEY", orElse: "secret-\(UUID().uuidString)")
        keepSecret(secret)
        var credential: JSON = [
            "name": "for \(name)", "accessKeyID": .string(try value("ACCESS_KEY", orElse: "AKIDEXAMPLE")),
            "secretAccessKey": "\(secret)",
        ]
        if isAtStore {
            credential["sessionRole"] = [
                "roleARN": .string(try value("ROLE", orElse: "")), "service": "aws", "endpoint": "\(endpoint)",
                "region": "\(region)",
            ]
        }
        let signing: JSON = ["scheme": "cloudfront", "credentialID": keyPair["id"]]
        let row: JSON = [
            "name": .string(try value("BUCKET", orElse: name)), "endpoint": "\(endpoint)", "region": "\(region)",
            "addressing": "path", "credentialID": try await create("storage-credentials", credential)["id"],
            "allowsRedirects": true, "protocols": ["aws-remote-signing"],
            "publicEndpoints": ["cdn": ["url": "https://cdn.example", "signing": signing]],
        ]
        let bucket = try #require(try await create("buckets", row)["name"].text)
        return AskingGround(
            row: row, bucket: bucket, endpoint: endpoint, region: region, secret: secret, isAtStore: isAtStore)
    }

    /// Makes a user who may ask in all ways under a grant of its own; returns both.
    func makeAsker(_ name: String, at ground: AskingGround) async throws -> (asker: Asker, grant: String) {
        let user = try await makeUser(name)
        let grant = try #require(
            try await create("grants", Self.askingGrant(user.principal, in: ground.bucket))["id"].text)
        var asker = Asker(user: user, bucket: ground.bucket, endpoint: ground.endpoint, region: ground.region)
        if ground.ways.contains(.byPart) {
            let key = "\(name)/\(UUID().uuidString)"
            let upload: JSON = ["bucket": "\(ground.bucket)", "key": "\(key)", "contentType": "text/plain"]
            let started = try await user.client.call("POST", "/v1/multipart-uploads", upload)
            asker.upload = (try #require(started.json["id"].text, "\(started.text)"), key)
        }
        return (asker, grant)
    }

    /// A grant under which a user may ask in all ways.
    static func askingGrant(_ principal: String, in bucket: String) -> JSON {
        [
            "principal": "\(principal)", "bucket": "\(bucket)", "prefix": "", "actions": ["GetObject", "PutObject"],
            "conditions": ["allowResponseContentType": true, "allowVersions": true],
        ]
    }
}

extension Deployment {
    /// Makes a bucket, and grants under which users may ask for URLs and forms.
    func allowAsking(by users: [User], in bucket: String) async throws {
        try await makeBucket(bucket, options: ["allowsRedirects": true])
        for user in users { try await grant(["GetObject", "PutObject"], to: user.principal, in: bucket) }
    }

    /// The names of all ledger rows, for comparison with ``Tally/issued``.
    func recordedNames(in other: TestCluster? = nil) async throws -> Set<String> {
        Set(
            try await session(in: other).texts(
                "SELECT id::text FROM issuances UNION ALL SELECT 'request ' || request_id FROM issuances"))
    }
}

import Foundation
import HTTPTesting
import LibCrypto
import PostgresTesting
import Signing
import TestSupport
import Testing

/// A gateway, a store behind it, and a user who may upload and download everything there.
struct StoreBench: Sendable {
    let deployment: Deployment
    let bucket: String
    var user: User
    let endpoint: String
    let region: String
    let credential: SigningCredential

    @TaskLocal fileprivate static var inScope: SharedTrait<[StoreKind: StoreBench]>.Shared?

    /// The bench of a store; cancels the test where that store does not run.
    static func at(_ kind: StoreKind) throws -> StoreBench {
        if let bench = inScope?.value?[kind] { return bench }
        try Test.cancel("\(kind.testDescription) does not run; CONTRIBUTING.md says how to start it")
    }

    /// Runs `body` with its own bench: its gateway may have other settings and may call the store, and its bucket may
    /// have other options.
    static func with(
        _ kind: StoreKind, cluster: TestCluster? = nil, settings: [String: String] = [:], options: [String: JSON] = [:],
        reachesStore: Bool = false, _ body: @Sendable (StoreBench) async throws -> Void
    ) async throws {
        guard kind.isExpected else {
            try Test.cancel("\(kind.testDescription) does not run; CONTRIBUTING.md says how to start it")
        }
        let reachable = reachesStore ? ["SLUICE_OUTBOUND_ALLOW": kind.value("ENDPOINT") ?? ""] : [:]
        try await Deployment.with(cluster: cluster, settings: settings.merging(reachable) { $1 }) { deployment in
            try await body(StoreBench(kind, deployment, options: options))
        }
    }

    fileprivate init(_ kind: StoreKind, _ deployment: Deployment, options: [String: JSON] = [:]) async throws {
        func value(_ name: String) throws -> String {
            try #require(kind.value(name), "SLUICE_TEST_\(kind.rawValue)_\(name)")
        }
        self.deployment = deployment
        (endpoint, region) = (try value("ENDPOINT"), try value("REGION"))
        credential = SigningCredential(
            accessKeyID: try value("ACCESS_KEY"), secretAccessKey: try value("SECRET_KEY"))
        bucket = try await deployment.makeBucket(
            try value("BUCKET"), endpoint: endpoint, region: region,
            accessKeyID: credential.accessKeyID, secretAccessKey: credential.secretAccessKey,
            options: options.merging(["allowsRedirects": true]) { $1 })
        user = try await deployment.makeUser("alice")
        try await deployment.grant(
            ["PutObject", "GetObject"], to: user.principal, in: bucket,
            options: ["conditions": ["allowResponseContentType": true]])
    }

    /// A key that no other test uses, with the given name at its end.
    func freshKey(_ name: String = "object.bin") -> String { "\(UUID().uuidString)/\(name)" }

    /// A link that uploads exactly these bytes.
    func uploadLink(_ key: String, for body: [UInt8], _ changes: [String: JSON] = [:]) async throws -> Link {
        let request: JSON = [
            "action": "PutObject", "bucket": "\(bucket)", "key": "\(key)", "contentType": "image/png",
            "contentMD5": "\(DigestAlgorithm.md5.digest(of: body).base64)", "contentLength": .number(body.count),
        ]
        return try await link(request.with(changes))
    }

    /// A link that downloads the object.
    func downloadLink(_ key: String, _ changes: [String: JSON] = [:]) async throws -> Link {
        try await link(JSON.download(key, from: bucket).with(changes))
    }

    /// Lets pages of one origin use the bucket, or another one, from a browser, at a store that speaks S3.
    func allowCrossOrigin(_ origin: String, in bucket: String? = nil) async throws {
        let rules = """
            <CORSConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><CORSRule>
            <AllowedOrigin>\(origin)</AllowedOrigin><AllowedHeader>*</AllowedHeader>
            <AllowedMethod>GET</AllowedMethod><AllowedMethod>PUT</AllowedMethod><AllowedMethod>POST</AllowedMethod>
            </CORSRule></CORSConfiguration>
            """
        let answer = try await asOwner("PUT", in: bucket, query: [NamedValue("cors", "")], body: rules)
        try #require(answer.status == 200, "\(answer.text)")
    }

    /// Sends the store a request as the owner of the bucket, or of another one.
    func asOwner(
        _ method: String, _ key: String = "", in bucket: String? = nil, query: [NamedValue] = [], body: String = ""
    ) async throws -> RawResponse {
        let now = try #require(SigningInstant(epochSeconds: Int64(Date().timeIntervalSince1970)))
        let address = try BucketAddress(
            endpoint: try StoreEndpoint(endpoint), bucket: bucket ?? self.bucket, addressing: .path)
        let md5 = DigestAlgorithm.md5.digest(of: Array(body.utf8)).base64
        let request = PresignRequest(
            method: method, address: address, key: key, headers: body.isEmpty ? [] : [NamedValue("content-md5", md5)],
            query: query, expiresInSeconds: 60)
        let url = try V4Presigner(credential, scope: .aws(region: region)).url(for: request, at: now)
        let headers: JSON = body.isEmpty ? [:] : ["content-md5": "\(md5)"]
        return try await Link(["method": "\(method)", "url": "\(url)", "headers": headers]).use(Array(body.utf8))
    }

    private func link(_ request: JSON) async throws -> Link {
        let answer = try await user.ask(request)
        try #require(answer.status == 201, "\(answer.text)")
        #expect(answer["Cache-Control"] == "no-store")
        deployment.keepSecret(urlOf: answer)
        return try Link(answer.json)
    }
}

/// A link that the gateway issued, to be used unchanged or with a change.
struct Link: Sendable {
    var method: String
    var url: String
    var headers: [String: String]

    init(_ json: JSON) throws {
        method = try #require(json["method"].text)
        url = try #require(json["url"].text)
        headers = json["headers"].members.compactMapValues(\.text)
    }

    /// Uses the link in the way a client does that knows only the answer.
    func use(_ body: [UInt8] = []) async throws -> RawResponse {
        let url = try RawURL(url)
        var fields = [(name: "Host", value: url.authority)] + headers.map { (name: $0.key, value: $0.value) }
        if method == "PUT", headers["content-length"] == nil {
            fields.append((name: "Content-Length", value: "\(body.count)"))
        }
        fields.append((name: "Connection", value: "close"))
        let request = RawRequest(method, url.target, headers: fields, body: body)
        return try await request.answer(fromPort: url.port)
    }
}

extension Trait where Self == SharedTrait<[StoreKind: StoreBench]> {
    /// A gateway and a bucket for each real store that runs, as ``StoreBench/at(_:)``.
    static var storeBenches: Self {
        SharedTrait<[StoreKind: StoreBench]>(place: StoreBench.$inScope) {
            var benches: [StoreKind: StoreBench] = [:]
            for kind in StoreKind.allCases where kind.isExpected {
                // The store, and a port on which nobody listens.
                let reachable = [kind.value("ENDPOINT"), "http://127.0.0.1:9"].compactMap(\.self)
                benches[kind] = try await StoreBench(
                    kind, Deployment.start(settings: ["SLUICE_OUTBOUND_ALLOW": reachable.joined(separator: ",")]))
            }
            return benches
        } end: { benches in
            for bench in benches.values { try await bench.deployment.stop() }
        }
    }
}

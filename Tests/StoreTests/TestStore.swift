import Foundation
import HTTPTesting
import LibCrypto
import Signing
import TestSupport
import Testing

/// One running store, as described by its variables.
struct TestStore {
    /// The error of a missing variable in a run that permits no skipped test.
    struct Missing: Error {
        let variable: String
    }

    let endpoint: StoreEndpoint
    /// The endpoint of the same store with the bucket in the host name.
    let virtualEndpoint: StoreEndpoint
    let port: UInt16
    let region: String
    let bucket: String
    let credential: SigningCredential

    /// Finds the store in the environment; cancels the test where there is none.
    init(_ kind: StoreKind) throws {
        func value(_ name: String) throws -> String {
            try Self.variable("SLUICE_TEST_\(kind.rawValue)_\(name)")
        }
        let credential = SigningCredential(
            accessKeyID: try value("ACCESS_KEY"), secretAccessKey: try value("SECRET_KEY"))
        try self.init(kind, at: try value("ENDPOINT"), credential: credential)
    }

    /// Finds the store with STS, and opens a session there.
    static func withSession() throws -> TestStore {
        try withSession(
            SigningCredential(
                accessKeyID: try radosgw("SESSION_ACCESS_KEY"), secretAccessKey: try radosgw("SESSION_SECRET_KEY"),
                securityToken: try radosgw("SESSION_TOKEN")))
    }

    /// Finds the store with STS, for a session that the test provides.
    static func withSession(_ credential: SigningCredential) throws -> TestStore {
        try TestStore(.radosgw, at: try radosgw("STS_ENDPOINT"), credential: credential)
    }

    /// A variable of the store with STS.
    static func radosgw(_ name: String) throws -> String { try variable("SLUICE_TEST_RADOSGW_\(name)") }

    private init(_ kind: StoreKind, at endpoint: String, credential: SigningCredential) throws {
        let domain = try Self.variable("SLUICE_TEST_\(kind.rawValue)_DOMAIN")
        self.endpoint = try StoreEndpoint(endpoint)
        port = try RawURL(endpoint).port
        virtualEndpoint = try StoreEndpoint("http://\(domain):\(port)")
        region = try Self.variable("SLUICE_TEST_\(kind.rawValue)_REGION")
        bucket = try Self.variable("SLUICE_TEST_\(kind.rawValue)_BUCKET")
        self.credential = credential
    }

    /// Whether a test can find a store, or must.
    static var areExpected: Bool {
        StoreKind.allCases.contains(where: \.isExpected)
    }

    private static func variable(_ name: String) throws -> String {
        if let value = ProcessInfo.processInfo.environment[name], !value.isEmpty { return value }
        guard !StoreKind.areRequired else { throw Missing(variable: name) }
        try Test.cancel("\(name) is not set; CONTRIBUTING.md says how to start a store")
    }

    /// A key that no other test uses, with the given name at its end.
    func freshKey(_ name: String = "object.bin") -> String {
        "\(UUID().uuidString)/\(name)"
    }

    /// Presigns a request as the gateway would.
    func presign(
        _ method: String,
        _ key: String,
        headers: [NamedValue] = [],
        query: [NamedValue] = [],
        addressing: Addressing = .path,
        secondsAgo: Int = 0,
        expiresIn: Int = 300
    ) throws -> PresignedURL {
        let now = Int64(Date().timeIntervalSince1970)
        let instant = try #require(SigningInstant(epochSeconds: now - Int64(secondsAgo)))
        let address = try BucketAddress(
            endpoint: addressing == .virtual ? virtualEndpoint : endpoint, bucket: bucket, addressing: addressing)
        let request = PresignRequest(
            method: method, address: address, key: key, headers: headers, query: query, expiresInSeconds: expiresIn)
        let signingKey = try SigningKeyV4(credential, scope: .aws(region: region), at: instant)
        return try AWSV4.presign(request, with: signingKey, at: instant)
    }

    /// Sends a request to a URL with these headers. It adds only `Host` and, with a body, `Content-Length`.
    func send(
        _ method: String, _ url: String, headers: [NamedValue] = [], body: [UInt8]? = nil
    ) async throws -> RawResponse {
        let url = try RawURL(url)
        var fields = [("Host", url.authority)] + headers.map { ($0.name, $0.value) }
        if let body, !headers.contains(where: { $0.name.lowercased() == "content-length" }) {
            fields.append(("Content-Length", String(body.count)))
        }
        fields.append(("Connection", "close"))
        let request = RawRequest(method, url.target, headers: fields, body: body ?? [])
        return try await request.answer(fromPort: port)
    }

    /// Presigns and uploads correctly.
    func upload(_ body: [UInt8], to key: String, addressing: Addressing = .path) async throws -> RawResponse {
        let url = try presign("PUT", key, headers: binding(body), addressing: addressing)
        return try await send("PUT", url.url, headers: url.requiredHeaders, body: body)
    }

    /// Presigns and downloads.
    func download(_ key: String, addressing: Addressing = .path) async throws -> RawResponse {
        try await send("GET", try presign("GET", key, addressing: addressing).url)
    }
}

/// The headers that bind an upload to these bytes, with type `image/png`.
func binding(_ body: [UInt8]) -> [NamedValue] {
    [
        NamedValue("content-type", "image/png"),
        NamedValue("content-md5", DigestAlgorithm.md5.digest(of: body).base64),
        NamedValue("content-length", String(body.count)),
    ]
}

extension Trait where Self == ConditionTrait {
    /// Skips a suite, visibly, where no store runs.
    static var withStores: Self {
        .enabled(if: TestStore.areExpected, "no store runs; CONTRIBUTING.md says how to start one")
    }
}

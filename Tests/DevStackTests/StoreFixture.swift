import Foundation
import HTTPServing
import HTTPTypes
import LibCrypto
import Logging
import Signing
import Synchronization
import Testing

@testable import DevStack

/// A store with the bucket `demo` in its own directory, and a signer for it. The directory is removed with the fixture.
final class StoreFixture: Sendable {
    /// 2026-01-02T03:04:05Z.
    static let signedAt = instant(1_767_323_045)
    static let credential = SigningCredential(accessKeyID: "AKDEMO", secretAccessKey: "demo secret/+")
    static let origin = "http://127.0.0.1:9000"

    let store: EmbeddedStore
    let directory: String

    init(
        allowedOrigins: [String]? = nil, maxObjectBytes: Int64 = 1 << 30,
        now: @escaping @Sendable () -> SigningInstant = { StoreFixture.signedAt }
    ) throws {
        directory = "/tmp/sluice-store-test-\(UUID().uuidString.prefix(8))"
        let configuration = EmbeddedStore.Configuration(
            credential: Self.credential, region: "us-east-1", directory: directory, allowedOrigins: allowedOrigins,
            maxObjectBytes: maxObjectBytes)
        store = try EmbeddedStore(configuration, logger: Logger(label: "test"), now: now)
        try store.makeBucket("demo")
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// An existing instant, given in seconds since 1970.
    static func instant(_ epochSeconds: Int64) -> SigningInstant {
        guard let instant = SigningInstant(epochSeconds: epochSeconds) else { preconditionFailure("no such instant") }
        return instant
    }

    /// A URL of this store, signed as the gateway signs it.
    func url(
        _ method: HTTPRequest.Method, _ key: String, bound: [String: String] = [:], query: [NamedValue] = [],
        expiresIn: Int = 60, bucket: String = "demo", origin: String = StoreFixture.origin,
        addressing: Addressing = .path, credential: SigningCredential = StoreFixture.credential,
        region: String = "us-east-1", at instant: SigningInstant = StoreFixture.signedAt
    ) throws -> String {
        let request = PresignRequest(
            method: method.rawValue,
            address: try BucketAddress(
                endpoint: StoreEndpoint(origin), bucket: bucket, addressing: addressing),
            key: key, headers: bound.map { NamedValue($0.key, $0.value) }, query: query, expiresInSeconds: expiresIn)
        let key = try SigningKeyV4(credential, scope: .aws(region: region), at: instant)
        return try AWSV4.presign(request, with: key, at: instant).url
    }

    /// Sends a request in process.
    func send(
        _ method: HTTPRequest.Method, _ url: String, headers: [String: String] = [:], body: RequestBody? = nil
    ) async throws -> Answer {
        let rest = try #require(url.split(separator: "//", maxSplits: 1).last)
        let slash = try #require(rest.firstIndex(of: "/"))
        var head = RequestHead(method: method, target: String(rest[slash...]))
        head.headerFields.set("host", to: String(rest[..<slash]))
        for (name, value) in headers { head.headerFields.set(name, to: value) }
        return try await Answer(store.respond(to: ServerRequest(head: head, body: body ?? .collected([]))))
    }

    /// Uploads with the headers that the URL binds, and with the length.
    @discardableResult
    func put(
        _ key: String, _ text: String, bound: [String: String] = [:], extra: [String: String] = [:]
    ) async throws -> Answer {
        var headers = bound.merging(extra) { $1 }
        if headers["content-length"] == nil { headers["content-length"] = String(text.utf8.count) }
        return try await send(
            .put, try url(.put, key, bound: bound), headers: headers, body: .collected(Array(text.utf8)))
    }

    /// Downloads.
    func get(
        _ key: String, bound: [String: String] = [:], query: [NamedValue] = [], extra: [String: String] = [:],
        at instant: SigningInstant = StoreFixture.signedAt
    ) async throws -> Answer {
        try await send(
            .get, try url(.get, key, bound: bound, query: query, at: instant), headers: bound.merging(extra) { $1 })
    }

    /// The number of regular files below the directory.
    var fileCount: Int {
        let all = FileManager.default.enumerator(atPath: directory)?.allObjects ?? []
        return all.compactMap { $0 as? String }.filter { path in
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(directory)/\(path)")
            return attributes?[.type] as? FileAttributeType == .typeRegular
        }.count
    }
}

/// An answer whose body has been read.
struct Answer: Sendable {
    let status: Int
    let fields: HeaderFields
    let body: [UInt8]

    init(_ response: ServerResponse) async throws {
        status = response.head.status.code
        fields = response.head.headerFields
        switch response.body {
        case .bytes(let bytes):
            body = bytes
        // With 304, the server sends only the length of the body.
        case .stream where status == 304:
            body = []
        case .stream(let length, let write):
            let collector = Collector()
            try await write(collector)
            body = collector.bytes
            #expect(length == Int64(body.count))
        }
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The code of an S3 error.
    var code: String? {
        text.firstMatch(of: /<Error><Code>(\w+)<\/Code>/).map { String($0.1) }
    }

    subscript(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { fields[$0] }
    }
}

private final class Collector: ResponseBodyWriter {
    private let pieces = Mutex<[UInt8]>([])

    var bytes: [UInt8] { pieces.withLock { $0 } }

    func write(_ bytes: [UInt8]) async throws {
        #expect(!bytes.isEmpty && bytes.count <= 64 << 10)
        pieces.withLock { $0 += bytes }
    }
}

extension String {
    /// Base64 of the digest of this text.
    func digest(_ algorithm: DigestAlgorithm) -> String {
        algorithm.digest(of: Array(utf8)).base64
    }
}

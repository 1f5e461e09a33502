import DevStack
import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Logging
import Signing
import Synchronization
import Testing

@testable import StoreQualification

/// Qualifications of the store of `sluice dev`, which reads requests by code of its own.
@Suite struct EmbeddedStoreTests {
    private static let credential = SigningCredential(accessKeyID: "AKDEMO", secretAccessKey: "demo secret/+")

    private struct NoSessions: SessionOpener {
        func open(_ order: SessionOrder) async throws(GatewayError) -> SessionCredential {
            throw .unavailable(retryAfter: 1, cause: "none")
        }
    }

    private func send(_ call: StoreCall, to store: EmbeddedStore) async throws -> StoreAnswer {
        let url = try #require(URLComponents(string: call.url))
        let method = try #require(HTTPRequest.Method(rawValue: call.method))
        let target = url.percentEncodedPath + (url.percentEncodedQuery.map { "?\($0)" } ?? "")
        var head = RequestHead(method: method, target: target)
        head.headerFields[try #require(HTTPField.Name("host"))] = "127.0.0.1:9000"
        for header in call.headers {
            head.headerFields.append(try #require(HTTPField.Name(header.name)), header.value)
        }
        if let body = call.body, head.headerFields[.contentLength] == nil {
            head.headerFields[.contentLength] = String(body.count)
        }
        let request = ServerRequest(head: head, body: .collected(call.body ?? []))
        let response = await store.respond(to: request)
        var bytes: [UInt8] = []
        switch response.body {
        case .bytes(let all): bytes = all
        case .stream(_, let write):
            let collector = Collector()
            try await write(collector)
            bytes = collector.bytes
        }
        let fields = response.head.headerFields.map { NamedValue($0.name.rawName, $0.value) }
        return StoreAnswer(status: response.head.status.code, fields: fields, body: bytes)
    }

    @Test(arguments: [Bucket.Scheme.awsV4, .awsV2, .ossV4, .ossV1])
    func `every promise that is tried is kept`(scheme: Bucket.Scheme) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "sluice-qualify-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let instant = try #require(SigningInstant(epochSeconds: 1_900_000_000))
        let store = try EmbeddedStore(
            EmbeddedStore.Configuration(
                credential: Self.credential, region: "cn-hangzhou", directory: directory, allowedOrigins: nil,
                maxObjectBytes: 1 << 20),
            logger: Logger(label: "test"), now: { instant })
        try store.makeBucket("photos")
        let isOSS = scheme == .ossV4 || scheme == .ossV1
        let id = UUID()
        let bucket = Bucket(
            name: try BucketName("photos"), provider: isOSS ? .oss : .s3, endpoint: "http://127.0.0.1:9000",
            region: "cn-hangzhou", addressing: .path, scheme: scheme, credentialID: id,
            createdAt: Date(timeIntervalSince1970: 0))
        let credential = StorageCredential(
            id: id, name: "main", accessKeyID: Self.credential.accessKeyID,
            secretAccessKey: Secret(Self.credential.secretAccessKey), createdAt: Date(timeIntervalSince1970: 0))
        let report = await Qualification(
            bucket, credential, opener: NoSessions(), transport: { try? await send($0, to: store) },
            now: { Date(timeIntervalSince1970: 1_900_000_000) }, patience: .seconds(60)
        ).run([scheme])
        let broken = report.judgements.filter { $0.verdict == .broken }
        #expect(broken.isEmpty && report.leftBehind.isEmpty, "\(broken)")
        let forms = report.judgements.filter { $0.delivery == .postPolicy && $0.verdict == .kept }.map(\.check)
        let wanted = ["another content type, in a form", "the file's own type, in a form", "another ACL, in a form"]
        #expect(scheme == .awsV2 || Set(forms).isSuperset(of: wanted), "\(forms)")
    }
}

private final class Collector: ResponseBodyWriter {
    private let pieces = Mutex<[UInt8]>([])

    var bytes: [UInt8] { pieces.withLock { $0 } }

    func write(_ bytes: [UInt8]) async throws { pieces.withLock { $0 += bytes } }
}

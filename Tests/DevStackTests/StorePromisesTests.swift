import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Signing
import TestSupport
import Testing

@testable import StoreQualification

/// Qualifications of the embedded store, which reads requests by code of its own.
@Suite struct StorePromisesTests {
    @Test(arguments: [Bucket.Scheme.awsV4, .awsV2, .ossV4, .ossV1])
    func `every promise that is tried is kept`(scheme: Bucket.Scheme) async throws {
        let fixture = try StoreFixture()
        let isOSS = scheme == .ossV4 || scheme == .ossV1
        let id = UUID()
        let bucket = Bucket(
            name: try BucketName("demo"), provider: isOSS ? .oss : .s3, endpoint: StoreFixture.origin,
            region: isOSS ? "cn-hangzhou" : "us-east-1", addressing: .path, scheme: scheme, credentialID: id,
            createdAt: Date(timeIntervalSince1970: 0))
        let credential = StorageCredential(
            id: id, name: "main", accessKeyID: StoreFixture.credential.accessKeyID,
            secretAccessKey: Secret(StoreFixture.credential.secretAccessKey), createdAt: Date(timeIntervalSince1970: 0))
        let report = await Qualification(
            bucket, credential, opener: NoSessions(), transport: { try? await fixture.answer($0) },
            now: { Date(timeIntervalSince1970: Double(StoreFixture.signedAt.epochSeconds)) }, patience: .seconds(60)
        ).run([scheme])
        let broken = report.judgements.filter { $0.verdict == .broken }
        #expect(broken.isEmpty && report.leftBehind.isEmpty, "\(broken)")
        let forms = report.judgements.filter { $0.delivery == .postPolicy && $0.verdict == .kept }.map(\.check)
        let wanted = ["another content type, in a form", "the file's own type, in a form", "another ACL, in a form"]
        #expect(scheme == .awsV2 || Set(forms).isSuperset(of: wanted), "\(forms)")
    }
}

extension StoreFixture {
    fileprivate func answer(_ call: StoreCall) async throws -> StoreAnswer {
        var headers = Dictionary(call.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
        if let body = call.body { headers["content-length"] = headers["content-length"] ?? String(body.count) }
        let answer = try await send(
            #require(.init(rawValue: call.method)), call.url, headers: headers, body: .collected(call.body ?? []))
        let fields = answer.fields.map { NamedValue($0.name.rawName, $0.value) }
        return StoreAnswer(status: answer.status, fields: fields, body: answer.body)
    }
}

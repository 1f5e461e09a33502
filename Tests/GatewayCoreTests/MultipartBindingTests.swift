import Foundation
import Signing
import Testing

@testable import GatewayCore

/// A limit on the size of a multipart object requires a scheme that signs the length of each part.
@Suite struct MultipartBindingTests {
    static let schemes = Bucket.Scheme.allCases.filter { $0 != .gcsV2RSA }
    static let unable: Set<Bucket.Scheme> = [.ossV1, .awsV2]

    enum Step: CaseIterable { case start, part, complete }

    private func request(_ step: Step, length: Int64?) throws -> IssueRequest {
        var fields = IssueRequest.Fields()
        (fields.bucket, fields.key, fields.contentType) = ("demo-bucket", "team/a.png", "image/png")
        fields.contentLength = step == .start ? length : nil
        if step == .start { return try IssueRequest(starting: fields, newName: nil) }
        let upload = MultipartUpload(
            id: Fixture.id(700), principal: try Principal("user:alice"), bucket: try BucketName("demo-bucket"),
            key: try ObjectKey("team/a.png"), contentType: try #require(MediaType("image/png")), contentLength: length,
            state: .open, createdAt: Fixture.now, expiresAt: Fixture.now.addingTimeInterval(3600))
        if step == .complete {
            return try IssueRequest(completing: upload, storeUploadID: "X1", objectLength: length)
        }
        let request = try IssueRequest(
            part: PartWish(number: 1, contentLength: length), of: upload, storeUploadID: "X1",
            issuance: Fixture.id(701))
        return request.with(
            .part(.init(storeUploadID: "X1", number: 1, issuance: Fixture.id(701), objectLength: length)))
    }

    private func decided(
        _ step: Step, length: Int64? = 10, by scheme: Bucket.Scheme, maxBytes: Int64? = nil,
        quotas: [Quota] = [], allowsUnenforcedSize: Bool = false
    ) throws -> Verdict<Permit> {
        let bucket = try Fixture.bucket(scheme: scheme, allowsUnenforcedSize: allowsUnenforcedSize)
        let grant = try Fixture.grant(1, conditions: GrantConditions(maxBytes: maxBytes))
        let policy = try Fixture.policy(grants: [grant], quotas: quotas, bucket: bucket)
        return try Fixture.decided(request(step, length: length), under: policy)
    }

    private func expectUnbound(_ decision: Verdict<Permit>, by scheme: Bucket.Scheme) {
        guard case .notEnforceable(let reason) = decision.error else {
            Issue.record("\(scheme): \(decision)")
            return
        }
        #expect(reason.contains(scheme == .ossV1 ? "POST /v1/post-policies" : "'aws-v4'"))
    }

    @Test(arguments: schemes, [Int64(9), 10, 11])
    func `a limit of the grant holds from the start`(scheme: Bucket.Scheme, length: Int64) throws {
        for step in [Step.start, .part] {
            let decision = try decided(step, length: length, by: scheme, maxBytes: 10)
            if length > 10 {
                #expect(decision.error == .entityTooLarge(maxBytes: 10))
            } else if Self.unable.contains(scheme) {
                expectUnbound(decision, by: scheme)
            } else {
                #expect(try decision.permit.enforcedBy == (step == .part ? .signature : .none))
            }
        }
    }

    @Test(arguments: schemes) func `a length is asked for only where it helps`(scheme: Bucket.Scheme) throws {
        for step in [Step.start, .part] {
            let decision = try decided(step, length: nil, by: scheme, maxBytes: 10)
            if Self.unable.contains(scheme) {
                expectUnbound(decision, by: scheme)
            } else {
                #expect(decision.error == .conditionFailed(.contentLengthRequired))
            }
        }
    }

    @Test(arguments: schemes) func `a quota of bytes holds from the start`(scheme: Bucket.Scheme) throws {
        let quota = try Fixture.quota(1, metric: .bytes, limit: 1000)
        for step in [Step.start, .part] {
            for allows in [false, true] {
                let decision = try decided(step, by: scheme, quotas: [quota], allowsUnenforcedSize: allows)
                if Self.unable.contains(scheme) {
                    expectUnbound(decision, by: scheme)
                } else {
                    // Bytes are charged to the parts that carry them.
                    #expect(try decision.permit.charges.map(\.amount) == (step == .part ? [10] : []))
                }
            }
        }
    }

    @Test(arguments: schemes) func `nothing is refused where nothing limits the size`(scheme: Bucket.Scheme) throws {
        let elsewhere = try Fixture.quota(1, bucket: "other-bucket", metric: .bytes, limit: 1000)
        let downloads = try Fixture.quota(2, action: .getObject, metric: .bytes, limit: 1000)
        let links = try Fixture.quota(3, metric: .urls, limit: 1000)
        for step in Step.allCases {
            let decision = try decided(step, by: scheme, quotas: [elsewhere, downloads, links])
            #expect(decision.error == nil, "\(step)")
        }
    }

    @Test(arguments: unable) func `a bucket may allow what nobody enforces`(scheme: Bucket.Scheme) throws {
        for step in [Step.start, .part] {
            let permit = try decided(step, by: scheme, maxBytes: 10, allowsUnenforcedSize: true).permit
            #expect(permit.enforcedBy == .none)
            let tooLong = try decided(step, length: 11, by: scheme, maxBytes: 10, allowsUnenforcedSize: true)
            #expect(tooLong.error == .entityTooLarge(maxBytes: 10))
        }
    }

    @Test(arguments: schemes) func `a part is bound by its own length or not at all`(scheme: Bucket.Scheme) throws {
        // Google's stores apply `x-goog-content-length-range` to an object that is written at once, not to a part.
        for step in Step.allCases {
            for length in [nil, Int64(10)] {
                let decision = try decided(step, length: length, by: scheme, allowsUnenforcedSize: true)
                let names = try decision.permit.headers.map(\.name)
                #expect(!names.contains { $0.hasSuffix("content-length-range") })
                let binds = step == .part && length != nil && !Self.unable.contains(scheme)
                #expect(names.contains("content-length") == binds, "\(step) \(names)")
            }
        }
    }

    @Test(arguments: Step.allCases, [nil, Int64(10)])
    func `Google's version 2 has no uploads in parts, limited or not`(step: Step, maxBytes: Int64?) throws {
        for allows in [false, true] {
            let decision = try decided(step, by: .gcsV2RSA, maxBytes: maxBytes, allowsUnenforcedSize: allows)
            guard case .notEnforceable(let reason) = decision.error else {
                Issue.record("\(decision)")
                continue
            }
            #expect(reason.contains("POST /v1/presigned-urls") && reason.contains("'gcs-v4-rsa' or 'gcs-v4-hmac'"))
        }
    }

    @Test(arguments: schemes) func `parts that are there are put together`(scheme: Bucket.Scheme) throws {
        let quota = try Fixture.quota(1, metric: .bytes, limit: 1000)
        #expect(try decided(.complete, by: scheme, maxBytes: 10, quotas: [quota]).error == nil)
    }
}

import Bytes
import Foundation
import LibCrypto
import Signing
import Testing

@testable import GatewayCore

/// Buckets at stores that obey unsigned headers: what each delivery binds, and what is refused. The cases are those of
/// the contract's table.
@Suite struct ClosedUploadTests {
    private static let bytes = Array("0123456789".utf8)
    private static let digest = DigestAlgorithm.sha256.digest(of: bytes)

    private static func bucket(_ scheme: Bucket.Scheme, isClosed: Bool = true) throws -> Bucket {
        var bucket = try Fixture.bucket(scheme: scheme)
        bucket.honoursUnsignedHeaders = isClosed
        return bucket
    }

    private func decided(_ request: IssueRequest, in bucket: Bucket) throws -> Verdict<Permit> {
        try Fixture.decided(request, under: Fixture.policy(grants: [Fixture.grant(1)], bucket: bucket))
    }

    /// A wish that a link has to bind.
    enum Wish: CaseIterable {
        case all, noDigest, noLength, nothing

        var request: IssueRequest {
            get throws {
                try Fixture.put(length: self == .noLength ? nil : self == .nothing ? 0 : 10) {
                    if self != .noDigest { $0.checksumSHA256 = ClosedUploadTests.digest.base64 }
                }
            }
        }
    }

    /// `simulate` and `explain` evaluate rows of the ledger again.
    @Test func `an upload on record is asked for again with its hash`() throws {
        let row = RecordedIssuance(
            id: Fixture.id(1), issuedAt: Fixture.now, expiresAt: Fixture.now.addingTimeInterval(60),
            delivery: "presigned-url", principal: "user:alice", matchedPrincipal: "user:alice", grantID: Fixture.id(1),
            credentialID: Fixture.id(500), actions: ["PutObject"], method: "PUT", bucket: "demo-bucket", key: "team/a",
            contentType: "image/png", contentSHA256: Self.digest.bytes, contentLength: 10, requestID: "r",
            policySequence: 1)
        let request = try #require(IssueRequest.recorded(row).first)
        #expect(request.checksumSHA256 == Self.digest.bytes)
        #expect(try decided(request, in: Self.bucket(.awsV4)).error == nil)
    }

    @Test(arguments: Wish.allCases, [true, false])
    func `a link binds access list, hash and length above zero, or is refused`(wish: Wish, isClosed: Bool) throws {
        let bucket = try Self.bucket(.awsV4, isClosed: isClosed)
        let request = try wish.request
        let decision = try decided(request, in: bucket)
        guard isClosed else {
            let names = try decision.permit.headers.map(\.name)
            #expect(!names.contains("x-amz-acl") && !names.contains("x-amz-content-sha256"))
            return
        }
        switch wish {
        case .noDigest:
            guard case .invalidArgument("checksumSHA256", _) = decision.error else {
                Issue.record("\(decision)")
                return
            }
        case .noLength, .nothing:
            guard case .invalidArgument("contentLength", _) = decision.error else {
                Issue.record("\(decision)")
                return
            }
        case .all:
            let permit = try decision.permit
            let headers = Dictionary(uniqueKeysWithValues: permit.headers.map { ($0.name, $0.value) })
            #expect(
                headers == [
                    "content-type": "image/png", "content-length": "10", "x-amz-acl": "private",
                    "x-amz-content-sha256": Self.digest.hex, "x-detect-content-type": "false",
                ])
            // The promise holds for the finished URL: every header is listed as signed, and the hash stands for the
            // body.
            let url = try URLSigner().url(for: request, by: permit).reveal()
            #expect(
                url.contains(
                    "X-Amz-SignedHeaders=content-length%3Bcontent-type%3Bhost%3Bx-amz-acl%3Bx-amz-content-sha256"))
            for place in permit.headers.indices {
                var headers = permit.headers
                headers.remove(at: place)
                let address = try BucketAddress(
                    endpoint: StoreEndpoint(bucket.endpoint), bucket: bucket.name.rawValue, addressing: .path)
                let lesser = PresignArtefact(
                    request: PresignRequest(
                        method: "PUT", address: address, key: request.key.rawValue, headers: headers,
                        expiresInSeconds: permit.expiresIn),
                    instant: try #require(SigningInstant(epochSeconds: Int64(permit.signedAt.timeIntervalSince1970))),
                    binding: bucket.binding)
                #expect(throws: GatewayError.self) { try prove(lesser, by: permit, of: request) }
            }
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `a link for a part binds hash and length, or is refused`(hasDigest: Bool, hasLength: Bool) throws {
        var fields = IssueRequest.Fields()
        fields.action = "PutObject"
        fields.bucket = "demo-bucket"
        fields.key = "team/photo.png"
        fields.contentType = "image/png"
        if hasDigest { fields.checksumSHA256 = Self.digest.base64 }
        if hasLength { fields.contentLength = 10 }
        let part = MultipartStep.Part(storeUploadID: "u", number: 1, issuance: Fixture.id(9))
        let request = try IssueRequest(
            fields, delivery: .multipartPart, multipart: .part(part), repeatable: nil, newName: nil)
        let closed = try decided(request, in: Self.bucket(.awsV4))
        if hasDigest, hasLength {
            let names = try closed.permit.headers.map(\.name)
            #expect(names == ["content-length", "x-amz-content-sha256"])
        } else {
            #expect(closed.error != nil)
        }
        // In other buckets, a part binds no SHA-256 and needs none.
        let open = try decided(request, in: Self.bucket(.awsV4, isClosed: false))
        #expect((open.error == nil) == !hasDigest)
    }

    @Test(arguments: [true, false]) func `what the gateway sends, forms and downloads are as elsewhere`(
        isClosed: Bool
    ) throws {
        let bucket = try Self.bucket(.awsV4, isClosed: isClosed)
        var fields = IssueRequest.Fields()
        fields.action = "PutObject"
        fields.bucket = "demo-bucket"
        fields.key = "team/photo.png"
        fields.contentType = "image/png"
        for (delivery, step) in [
            (Delivery.multipartStart, MultipartStep.start(objectLength: nil)),
            (.multipartComplete, .complete(storeUploadID: "u", objectLength: nil)),
        ] {
            let request = try IssueRequest(
                fields, delivery: delivery, multipart: step, repeatable: nil, newName: nil)
            let names = try decided(request, in: bucket).permit.headers.map(\.name)
            #expect(names.allSatisfy { $0 == "content-type" }, "\(names)")
        }
        fields.contentLength = 10
        let form = try IssueRequest(fields, delivery: .postPolicy)
        #expect(try decided(form, in: bucket).permit.headers.map(\.name) == ["content-type"])
        #expect(try decided(Fixture.get(), in: bucket).permit.headers.isEmpty)
    }

    @Test func `the old scheme signs every header of the vendor's, so that nothing changes`() throws {
        for isClosed in [true, false] {
            let bucket = try Self.bucket(.awsV2, isClosed: isClosed)
            #expect(try decided(Fixture.put(), in: bucket).permit.headers.map(\.name) == ["content-type"])
        }
    }

    @Test(arguments: Bucket.Provider.allCases, [true, false])
    func `only a store of s3 may be said to obey unsigned headers`(provider: Bucket.Provider, isClosed: Bool) throws {
        var bucket = try Self.bucket(provider.schemes[0], isClosed: isClosed)
        bucket.provider = provider
        bucket.addressing = .virtual
        if isClosed, provider != .s3 {
            #expect(throws: GatewayError.self) { _ = try bucket.validated() }
        } else {
            #expect(try bucket.validated().honoursUnsignedHeaders == isClosed)
        }
    }
}

/// What the rows of other providers than Alibaba OSS refuse.
@Suite struct SymlinkRowTests {
    @Test(arguments: Bucket.Provider.allCases, [true, false])
    func `only a store of oss has symbolic links`(provider: Bucket.Provider, isPermitted: Bool) throws {
        var bucket = try Fixture.bucket(scheme: provider.schemes[0])
        (bucket.provider, bucket.addressing, bucket.permitsSymlinks) = (provider, .virtual, isPermitted)
        if isPermitted, provider != .oss {
            #expect(throws: GatewayError.self) { _ = try bucket.validated() }
        } else {
            #expect(try bucket.validated().permitsSymlinks == isPermitted)
        }
    }
}

/// The fixed callback of a bucket at Alibaba OSS.
@Suite struct CallbackBindingTests {
    private static let callback = Base64.encode(
        Array(#"{"callbackUrl":"https://app.example/done","callbackBody":"bucket=${bucket}&object=${object}"}"#.utf8))
    private static let variables = Base64.encode(Array(#"{"x:a":"b"}"#.utf8))

    private static func bucket(_ scheme: Bucket.Scheme, variables: String? = variables) throws -> Bucket {
        var bucket = try Fixture.bucket(
            endpoint: "https://oss-cn-hangzhou.aliyuncs.com", addressing: .virtual, scheme: scheme)
        bucket.provider = .oss
        bucket.region = "cn-hangzhou"
        bucket.callback = callback
        bucket.callbackVar = variables
        return bucket
    }

    @Test(arguments: [Bucket.Scheme.ossV1, .ossV4], [true, false])
    func `an upload link has it signed, a download has none`(scheme: Bucket.Scheme, hasVariables: Bool) throws {
        let bucket = try Self.bucket(scheme, variables: hasVariables ? Self.variables : nil).validated()
        let policy = try Fixture.policy(grants: [Fixture.grant(1)], bucket: bucket)
        let request = try Fixture.put()
        let permit = try Fixture.decided(request, under: policy).permit
        #expect(permit.query.map(\.name) == ["callback"] + (hasVariables ? ["callback-var"] : []))
        let url = try URLSigner().url(for: request, by: permit).reveal()
        #expect(url.contains("callback=") && url.contains("callback-var=") == hasVariables)
        #expect(try Fixture.decided(Fixture.get(), under: policy).permit.query.isEmpty)
    }

    @Test func `what is no callback, or of another provider, is refused`() throws {
        for change in [
            { $0.callback = "e30=" }, { $0.callback = "no base64" }, { $0.callback = nil },
            { $0.callbackVar = Base64.encode(Array(#"{"a":"b"}"#.utf8)) },
            {
                $0.callback = Base64.encode(
                    Array(
                        #"{"callbackUrl":"https://gw.example/v1/events/oss?secret=sluicee_abc_def","callbackBody":"b"}"#
                            .utf8))
            },
        ] as [(inout Bucket) -> Void] {
            var bucket = try Self.bucket(.ossV4)
            change(&bucket)
            #expect(throws: GatewayError.self) { _ = try bucket.validated() }
        }
        var bucket = try Self.bucket(.awsV4)
        bucket.provider = .s3
        #expect(throws: GatewayError.self) { _ = try bucket.validated() }
    }

    @Test(arguments: [2048, 2052])
    func `it has at most 2,048 characters of base64`(count: Int) throws {
        let head = #"{"callbackUrl":"https://app.example/done","callbackBody":""#
        let body = String(repeating: "b", count: count / 4 * 3 - head.utf8.count - 2)
        var bucket = try Self.bucket(.ossV4)
        bucket.callback = Base64.encode(Array((head + body + #""}"#).utf8))
        #expect(bucket.callback?.utf8.count == count)
        if count <= Bucket.maxCallbackBytes {
            #expect(try bucket.validated().callback == bucket.callback)
        } else {
            let reason = "The value must be base64 of one JSON object, at most 2048 characters long."
            #expect(throws: GatewayError.invalidArgument(field: "callback", reason: reason)) {
                _ = try bucket.validated()
            }
        }
    }

    @Test(arguments: ["exact", "other", "variables missing", "header"])
    func `a client may have exactly it signed`(form: String) throws {
        let now = try #require(SigningInstant(epochSeconds: Int64(Fixture.now.timeIntervalSince1970)))
        let rules = StringRules(
            now: now, maxLifeSeconds: 900, callback: .init(value: Self.callback, variables: Self.variables))
        let value = form == "other" ? Base64.encode(Array("{}".utf8)) : Self.callback
        let variables = form == "variables missing" ? "" : "&callback-var=\(Self.variables)"
        let headers = form == "header" ? "x-oss-callback:\(Self.callback)\nx-oss-callback-var:\(Self.variables)\n" : ""
        let resource = form == "header" ? "" : "?callback=\(value)\(variables)"
        let text = "PUT\n\nimage/png\n\(now.epochSeconds + 60)\n\(headers)/demo-bucket/a.png\(resource)"
        let string = try ReceivedStringToSign(text, vendor: .alibaba)
        if form == "exact" || form == "header" {
            let permitted = try string.permitted(by: rules)
            #expect(permitted.permission.operation == .putObject && permitted.permission.query.isEmpty)
        } else {
            #expect(throws: StringToSignRefusal.callback) { _ = try string.permitted(by: rules) }
        }
        // The same in a bucket without a callback.
        #expect(throws: StringToSignRefusal.callback) {
            _ = try string.permitted(by: StringRules(now: now, maxLifeSeconds: 900))
        }
    }
}

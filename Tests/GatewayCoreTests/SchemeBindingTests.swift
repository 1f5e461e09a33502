import Foundation
import GatewayCore
import Signing
import Testing

/// The parts of a request that each signing scheme binds, and requests that are refused because it cannot bind them.
@Suite struct SchemeBindingTests {
    static let schemes = Bucket.Scheme.allCases
    static let bindLength: Set<Bucket.Scheme> = [.awsV4, .ossV4, .gcsV4RSA, .gcsV4HMAC]
    static let bindRange: Set<Bucket.Scheme> = [.gcsV4RSA, .gcsV4HMAC, .gcsV2RSA]
    static let bindSize = bindLength.union(bindRange)

    private func decided(
        _ request: IssueRequest, by scheme: Bucket.Scheme, conditions: GrantConditions = GrantConditions(),
        quotas: [Quota] = [], allowsUnenforcedSize: Bool = false
    ) throws -> Verdict<Permit> {
        let bucket = try Fixture.bucket(scheme: scheme, allowsUnenforcedSize: allowsUnenforcedSize)
        let policy = try Fixture.policy(
            grants: [Fixture.grant(1, conditions: conditions)], quotas: quotas, bucket: bucket)
        return try Fixture.decided(request, under: policy)
    }

    private func headers(of permit: Permit) -> [String: String] {
        Dictionary(uniqueKeysWithValues: permit.headers.map { ($0.name, $0.value) })
    }

    @Test(arguments: schemes) func `content type and MD5 are always bound`(scheme: Bucket.Scheme) throws {
        let request = try Fixture.put { $0.contentMD5 = "AAAAAAAAAAAAAAAAAAAAAA==" }
        let permit = try decided(request, by: scheme).permit
        #expect(headers(of: permit) == ["content-type": "image/png", "content-md5": "AAAAAAAAAAAAAAAAAAAAAA=="])
        #expect(permit.enforcedBy == .none)
    }

    @Test(arguments: schemes) func `a stated length is bound where it can be, and nobody is told that it is otherwise`(
        scheme: Bucket.Scheme
    ) throws {
        let permit = try decided(Fixture.put(length: 5), by: scheme).permit
        #expect(permit.enforcedBy == (Self.bindSize.contains(scheme) ? .signature : .none))
        #expect(headers(of: permit)["content-length"] == (Self.bindLength.contains(scheme) ? "5" : nil))
        let range = headers(of: permit)["x-goog-content-length-range"]
        #expect(range == (scheme == .gcsV2RSA ? "5,5" : nil))
    }

    @Test(arguments: schemes, [Int64(9), 10, 11])
    func `a limit of the grant holds at, below and above it`(scheme: Bucket.Scheme, length: Int64) throws {
        let decision = try decided(
            Fixture.put(length: length), by: scheme, conditions: GrantConditions(maxBytes: 10))
        if length > 10 {
            #expect(decision.error == .entityTooLarge(maxBytes: 10))
        } else if Self.bindSize.contains(scheme) {
            #expect(try decision.permit.enforcedBy == .signature)
        } else {
            guard case .notEnforceable(let reason) = decision.error else {
                Issue.record("\(decision)")
                return
            }
            #expect(
                reason.contains(
                    scheme == .awsV2 ? "a scheme that binds it, such as 'aws-v4'" : "a form, POST /v1/post-policies"))
        }
    }

    @Test(arguments: schemes) func `a limit without a stated length is a range, or the length has to be stated`(
        scheme: Bucket.Scheme
    ) throws {
        let decision = try decided(Fixture.put(), by: scheme, conditions: GrantConditions(maxBytes: 10))
        switch scheme {
        case .gcsV4RSA, .gcsV4HMAC, .gcsV2RSA:
            #expect(try headers(of: decision.permit)["x-goog-content-length-range"] == "0,10")
            #expect(try decision.permit.enforcedBy == .signature)
        case .awsV4, .ossV4: #expect(decision.error == .conditionFailed(.contentLengthRequired))
        case .awsV2, .ossV1: #expect(decision.error?.code == "NotEnforceable")
        }
    }

    @Test(arguments: [Bucket.Scheme.gcsV4RSA, .gcsV4HMAC, .gcsV2RSA])
    func `a range ends at what one upload may have`(scheme: Bucket.Scheme) throws {
        let permit = try decided(Fixture.put(), by: scheme, conditions: GrantConditions(maxBytes: 200 << 30)).permit
        #expect(headers(of: permit)["x-goog-content-length-range"] == "0,5368709120")
        #expect(permit.maxBytes == 5 << 30)
    }

    @Test(arguments: [Bucket.Scheme.awsV2, .ossV1])
    func `a bucket may allow what nobody enforces, but not past a quota of bytes`(scheme: Bucket.Scheme) throws {
        let conditions = GrantConditions(maxBytes: 10)
        for length in [nil, 10] as [Int64?] {
            let request = try Fixture.put(length: length)
            let permit = try decided(request, by: scheme, conditions: conditions, allowsUnenforcedSize: true).permit
            #expect(permit.enforcedBy == .none)
            #expect(headers(of: permit).keys.sorted() == ["content-type"])
            let quota = try Fixture.quota(1, metric: .bytes, limit: 1000)
            let decision = try decided(
                request, by: scheme, conditions: conditions, quotas: [quota], allowsUnenforcedSize: true)
            #expect(decision.error?.code == "NotEnforceable")
        }
        let tooLong = try decided(
            Fixture.put(length: 11), by: scheme, conditions: conditions, allowsUnenforcedSize: true)
        #expect(tooLong.error == .entityTooLarge(maxBytes: 10))
    }

    @Test(arguments: bindRange)
    func `a quota of bytes reserves the end of the range`(scheme: Bucket.Scheme) throws {
        let quota = try Fixture.quota(1, metric: .bytes, limit: 1000)
        let limited = try decided(
            Fixture.put(), by: scheme, conditions: GrantConditions(maxBytes: 10), quotas: [quota]
        ).permit
        #expect(limited.charges.map(\.amount) == [10])
        #expect(limited.reservedBytes == 10)
        let stated = try decided(
            Fixture.put(length: 4), by: scheme, conditions: GrantConditions(maxBytes: 10), quotas: [quota]
        ).permit
        #expect(stated.charges.map(\.amount) == [4])
        let unlimited = try decided(Fixture.put(), by: scheme, quotas: [quota])
        #expect(unlimited.error == .conditionFailed(.contentLengthRequired))
    }

    /// Version 2 signs decoded parameters: `a=1&b=2` is also one parameter `a` of the value `1&b=2`.
    @Test(arguments: schemes) func `a forced download stays one beside any other header`(scheme: Bucket.Scheme) throws {
        let forced = GrantConditions(forceDownload: true)
        for isCache in [true, false] {
            var response = ResponseOverrides.Fields()
            if isCache { response.cacheControl = "no-cache" } else { response.expires = "0" }
            let request = try Fixture.get { $0.response = response }
            guard try decided(request, by: scheme).error == nil else { continue }
            let isJoined = [.awsV2, .ossV1].contains(scheme)
            let error = try decided(request, by: scheme, conditions: forced).error
            #expect(error?.code == (isJoined ? "NotEnforceable" : nil))
        }
    }

    /// An admin could not help, and the client is told what to change.
    @Test(arguments: schemes, ["a&b.txt", "x&acl", "x&versionId=1", "a&"])
    func `a value that a scheme cannot tell from two is the client's to change`(
        scheme: Bucket.Scheme, value: String
    ) throws {
        let permitted = GrantConditions(allowVersions: true)
        var response = ResponseOverrides.Fields()
        response.contentDisposition = "attachment; filename=\(value)"
        let request = try Fixture.get { $0.response = response }
        let error = try decided(request, by: scheme, conditions: permitted).error
        switch scheme {
        case .awsV2, .ossV1:
            guard case .invalidArgument("response", _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        case .gcsV2RSA: #expect(error?.code == "NotEnforceable")
        default: #expect(error == nil)
        }
    }

    @Test(arguments: schemes) func `a version stays one beside a header`(scheme: Bucket.Scheme) throws {
        let permitted = GrantConditions(allowVersions: true)
        var response = ResponseOverrides.Fields()
        response.contentLanguage = "de"
        for isBeside in [false, true] {
            let request = try Fixture.get { fields in
                fields.versionID = "12"
                if isBeside { fields.response = response }
            }
            let error = try decided(request, by: scheme, conditions: permitted).error
            if [.awsV2, .ossV1].contains(scheme) { #expect(error?.code == (isBeside ? "NotEnforceable" : nil)) }
            if [.awsV4, .ossV4].contains(scheme) { #expect(error == nil) }
        }
    }

    @Test(arguments: schemes) func `metadata and creation stand under the vendor's names`(scheme: Bucket.Scheme) throws
    {
        let request = try Fixture.put { fields in
            fields.metadata = ["owner": "a"]
            fields.ifNoneMatch = "*"
        }
        let decision = try decided(request, by: scheme)
        let expected: [String: String]? =
            switch scheme {
            case .awsV4: ["x-amz-meta-owner": "a", "if-none-match": "*"]
            case .awsV2: nil
            case .ossV4, .ossV1: ["x-oss-meta-owner": "a", "x-oss-forbid-overwrite": "true"]
            case .gcsV4RSA, .gcsV4HMAC, .gcsV2RSA: ["x-goog-meta-owner": "a", "x-goog-if-generation-match": "0"]
            }
        guard var expected else {
            #expect(decision.error?.code == "NotEnforceable")
            return
        }
        expected["content-type"] = "image/png"
        #expect(try headers(of: decision.permit) == expected)
    }

    @Test(arguments: schemes) func `a SHA-256 is bound by AWS V4 alone`(scheme: Bucket.Scheme) throws {
        let request = try Fixture.put { $0.checksumSHA256 = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" }
        let decision = try decided(request, by: scheme)
        if scheme == .awsV4 {
            #expect(try headers(of: decision.permit)["x-amz-checksum-sha256"] != nil)
        } else {
            #expect(decision.error?.code == "NotEnforceable")
        }
    }

    @Test(arguments: schemes) func `headers of the answer are set where the store knows them`(
        scheme: Bucket.Scheme
    ) throws {
        func get(_ change: (inout ResponseOverrides.Fields) -> Void) throws -> Verdict<Permit> {
            var response = ResponseOverrides.Fields()
            change(&response)
            return try decided(Fixture.get { $0.response = response }, by: scheme)
        }
        let named = try get { $0.filename = "a.png" }
        let cached = try get { $0.cacheControl = "no-cache" }
        let forced = try decided(Fixture.get(), by: scheme, conditions: GrantConditions(forceDownload: true))
        if scheme == .gcsV2RSA {
            for decision in [named, cached, forced] { #expect(decision.error?.code == "NotEnforceable") }
            // The holder of the URL may add them.
            for half in [
                GrantConditions(), GrantConditions(allowResponseContentType: true),
                GrantConditions(allowVersions: true),
            ] {
                #expect(try decided(Fixture.get(), by: scheme, conditions: half).error?.code == "NotEnforceable")
            }
            let open = GrantConditions(allowResponseContentType: true, allowVersions: true)
            #expect(try decided(Fixture.get(), by: scheme, conditions: open).permit.query.isEmpty)
            return
        }
        #expect(try named.permit.query.map(\.name) == ["response-content-disposition"])
        #expect(try forced.permit.query.map(\.value) == ["attachment"])
        if Self.bindRange.contains(scheme) {
            #expect(cached.error?.code == "NotEnforceable")
        } else {
            #expect(try cached.permit.query.map(\.name) == ["response-cache-control"])
        }
    }

    @Test(arguments: schemes) func `a version is bound under the vendor's name, or refused`(scheme: Bucket.Scheme)
        throws
    {
        let request = try Fixture.get { $0.versionID = "1715934600000001" }
        let closed = GrantConditions(allowResponseContentType: true)
        #expect(try decided(request, by: scheme, conditions: closed).error == .conditionFailed(.versions))
        let decision = try decided(
            request, by: scheme, conditions: GrantConditions(allowResponseContentType: true, allowVersions: true))
        if scheme == .gcsV2RSA {
            #expect(decision.error?.code == "NotEnforceable")
            return
        }
        let isGoogle = Self.bindRange.contains(scheme)
        #expect(try decision.permit.query.map(\.name) == [isGoogle ? "generation" : "versionId"])
        #expect(try decision.permit.query.map(\.value) == ["1715934600000001"])
        let named = try decided(
            Fixture.get { $0.versionID = "3sL4kqtJlcpXroDTDmJ" }, by: scheme,
            conditions: GrantConditions(allowVersions: true))
        #expect(named.error?.code == (isGoogle ? "InvalidArgument" : nil))
    }

    @Test(arguments: ["", "a b", "a&acl", "é", "a?b", "a%26", String(repeating: "a", count: 1025)])
    func `a version is named by a token`(text: String) {
        #expect(refusedField { try Fixture.get { $0.versionID = text } } == "versionID")
        #expect(refusedField { try Fixture.put { $0.versionID = "1" } } == "versionID")
    }

    @Test(arguments: schemes) func `objects are processed at Alibaba OSS alone`(scheme: Bucket.Scheme) throws {
        let decision = try decided(Fixture.get { $0.process = "image/resize,w_100/format,webp" }, by: scheme)
        if [.ossV4, .ossV1].contains(scheme) {
            let query = try decision.permit.query
            #expect(query.map(\.name) == ["x-oss-process"])
            #expect(query.map(\.value) == ["image/resize,w_100/format,webp"])
        } else {
            #expect(decision.error?.code == "NotEnforceable")
        }
    }

    @Test(arguments: schemes) func `a question mark is refused where it can be read in two ways`(
        scheme: Bucket.Scheme
    ) throws {
        let open = GrantConditions(allowResponseContentType: true, allowVersions: true)
        let decision = try decided(Fixture.get("team/a?acl"), by: scheme, conditions: open)
        if scheme == .ossV1 || scheme == .ossV4 {
            #expect(decision.error?.code == "InvalidArgument")
        } else {
            #expect(try decision.permit.query.isEmpty)
        }
    }

    @Test(arguments: schemes) func `nobody learns of a scheme without a grant`(scheme: Bucket.Scheme) throws {
        let request = try Fixture.put("elsewhere/a?acl") { fields in
            fields.checksumSHA256 = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
            fields.ifNoneMatch = "*"
        }
        #expect(try decided(request, by: scheme).error == .accessDenied)
    }

    @Test(arguments: schemes) func `no life is longer than seven days`(scheme: Bucket.Scheme) throws {
        let open = GrantConditions(allowResponseContentType: true, allowVersions: true)
        let permit = try decided(Fixture.get { $0.expiresIn = 604_801 }, by: scheme, conditions: open).permit
        #expect(permit.expiresIn == 604_800)
    }

    @Test(arguments: [
        "image/resize,w_1", "image/auto-orient,1/quality,q_90", "style/thumb-1", "video/snapshot,t_7000,f_jpg",
        "image/info",
    ])
    func `processing that looks at nothing else is taken`(text: String) throws {
        #expect(try Fixture.get { $0.process = text }.process?.text == text)
    }

    @Test(arguments: [
        "", "image", "image/", "image/watermark,image_c2VjcmV0", "image/resize,w_1/watermark,image_c2VjcmV0",
        "image/resize,w_1|sys/saveas,o_eA", "sys/saveas,o_eA,b_eA", "image/resize,w_1/sys/saveas,o_eA", "style/a,b",
        "style/a/b", "video/snapshot,t_1/x", "video/convert", "image/resize,w 1", "image//resize",
        "image/blend,image_eA",
        "image/resize,w_%31", String(repeating: "image/info/", count: 60) + "info",
    ])
    func `processing that writes, or may show another object, is refused`(text: String) throws {
        #expect(refusedField { try Fixture.get { $0.process = text } } == "process")
    }

    @Test func `only a GET is processed`() {
        #expect(
            refusedField { try Fixture.get { fields in (fields.process, fields.method) = ("image/info", "HEAD") } }
                == "process")
        #expect(refusedField { try Fixture.put { $0.process = "image/info" } } == "process")
        #expect(refusedField { try Fixture.put { $0.method = "POST" } } == "method")
    }
}

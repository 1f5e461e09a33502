import Foundation
import LibCrypto
import Signing
import Testing

@testable import GatewayCore

/// Which address of a bucket links name.
@Suite struct PublicEndpointTests {
    private static func bucket() throws -> Bucket {
        var bucket = try Fixture.bucket()
        bucket.publicEndpoints = [
            .default: PublicEndpoint(url: "https://files.example", addressing: .cname),
            .internal: PublicEndpoint(url: "http://10.0.0.7:9000"),
        ]
        return bucket
    }

    private func decided(_ key: String, at endpoint: String?, in bucket: Bucket) throws -> Verdict<Permit> {
        var fields = IssueRequest.Fields()
        fields.action = "GetObject"
        fields.bucket = "demo-bucket"
        fields.key = key
        fields.endpoint = endpoint
        let policy = try Fixture.policy(grants: [Fixture.grant(1)], bucket: bucket)
        return try Fixture.decided(IssueRequest(fields), under: policy)
    }

    @Test func `a request chooses one by its name, and without a choice has the default`() throws {
        let bucket = try Self.bucket()
        for (name, url) in [
            (nil, "https://files.example"), ("default", "https://files.example"), ("internal", "http://10.0.0.7:9000"),
        ] {
            #expect(try decided("team/a", at: name, in: bucket).permit.bucket.endpoint == url)
        }
        let plain = try Fixture.bucket()
        for name in [nil, "default"] {
            #expect(try decided("team/a", at: name, in: plain).permit.bucket.endpoint == plain.endpoint)
        }
        var second = bucket
        second.publicEndpoints[.default] = nil
        #expect(try decided("team/a", at: nil, in: second).permit.bucket.endpoint == second.endpoint)
    }

    @Test func `a name that the bucket does not have is refused, and told only with a grant`() throws {
        let refused = GatewayError.invalidArgument(
            field: "endpoint", reason: "The bucket has no endpoint of this name.")
        for bucket in [try Self.bucket(), try Fixture.bucket()] {
            #expect(try decided("team/a", at: "accelerate", in: bucket).error == refused)
            #expect(try decided("elsewhere", at: "accelerate", in: bucket).error == .accessDenied)
            #expect(try decided("elsewhere", at: "internal", in: bucket).error == .accessDenied)
        }
        var fields = IssueRequest.Fields()
        (fields.action, fields.bucket, fields.key, fields.endpoint) = ("GetObject", "demo-bucket", "team/a", "Default")
        #expect(refusedField { try IssueRequest(fields) } == "endpoint")
    }

    @Test func `forms are sent to the address that was chosen`() throws {
        var fields = PostPolicyRequest.Fields()
        fields.bucket = "demo-bucket"
        fields.key = "team/a"
        fields.contentTypes = ["image/png"]
        fields.maxBytes = 10
        let policy = try Fixture.policy(grants: [Fixture.grant(1)], bucket: Self.bucket())
        for (name, url) in [(nil, "https://files.example/"), ("internal", "http://10.0.0.7:9000/demo-bucket/")] {
            fields.endpoint = name
            let request = try PostPolicyRequest(fields) { Fixture.id(1) }
            let decision = decide(
                request, for: Subject(principal: try Principal("user:alice"), claims: [:]), under: policy,
                sourceAddress: nil, now: Fixture.now)
            let form = try URLSigner().form(for: request, by: decision.permit)
            #expect(form.url == url)
        }
    }

    @Test func `one signer serves all addresses of a bucket, and forgets those that are gone`() throws {
        let signer = URLSigner()
        var bucket = try Self.bucket()
        func url(_ name: String?) throws -> String {
            var fields = IssueRequest.Fields()
            (fields.action, fields.bucket, fields.key, fields.endpoint) = ("GetObject", "demo-bucket", "team/a", name)
            let request = try IssueRequest(fields)
            let policy = try Fixture.policy(grants: [Fixture.grant(1)], bucket: bucket)
            return try signer.url(for: request, by: Fixture.decided(request, under: policy).permit).reveal()
        }
        for _ in 0..<3 {
            #expect(try url(nil).hasPrefix("https://files.example/team/a?"))
            #expect(try url("internal").hasPrefix("http://10.0.0.7:9000/demo-bucket/team/a?"))
        }
        for number in 0..<20 {
            bucket.publicEndpoints[.default]?.url = "https://n\(number).example"
            #expect(try url(nil).hasPrefix("https://n\(number).example/team/a?"))
        }
        #expect(try url("internal").hasPrefix("http://10.0.0.7:9000/demo-bucket/team/a?"))
    }

    @Test func `an address is checked as the bucket's own is`() throws {
        func field(_ change: (inout Bucket) -> Void) throws -> String? {
            var bucket = try Self.bucket()
            change(&bucket)
            return refusedField { try bucket.validated() }
        }
        #expect(try field { _ in } == nil)
        for url in ["files.example", "ftp://files.example", "https://files.example/a", "https://files.example?a", ""] {
            #expect(try field { $0.publicEndpoints[.cdn] = PublicEndpoint(url: url) } == "publicEndpoints.cdn.url")
        }
        #expect(
            try field { $0.publicEndpoints[.internal]?.addressing = .virtual } == "publicEndpoints.internal.addressing",
            "no bucket precedes an address")
        #expect(
            try field {
                $0.provider = .oss
                $0.scheme = .ossV4
                $0.addressing = .virtual
                $0.publicEndpoints = [.default: PublicEndpoint(url: "https://files.example", addressing: .path)]
            } == "publicEndpoints.default.addressing")
    }

    @Test func `a client's string may name any of the hosts, and no other`() throws {
        var bucket = try Self.bucket()
        bucket.provider = .oss
        bucket.scheme = .ossV4
        bucket.publicEndpoints[.internal]?.addressing = .path
        let credential = Fixture.credential()
        let instant = try #require(SigningInstant(epochSeconds: Int64(Fixture.now.timeIntervalSince1970)))
        func isPermitted(_ host: String) throws -> Bool {
            let canonical =
                "GET\n/demo-bucket/team/a\n\nhost:\(host)\nx-oss-content-sha256:UNSIGNED-PAYLOAD\n"
                + "x-oss-date:\(instant.basic)\n\nhost\nUNSIGNED-PAYLOAD"
            let content =
                "OSS4-HMAC-SHA256\n\(instant.basic)\n\(instant.day)/eu-west-1/oss/aliyun_v4_request\n"
                + DigestAlgorithm.sha256.digest(of: canonical).hex
            let string = try RemoteString(content, canonicalRequest: canonical, scheme: .oss)
            let rules = StringRules(now: instant, maxLifeSeconds: 900)
            return (try? string.permitted(by: rules, in: bucket, credential)) != nil
        }
        for host in ["s3.example.com", "files.example", "10.0.0.7:9000"] { #expect(try isPermitted(host), "\(host)") }
        for host in ["evil.example", "files.example:443", "demo-bucket.files.example"] {
            #expect(try !isPermitted(host), "\(host)")
        }
    }
}

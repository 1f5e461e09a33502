import Foundation
import GatewayCore
import LibCrypto
import Signing
import Testing

/// Who asks for a signature learns of a bucket only what grants let him: otherwise it answers as one that does not
/// exist.
@Suite("Remote signatures and who may know of a bucket", .timeLimit(.minutes(1)))
struct RemoteSecrecyTests {
    private static let date = "Fri, 17 May 2024 08:30:00 GMT"
    private let source: ScriptedPolicy
    private let uploads = MemoryRemoteUploads()

    init() throws {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket().opened
        tables.credential = Fixture.credential()
        // A grant that denies lets nobody know of a bucket either.
        tables.grants = [try Fixture.grant(1), try Fixture.grant(2, to: "user:bob", effect: .deny)]
        tables.apiKeys = try ["alice", "bob"].map { name in
            APIKey(
                id: Fixture.id(name == "alice" ? 3 : 4), prefix: name, hash: Digest(), name: name,
                principal: try Principal("user:" + name), createdAt: Fixture.now)
        }
        source = ScriptedPolicy(tables)
    }

    private func error(
        as user: String, _ sign: (RemoteSignatures, RequestContext) async throws(GatewayError) -> Void
    ) async throws -> GatewayError? {
        let cache = PolicyCache(source: source)
        let authenticator = CacheAuthenticator(cache: cache)
        let ledger = ScriptedLedger()
        let useCase = RemoteSignatures(
            ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ledger, now: { Fixture.now },
                randomBytes: { [UInt8](repeating: 7, count: $0) }), cache: cache, uploads: uploads)
        let context = RequestContext.test(try await authenticator.authenticate(Secret(user)), requestID: "r")
            .with(clientProtocol: .awsRemoteSigning)
        do throws(GatewayError) {
            try await sign(useCase, context)
            #expect(ledger.proposals.count == 1)
            return nil
        } catch {
            #expect(ledger.proposals.isEmpty)
            return error
        }
    }

    /// The error of a request; `nil` where it is signed and recorded.
    private func error(
        _ method: String, _ target: String, as user: String = "alice", region: String = "eu-west-1",
        at origin: String = "https://s3.example.com"
    ) async throws -> GatewayError? {
        let request = try RequestToSign(method: method, url: origin + target, headers: [])
        return try await error(as: user) { useCase, context throws(GatewayError) in
            _ = try await useCase.sign(request, region: region, in: context)
        }
    }

    /// The error of a string; `nil` where it is signed and recorded.
    private func error(
        _ content: String, _ scheme: RemoteSignatures.Scheme, as user: String
    ) async throws -> GatewayError? {
        let string = try RemoteString(content, canonicalRequest: nil, scheme: scheme)
        return try await error(as: user) { useCase, context throws(GatewayError) in
            _ = try await useCase.sign(string, scheme: scheme, in: context.with(clientProtocol: nil))
        }
    }

    @Test func `whatever is wrong with a request, only a caller with a grant learns it`() async throws {
        let wrong: [(what: String, code: String, change: @Sendable (inout ScriptedPolicy.Tables) -> Void)] = [
            ("scheme", "NotEnforceable", { $0.bucket?.scheme = .awsV2 }),
            ("region", "InvalidArgument", { $0.bucket?.region = "us-east-1" }),
            ("life", "NotEnforceable", { $0.bucket?.maxTTL = 60 }),
        ]
        let good = source.now
        for (what, code, change) in wrong {
            source.set {
                $0 = good
                change(&$0)
            }
            #expect(try await error("GET", "/demo-bucket/team/a")?.code == code, "\(what)")
            #expect(try await error("GET", "/demo-bucket/other/a") == .accessDenied, "\(what)")
            #expect(try await error("GET", "/demo-bucket/team/a", as: "bob") == .accessDenied, "\(what)")
            #expect(try await error("DELETE", "/demo-bucket/team/a") == .accessDenied, "\(what)")
        }
    }

    @Test func `a bucket that cannot be read fails a caller with a grant in it, and tells a stranger nothing`()
        async throws
    {
        let unreadable = PolicyKey.bucket(try BucketName("demo-bucket"))
        source.set { $0.unreadable = [unreadable] }
        let put = "PUT\n\nimage/png\n\(Self.date)\n/demo-bucket/team/a"
        for (user, expected) in [
            ("alice", GatewayError.unavailable(retryAfter: 60)), ("bob", GatewayError.accessDenied),
        ] {
            #expect(try await error("GET", "/demo-bucket/team/a", as: user) == expected)
            #expect(try await error(put, .awsV2, as: user) == expected)
        }
        #expect(try await error("GET", "/no-bucket/team/a") == .accessDenied)
        source.set { $0.unreadable = [] }
        #expect(try await error("GET", "/demo-bucket/team/a") == nil)
    }

    @Test func `what names no object is refused in words to a caller with a grant in the bucket alone`() async throws {
        for target in ["/demo-bucket", "/demo-bucket/", "/demo-bucket/a/../b", "/demo-bucket//a", "/demo-bucket/?acl"] {
            guard case .invalidArgument? = try await error("GET", target) else {
                Issue.record("\(target)")
                continue
            }
            #expect(try await error("GET", target, as: "bob") == .accessDenied, "\(target)")
            #expect(try await error("GET", target.replacing("demo", with: "no")) == .accessDenied, "\(target)")
        }
        source.change([.bucket(try BucketName("demo-bucket"))]) { $0.bucket?.protocols = [] }
        #expect(try await error("GET", "/demo-bucket/a/../b") == .accessDenied)
    }

    @Test func `a URL that leads to two buckets is refused, even if the caller may read in both`() async throws {
        let origin = "https://team-files.s3.example.com"
        let target = "/demo-bucket/team/a"
        // The URL names `team/a` in the one, and `demo-bucket/team/a` in the other.
        let one = try Fixture.bucket(endpoint: origin).opened
        let other = try Fixture.bucket("team-files", addressing: .virtual).opened
        let grants = [try Fixture.grant(1), try Fixture.grant(2, on: "demo-bucket/", in: "team-files")]
        source.set {
            $0.bucket = one
            $0.grants = grants
        }
        #expect(try await error("GET", target, at: origin) == nil)
        source.set { $0.secondBucket = other }
        #expect(try await error("GET", target, at: origin) == .accessDenied)
        source.set { $0.bucket = nil }
        #expect(try await error("GET", target, at: origin) == nil)
    }

    @Test func `a string in the words of another vendor, or too long a life, tells a stranger nothing`() async throws {
        let put = "PUT\n\nimage/png\n\(Self.date)\n/demo-bucket/team/a"
        for (user, isKnown) in [("alice", true), ("bob", false)] {
            let foreign = try await error(put, .oss, as: user)
            #expect(isKnown ? foreign?.code == "NotEnforceable" : foreign == .accessDenied)
            let fitting = try await error(put, .awsV2, as: user)
            #expect(isKnown ? fitting == nil : fitting == .accessDenied)
        }
        source.set { $0.bucket?.maxTTL = 60 }
        let tooLong = try await error(put, .awsV2, as: "alice")
        #expect(tooLong?.code == "NotEnforceable")
        #expect(try await error(put, .awsV2, as: "bob") == .accessDenied)
    }

    @Test func `who may only upload lists the parts of an upload, and reads nothing`() async throws {
        source.set { $0.grants[0].actions = [.putObject] }
        let target = "/demo-bucket/team/a"
        #expect(try await error("POST", target + "?uploads") == nil)
        #expect(try await error("PUT", target + "?partNumber=1&uploadId=X1") == nil)
        #expect(try await error("GET", target + "?uploadId=X1") == nil)
        #expect(try await error("GET", target) == .accessDenied)
        source.set { $0.grants[0].actions = [.getObject] }
        #expect(try await error("GET", target + "?uploadId=X1") == .accessDenied)
    }

    @Test func `no upload in parts begins at a store that obeys unsigned headers`() async throws {
        source.set { $0.bucket?.honoursUnsignedHeaders = true }
        #expect(try await error("POST", "/demo-bucket/team/a?uploads")?.code == "NotEnforceable")
        #expect(try await error("GET", "/demo-bucket/team/a") == nil)
    }

    @Test func `after the protocol is closed, an upload can be given up by its owner, and nothing else`() async throws {
        let target = "/demo-bucket/team/a"
        let part = target + "?partNumber=1&uploadId=X1"
        #expect(try await error("POST", target + "?uploads") == nil)
        #expect(try await error("PUT", part) == nil)
        source.change([.bucket(try BucketName("demo-bucket"))]) { $0.bucket?.protocols = [] }
        for (method, step) in [
            ("POST", target + "?uploads"), ("PUT", part), ("GET", target + "?uploadId=X1"),
            ("POST", target + "?uploadId=X1"), ("GET", target), ("DELETE", target), ("PUT", target),
        ] {
            #expect(try await error(method, step) == .accessDenied, "\(method) \(step)")
        }
        let end = target + "?uploadId=X1"
        #expect(try await error("DELETE", end, as: "bob") == .accessDenied)
        #expect(try await error("DELETE", target + "?uploadId=X2") == .accessDenied)
        #expect(try await error("DELETE", end) == nil)
        source.change([.principal(try Principal("user:alice"))]) { $0.grants = [] }
        #expect(try await error("DELETE", end) == .accessDenied)
    }
}

extension Bucket {
    /// The same bucket, open to clients that have S3 requests signed.
    fileprivate var opened: Bucket {
        var bucket = self
        bucket.protocols = [.awsRemoteSigning]
        return bucket
    }
}

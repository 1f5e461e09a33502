import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Signing
import Synchronization
import Testing

@Suite("POST /v1/aws/s3/sign")
struct RemoteSigningTests {
    private func sign(
        _ gateway: TestGateway, _ method: String, _ target: String, _ headers: [String: Any] = [:],
        origin: String = "https://store.example", region: String = "eu-west-1", more: [String: Any] = [:]
    ) async throws -> TestAnswer {
        let body: [String: Any] = [
            "method": method, "uri": origin + target, "region": region, "headers": headers,
        ]
        let json = try JSONSerialization.data(withJSONObject: body.merging(more) { $1 })
        return await gateway.send(
            .post, "/v1/aws/s3/sign", token: "user-token", json: String(decoding: json, as: UTF8.self))
    }

    private func open(
        _ conditions: GrantConditions = GrantConditions(), effect: Grant.Effect = .allow, quota: Quota? = nil
    ) -> TestGateway {
        TestGateway(
            policy: StubPolicy(
                conditions: conditions, effect: effect, protocols: [.awsRemoteSigning], quota: quota))
    }

    private func error(_ answer: TestAnswer) -> String? { (answer.json["error"] as? [String: Any])?["type"] as? String }

    @Test("a read is signed, and clients may keep the signature")
    func reading() async throws {
        let gateway = open()
        let answer = try await sign(
            gateway, "GET", "/photos/uploads/a%20b", ["User-Agent": ["x"], "Range": ["bytes=0-1"]],
            more: ["properties": ["a": "b"], "provider": "s3", "body": NSNull()])
        #expect(answer.status == 200, "\(answer.text)")
        let headers = try #require(answer.json["headers"] as? [String: [String]])
        #expect(answer.string("uri") == "https://store.example/photos/uploads/a%20b")
        #expect(headers["Range"] == ["bytes=0-1"] && headers["x-amz-date"] == ["20300317T174640Z"])
        #expect(headers["x-amz-content-sha256"] == ["UNSIGNED-PAYLOAD"])
        let authorization = try #require(headers["authorization"]?.first)
        #expect(
            authorization.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20300317/eu-west-1/s3/aws4_request, "
                    + "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature="))
        #expect(answer.headers[.cacheControl] == "private")
        let proposal = try #require(gateway.ledger.proposals.withLock { $0.first })
        #expect(proposal.delivery == .remoteSignature && proposal.method == "GET" && proposal.action == .getObject)
        #expect(proposal.key.rawValue == "uploads/a b" && proposal.expiresAt == TestGateway.now.addingTimeInterval(900))
        #expect(!gateway.logLines.contains(authorization.suffix(64)))
        let conditional = try await sign(gateway, "GET", "/photos/uploads/a", ["If-Match": ["\"x\""]])
        #expect(conditional.headers[.cacheControl] == "no-cache")
    }

    @Test("a write binds its type, its length and its checksums, and is not to be kept")
    func writing() async throws {
        let gateway = open(GrantConditions(maxBytes: 100))
        let answer = try await sign(
            gateway, "PUT", "/photos/uploads/a",
            ["Content-Length": ["9"], "x-amz-checksum-crc32": ["AAAAAA=="], "Content-Type": ["a/b"]])
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.headers[.cacheControl] == "no-cache")
        #expect(
            answer.text.contains(
                "content-length;content-type;host;x-amz-checksum-crc32;x-amz-content-sha256;x-amz-date"))
        let proposal = try #require(gateway.ledger.proposals.withLock { $0.first })
        #expect(proposal.contentLength == 9 && proposal.contentType == "a/b" && proposal.action == .putObject)
        #expect(
            error(try await sign(gateway, "PUT", "/photos/uploads/a", ["Content-Length": ["101"]])) == "EntityTooLarge")
        // Nothing binds the length.
        #expect(error(try await sign(gateway, "PUT", "/photos/uploads/a")) == "NotEnforceable")
        #expect(error(try await sign(gateway, "POST", "/photos/uploads/a?uploads")) == "NotEnforceable")
    }

    @Test("a quota on bytes refuses what binds no length, and charges what does")
    func byteQuota() async throws {
        var quota = try StubPolicy.quota()
        quota.metric = .bytes
        quota.action = .putObject
        let gateway = open(quota: quota)
        #expect(error(try await sign(gateway, "PUT", "/photos/uploads/a")) == "NotEnforceable")
        #expect(gateway.ledger.proposals.withLock { $0.isEmpty })
        #expect(try await sign(gateway, "PUT", "/photos/uploads/a", ["content-length": ["9"]]).status == 200)
        #expect(gateway.ledger.proposals.withLock { $0.first }?.charges.map(\.amount) == [9])
    }

    @Test("conditions of grants hold")
    func conditions() async throws {
        let png = ["content-type": ["image/png"]]
        #expect(
            try await sign(open(GrantConditions(contentTypes: ["image/*"])), "PUT", "/photos/uploads/a", png).status
                == 200)
        #expect(
            error(try await sign(open(GrantConditions(contentTypes: ["image/*"])), "PUT", "/photos/uploads/a"))
                == "AccessDenied")
        #expect(
            error(try await sign(open(GrantConditions(maxTTL: 60)), "GET", "/photos/uploads/a")) == "NotEnforceable")
        #expect(
            error(try await sign(open(GrantConditions(forceDownload: true)), "GET", "/photos/uploads/a"))
                == "NotEnforceable")
        #expect(
            error(try await sign(open(GrantConditions(sourceCIDRs: ["198.51.100.0/24"])), "GET", "/photos/uploads/a"))
                == "AccessDenied")
        #expect(error(try await sign(open(effect: .deny), "GET", "/photos/uploads/a")) == "AccessDenied")
    }

    @Test(
        "what leads elsewhere or can be read in two ways is refused",
        arguments: [
            ("GET", "/photos/other/a", 403), ("GET", "/nowhere/uploads/a", 403),
            // Its scheme is another.
            ("GET", "/oss-photos/uploads/a", 422),
            ("GET", "/photos/uploads%2Fa", 400), ("GET", "/photos/uploads/../uploads/a", 400),
            ("GET", "/photos/uploads/a?acl", 400), ("PUT", "/photos/uploads/a?tagging", 400),
            ("GET", "/photos/uploads/a?versionId=1&versionId=2", 400), ("PATCH", "/photos/uploads/a", 400),
            ("POST", "/photos/?delete", 400), ("OPTIONS", "/photos/uploads/a", 400),
            ("PUT", "/photos/uploads/a?partNumber=1&uploadId=u", 403),
        ])
    func refusals(method: String, target: String, status: Int) async throws {
        let gateway = open()
        let answer = try await sign(gateway, method, target)
        #expect(answer.status == status, "\(answer.text)")
        #expect(gateway.ledger.proposals.withLock { $0.isEmpty } && !answer.text.contains("Signature="))
    }

    @Test(
        "a URL names the bucket where its row does, and at Amazon also in the path of its own endpoint",
        arguments: [Bucket.Provider.aws, .s3], [nil, .virtual, .path, .cname] as [Bucket.Addressing?])
    func addressing(provider: Bucket.Provider, addressing: Bucket.Addressing?) async throws {
        let addressing = addressing ?? provider.defaultAddressing
        let gateway = TestGateway(
            policy: StubPolicy(
                publicEndpoints: [.internal: PublicEndpoint(url: "https://inner.example")],
                protocols: [.awsRemoteSigning], provider: provider, addressing: addressing))
        for (base, style, isOwn) in [
            ("https://photos.store.example", .virtual, true), ("https://store.example/photos", .path, true),
            ("https://photos.inner.example", .virtual, false), ("https://inner.example/photos", .path, false),
        ] as [(String, Bucket.Addressing, Bool)] {
            let fits = addressing == style || style == .path && addressing == .virtual && provider == .aws && isOwn
            let answer = try await sign(gateway, "GET", "/uploads/a", origin: base)
            #expect(answer.status == (fits ? 200 : 403), "\(base): \(answer.text)")
            guard fits else { continue }
            // What is signed is the path that the client sends.
            let address = try BucketAddress(
                endpoint: StoreEndpoint(isOwn ? "https://store.example" : "https://inner.example"), bucket: "photos",
                addressing: style == .path ? .path : .virtual)
            #expect(address.origin + address.path == base)
            let now = try #require(SigningInstant(epochSeconds: 1_900_000_000))
            let key = try SigningKeyV4(
                SigningCredential(accessKeyID: "AKIDEXAMPLE", secretAccessKey: StubPolicy.secret),
                scope: .aws(region: "eu-west-1"), at: now)
            let expected = try AWSV4.authorize(
                SignableRequest(method: "GET", address: address, key: "uploads/a"), with: key, at: now)
            let headers = answer.json["headers"] as? [String: [String]]
            #expect(headers?["authorization"] == [expected.authorization], "\(base)")
            #expect(gateway.ledger.proposals.withLock { $0.last }?.key.rawValue == "uploads/a")
        }
        let count = gateway.ledger.proposals.withLock(\.count)
        for base in [
            "https://store.example/other", "https://store.example/photos2", "https://store.example/photos/photos",
            "https://photos.store.example/photos", "https://photos.store.example/other",
            "https://other.store.example", "https://other.store.example/photos", "https://photos.store.example.evil",
            "https://store.example.evil/photos", "http://store.example/photos", "https://x@store.example/photos",
        ] {
            let answer = try await sign(gateway, "GET", "/uploads/a", origin: base)
            #expect(answer.status == 403, "\(base): \(answer.text)")
        }
        #expect(gateway.ledger.proposals.withLock(\.count) == count)
    }

    @Test("admins learn the host of a URL that leads to no bucket; its sender does not")
    func unknownHost() async throws {
        for (origin, host) in [
            ("https://photos.evil.example", "photos.evil.example"), ("http://store.example", "store.example"),
            ("https://alice:secret-word@store.example:9000", "store.example:9000"),
        ] {
            let gateway = open()
            let answer = try await sign(gateway, "GET", "/photos/uploads/private-name", origin: origin)
            #expect(answer.status == 403 && !answer.text.contains("example"))
            let note = try #require(gateway.refusals.rows.withLock { $0.first }).note
            #expect(note.reason == .noSuchBucket && note.code == "AccessDenied")
            #expect(note.subject == "the URL leads to no bucket at \(host)")
            #expect(!gateway.logLines.contains("secret-word") && !gateway.logLines.contains("private-name"))
        }
        let gateway = open()
        let hostless = try await sign(gateway, "GET", "/photos/uploads/a", origin: "https://alice:secret-word@")
        #expect(hostless.status == 400)
        #expect(gateway.refusals.rows.withLock { "\($0)" }.contains("secret-word") == false)
    }

    @Test("another host, region, body or shape of headers is refused")
    func shapes() async throws {
        let gateway = open()
        for origin in [
            "http://store.example", "https://photos.store.example", "https://store.example:443", "https://x",
        ] {
            #expect(try await sign(gateway, "GET", "/photos/uploads/a", origin: origin).status == 403, "\(origin)")
        }
        #expect(try await sign(gateway, "GET", "/photos/uploads/a", region: "us-east-1").status == 400)
        for headers in [["a": "b"], ["a": ["b", "c"]], ["a": []], ["a": [1]], ["x-amz-date": ["x"]]] as [[String: Any]]
        {
            #expect(try await sign(gateway, "GET", "/photos/uploads/a", headers).status == 400, "\(headers)")
        }
        for more in [["provider": "gcs"], ["unknown": 1], ["uri": 7], ["headers": [] as [Int]]] as [[String: Any]] {
            #expect(try await sign(gateway, "GET", "/photos/uploads/a", more: more).status == 400, "\(more)")
        }
        #expect(gateway.ledger.proposals.withLock { $0.isEmpty })
    }

    @Test("a bucket that does not open the protocol answers as one that does not exist")
    func closed() async throws {
        for protocols in [[], [.gitLFS]] as [Set<ClientProtocol>] {
            let gateway = TestGateway(policy: StubPolicy(protocols: protocols))
            let closed = try await sign(gateway, "GET", "/photos/uploads/a")
            let unknown = try await sign(gateway, "GET", "/nowhere/uploads/a")
            #expect(closed.status == 403 && closed.text == unknown.text)
        }
        // The scheme of the bucket is another: clients could not use the signature.
        let other = TestGateway(policy: StubPolicy(protocols: [.awsRemoteSigning], scheme: .awsV2))
        #expect(error(try await sign(other, "GET", "/photos/uploads/a")) == "NotEnforceable")
    }

    @Test("what cannot be recorded is not signed")
    func noLedger() async throws {
        let gateway = TestGateway(
            ledger: StubLedger(failure: .unavailable(retryAfter: 3)), policy: StubPolicy(protocols: [.awsRemoteSigning])
        )
        let answer = try await sign(gateway, "GET", "/photos/uploads/a")
        #expect(answer.status == 503 && answer.headers[.retryAfter] == "3" && !answer.text.contains("Signature="))
    }
}

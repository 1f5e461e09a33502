import Foundation
import GatewayCore
import HTTPServing
import HTTPTesting
import HTTPTypes
import Testing

@testable import GatewayCloud

@Suite struct BucketProbeTests {
    static let key = ".sluice-probe/00112233445566778899aabbccddeeff"
    static let body = Array("sluice probe \(key)".utf8)

    static func bucket(_ endpoint: String, scheme: Bucket.Scheme = .awsV4) throws -> Bucket {
        let provider: Bucket.Provider =
            scheme.rawValue.hasPrefix("oss") ? .oss : scheme.rawValue.hasPrefix("gcs") ? .gcs : .s3
        return Bucket(
            name: try BucketName("photos"), provider: provider, endpoint: endpoint, region: "eu-west-1",
            addressing: .path, scheme: scheme, credentialID: UUID(), allowedOrigins: ["https://app.example"],
            createdAt: .distantPast)
    }

    static func validate(
        _ bucket: Bucket, allow origins: [String] = [], cdnCredential: StorageCredential? = nil,
        ahead: TimeInterval = 0, patience: Duration? = nil
    ) async throws -> BucketValidation {
        let credential = StorageCredential(
            id: UUID(), name: "main", accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("the-secret"),
            createdAt: .distantPast)
        let client = OutboundClient(policy: try OutboundPolicy(origins: origins), timeout: .seconds(20))
        var probe = BucketProbe(
            client: client, signer: URLSigner(), maxClockDifference: 5, now: { Date().addingTimeInterval(ahead) })
        if let patience { probe.patience = patience }
        return await probe.validate(bucket, with: credential, cdnCredential, probe: try ObjectKey(key))
    }

    func validate(
        _ store: ProbedStore, scheme: Bucket.Scheme = .awsV4, ahead: TimeInterval = 0, isClosed: Bool = false
    ) async throws -> (validation: BucketValidation, peer: StandIn) {
        let peer = StandIn { store.answer($0.head, Self.body) }
        let validation = try await peer.serve { origin in
            var bucket = try Self.bucket(origin, scheme: scheme)
            bucket.honoursUnsignedHeaders = isClosed
            return try await Self.validate(bucket, allow: [origin], ahead: ahead)
        }
        return (validation, peer)
    }

    func outcomes(_ validation: BucketValidation) -> [String] {
        validation.findings.map { "\($0.step.rawValue) \($0.outcome.rawValue)" }
    }

    @Test("tries each step once, with links in the bucket's scheme", arguments: Bucket.Scheme.allCases)
    func allSteps(scheme: Bucket.Scheme) async throws {
        guard scheme != .gcsV4RSA, scheme != .gcsV2RSA else { return }
        let store = ProbedStore()
        let (validation, peer) = try await validate(store, scheme: scheme)
        #expect(validation.isValid && !validation.leavesProbe && !store.holdsObject)
        #expect(
            outcomes(validation)
                == BucketValidation.Step.allCases
                .filter { !$0.isOfEndpoint && (Self.misuses(scheme).contains($0) || !Self.unsigned.contains($0)) }
                .map { "\($0.rawValue) passed" }, "\(validation.findings)")
        #expect(validation.findings.allSatisfy { $0.advice == nil && $0.failure == nil })
        let foreign: [HTTPRequest.Method] = [.put, .put, .head, .put, .head, .delete]
        let unsigned = scheme == .awsV4 ? [.put, .put] + foreign + [.put] : scheme == .awsV2 ? foreign : []
        #expect(peer.heads.map(\.method) == [.put, .get, .head] + unsigned + [.delete, .head, .options])
        let first = peer.requests[0]
        #expect(first.body == Self.body && first.head.headerFields[.contentType] == "application/octet-stream")
        #expect(
            peer.heads.allSatisfy {
                let target = $0.target
                return ["", "-copy", ".html"].contains { target.hasPrefix("/photos/\(Self.key)\($0)?") }
            })
        #expect(peer.heads.allSatisfy { $0.target.contains("ignature=") })
        let preflight = try #require(peer.heads.last?.headerFields)
        #expect(preflight[.origin] == "https://app.example" && preflight[.accessControlRequestMethod] == "PUT")
    }

    @Test("reads the probe through each public endpoint that it reaches, and says what it found at each")
    func publicEndpoints() async throws {
        let store = ProbedStore()
        let other = StandIn { _ in .error("SignatureDoesNotMatch", 403) }
        let peer = StandIn { store.answer($0.head, Self.body) }
        let validation = try await peer.serve { origin in
            try await other.serve { wrong in
                var bucket = try Self.bucket(origin)
                bucket.publicEndpoints = [
                    .default: PublicEndpoint(url: origin.replacing("127.0.0.1", with: "localhost")),
                    .internal: PublicEndpoint(url: "http://10.255.255.1:9000"),
                    .accelerate: PublicEndpoint(url: wrong, addressing: .cname),
                ]
                let allowed = [origin, wrong, origin.replacing("127.0.0.1", with: "localhost")]
                return try await Self.validate(bucket, allow: allowed)
            }
        }
        let found = validation.findings.filter { $0.step == .endpoint }
        #expect(found.map(\.endpoint) == [.default, .internal, .accelerate])
        #expect(found.map(\.outcome) == [.passed, .skipped, .failed], "\(found)")
        #expect(found[1].failure == .blocked && found[1].advice?.contains("does not reach") == true)
        #expect(found[2].failure?.code == "SignatureDoesNotMatch" && found[2].advice?.contains("'cname'") == true)
        #expect(!validation.isValid && !validation.leavesProbe)
        #expect(other.heads.map(\.target).allSatisfy { $0.hasPrefix("/\(Self.key)?") } && other.requests.count == 1)
        let hosts = peer.heads.map { ($0.headerFields[HTTPField.Name("host")!] ?? "").prefix { $0 != ":" } }
        #expect(hosts.filter { $0 == "localhost" }.count == 2, "the object once, and the page's question: \(hosts)")
        #expect(hosts.last == "localhost", "pages use the address of links")
    }

    @Test(
        "tells the store's code and what to do, and nothing else of what it says",
        arguments: [
            ("SignatureDoesNotMatch", 403, "secret"), ("RequestTimeTooSkewed", 403, "NTP"),
            ("NoSuchBucket", 404, "no bucket 'photos'"), ("AccessDenied", 403, "s3:PutObject"),
            ("InvalidAccessKeyId", 403, "access key"), ("ExpiredToken", 400, "session token"),
            ("SlowDown", 503, "in trouble"), ("NotImplemented", 501, "aws-v4"), ("InvalidRequest", 400, "scheme"),
        ])
    func refusals(code: String, status: Int, advice: String) async throws {
        let (validation, peer) = try await validate(ProbedStore([.put: .error(code, status)]))
        let put = validation.findings[0]
        #expect(put.outcome == .failed && put.status == status && put.failure?.code == code)
        #expect(put.advice?.contains(advice) == true, "\(put.advice ?? "")")
        #expect(!"\(validation)".contains("secret words"))
        #expect(!"\(validation)".contains("the-secret"))
        // An object that may have been written despite the answer is removed.
        #expect(peer.heads.map(\.method).contains(.delete) == (status >= 500))
        #expect(!validation.isValid)
    }

    @Test("names the region that the store redirects to, follows nothing", arguments: [301, 307, 308])
    func redirects(status: Int) async throws {
        let elsewhere = StandIn { _ in .bytes("internal") }
        try await elsewhere.serve { target in
            let redirect = ServerResponse(
                head: ResponseHead(
                    status: .init(code: status),
                    headerFields: [.location: target, HTTPField.Name("x-amz-bucket-region")!: "ap-south-1"]))
            let (validation, _) = try await validate(ProbedStore([.put: redirect]))
            #expect(validation.findings[0].failure == .redirected(region: "ap-south-1"))
            #expect(validation.findings[0].advice?.contains("'ap-south-1'") == true)
        }
        #expect(elsewhere.requests.isEmpty)
    }

    @Test(
        "names the region that the store expects in the signature",
        arguments: [
            ("<Region>eu-central-1</Region>", "eu-central-1"), ("", nil), ("<Region>&lt;b&gt;</Region>", nil),
            ("<Region>\(String(repeating: "a", count: 33))</Region>", nil),
        ])
    func wrongRegion(element: String, region: String?) async throws {
        let code = "AuthorizationQueryParametersError"
        let body = "<Error><Code>\(code)</Code><Message>wrong</Message>\(element)</Error>"
        let (validation, _) = try await validate(ProbedStore([.put: .bytes(body, status: .badRequest)]))
        let failure = validation.findings[0].failure
        #expect(failure == (region.map { .redirected(region: $0) } ?? .refused(status: 400, code: code)))
    }

    @Test("takes a region only from a word that can be one")
    func hostileRegion() async throws {
        let redirect = ServerResponse(
            head: ResponseHead(
                status: .movedPermanently, headerFields: [HTTPField.Name("x-amz-bucket-region")!: "see <internal>"]))
        let (validation, _) = try await validate(ProbedStore([.put: redirect]))
        #expect(validation.findings[0].failure == .redirected(region: nil))
    }

    @Test("says that a probe may have stayed")
    func leftProbe() async throws {
        let store = ProbedStore([.delete: .error("AccessDenied", 403)])
        let (validation, _) = try await validate(store)
        #expect(validation.leavesProbe && store.holdsObject && validation.isValid)
        #expect(outcomes(validation).contains("delete warned") && outcomes(validation).contains("absent skipped"))
        #expect(validation.findings.first { $0.step == .delete }?.advice?.contains("s3:DeleteObject") == true)
        let (kept, _) = try await validate(ProbedStore([.delete: .bytes("", status: .noContent)]))
        #expect(kept.leavesProbe && outcomes(kept).contains("absent failed"))
    }

    @Test(arguments: [(Bucket.Scheme.awsV4, "x-amz-version-id", "'s3:"), (.ossV4, "x-oss-version-id", "'oss:")])
    func `names the permission to remove a version, where that is what it did`(
        scheme: Bucket.Scheme, field: String, vendor: String
    ) async throws {
        let name = try #require(HTTPField.Name(field))
        let store = ProbedStore([.delete: .error("AccessDenied", 403)], fields: [name: "v1"])
        let advice = try await validate(store, scheme: scheme).validation.findings.first { $0.step == .delete }?.advice
        #expect(advice?.contains("\(vendor)DeleteObjectVersion'") == true, "\(advice ?? "")")
        #expect(advice?.contains("Object Lock") == true)
    }

    @Test("removes the version that it made")
    func versions() async throws {
        let store = ProbedStore(fields: [HTTPField.Name("x-amz-version-id")!: "v/1+2"])
        let (_, peer) = try await validate(store)
        let deletion = try #require(peer.heads.first { $0.method == .delete }?.target)
        #expect(deletion.contains("versionId=v%2F1%2B2"))
    }

    @Test("finds a store that gives back other bytes, or hides what is absent")
    func wrongBytes() async throws {
        let (wrong, _) = try await validate(ProbedStore([.get: .bytes("something else")]))
        #expect(outcomes(wrong).contains("get failed") && !wrong.isValid)
        let (huge, _) = try await validate(ProbedStore([.get: .bytes(String(repeating: "x", count: 1 << 20))]))
        #expect(huge.findings[1].failure == .unreadable && !huge.leavesProbe)
    }

    @Test("finds clocks that differ", arguments: [(-200, "warned"), (4000, "failed")])
    func clocks(offset: Int, outcome: String) async throws {
        let (validation, _) = try await validate(ProbedStore(), ahead: TimeInterval(-offset))
        let clock = try #require(validation.findings.first { $0.step == .clock })
        let difference = try #require(validation.clockDifference)
        #expect(abs(difference - offset) <= 5 && clock.outcome.rawValue == outcome)
        #expect(clock.advice?.contains("NTP") == true)
    }

    @Test("warns of objects whose times differ, although the answers' date agrees", arguments: [-60.0, 60])
    func writeTimes(ahead: TimeInterval) async throws {
        let (validation, _) = try await validate(ProbedStore(modifiedAhead: ahead))
        #expect(validation.isValid)
        #expect(outcomes(validation).contains("clock passed") && outcomes(validation).contains("write-time warned"))
        let finding = try #require(validation.findings.first { $0.step == .writeTime })
        #expect(finding.advice?.contains("proxy_pass_header Date") == true)
        let (close, _) = try await validate(ProbedStore(modifiedAhead: ahead / 30))
        #expect(outcomes(close).contains("write-time passed"))
    }

    @Test("judges no time that the store does not note")
    func noWriteTime() async throws {
        let silent = ServerResponse.bytes(String(decoding: Self.body, as: UTF8.self))
        let (validation, _) = try await validate(ProbedStore([.head: silent]))
        #expect(outcomes(validation).contains("write-time skipped"))
    }

    @Test(
        "sends nothing to addresses that are not public, and tells nothing of what listens there",
        arguments: [
            "https://127.0.0.1", "https://localhost", "https://[::1]", "https://[::ffff:127.0.0.1]",
            "https://[::ffff:7f00:1]", "https://169.254.169.254", "https://0x7f.1", "https://2130706433",
            "https://10.0.0.1", "https://[fd00::1]", "https://[64:ff9b::7f00:1]",
        ])
    func blocked(host: String) async throws {
        let peer = StandIn { _ in .bytes("internal") }
        try await peer.serve { origin in
            let port = origin.split(separator: ":")[2]
            // A port with a listener and a port without one look the same.
            for port in [String(port), "9"] {
                let validation = try await Self.validate(Self.bucket("\(host):\(port)"))
                #expect(validation.findings[0].failure == .blocked, "\(validation.findings[0])")
                #expect(validation.findings[0].status == nil && validation.findings[0].outcome == .failed)
                #expect(validation.findings.dropFirst().allSatisfy { $0.outcome == .skipped })
                #expect(!validation.leavesProbe)
            }
            let plain = try await Self.validate(Self.bucket(origin))
            #expect(plain.findings[0].failure == .blocked)
        }
        #expect(peer.requests.isEmpty)
    }

    @Test("requests the encryption of the bucket in each upload", arguments: [Bucket.Scheme.awsV4, .awsV2, .ossV4])
    func encryption(scheme: Bucket.Scheme) async throws {
        let store = ProbedStore()
        let peer = StandIn { store.answer($0.head, Self.body) }
        let validation = try await peer.serve { origin in
            var bucket = try Self.bucket(origin, scheme: scheme)
            bucket.encryption = ServerSideEncryption(algorithm: scheme == .ossV4 ? .alibabaKMS : .awsKMS, keyID: "k1")
            return try await Self.validate(bucket, allow: [origin])
        }
        #expect(validation.isValid && !validation.leavesProbe)
        let (header, word, end) =
            scheme == .ossV4
            ? ("x-oss-server-side-encryption", "KMS", "-key-id")
            : ("x-amz-server-side-encryption", "aws:kms", "-aws-kms-key-id")
        for request in peer.heads {
            let isUpload = request.method == .put
            #expect(request.headerFields[HTTPField.Name(header)!] == (isUpload ? word : nil))
            #expect(request.headerFields[HTTPField.Name(header + end)!] == (isUpload ? "k1" : nil))
            #expect(request.target.contains(header + end) == (isUpload && scheme == .awsV4), "V4 lists what it signs")
        }
        #expect(peer.heads.contains { $0.method == .put })
    }

    @Test("tells a store that is down from one that does not answer")
    func down() async throws {
        let down = try await Self.validate(Self.bucket("http://127.0.0.1:9"), allow: ["http://127.0.0.1:9"])
        #expect(down.findings[0].failure == .unreachable && !down.leavesProbe)
        let unknown = try await Self.validate(
            Self.bucket("https://no-such-host.invalid"), allow: ["https://no-such-host.invalid"])
        #expect(unknown.findings[0].failure == .nameNotFound)
        let peer = StandIn { _ in .bytes("") }
        try await peer.serve { origin in
            let secure = origin.replacing("http:", with: "https:")
            let plain = try await Self.validate(Self.bucket(secure), allow: [secure])
            #expect(plain.findings[0].failure == .tls)
        }
    }

    @Test(
        "gives a store that does not answer up, but not the removal of what it may have taken", .timeLimit(.minutes(1)))
    func slow() async throws {
        let peer = StandIn { request in
            if request.head.method == .put { try? await Task.sleep(for: .seconds(30)) }
            return .bytes("", status: request.head.method == .delete ? .noContent : .notFound)
        }
        try await peer.serve { origin in
            let validation = try await Self.validate(Self.bucket(origin), allow: [origin])
            #expect(validation.findings[0].failure == .timedOut)
            #expect(outcomes(validation).contains("delete passed"))
            #expect(validation.leavesProbe, "the upload without an answer may yet be carried out")
        }
    }
}

import Bytes
import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import Signing
import Synchronization
import Testing

@testable import GatewayCloud

/// A store that keeps one object, accepts every signature, and misbehaves as the test sets.
private final class ProbedStore: Sendable {
    /// Answers that replace the proper ones, by method.
    let answers: [HTTPRequest.Method: ServerResponse]
    /// Header fields of every answer.
    let fields: HeaderFields
    /// Whether it obeys unsigned headers, and compares no checksum.
    let isLenient: Bool
    /// Seconds by which the times of its objects are ahead of its answers' `Date`.
    let modifiedAhead: TimeInterval
    /// The answer to who may read the object.
    let accessList: ServerResponse
    private let isThere = Mutex(false)

    init(
        _ answers: [HTTPRequest.Method: ServerResponse] = [:], fields: HeaderFields = [:], isLenient: Bool = false,
        modifiedAhead: TimeInterval = 0,
        accessList: ServerResponse = .bytes("<URI>http://acs.amazonaws.com/groups/global/AllUsers</URI>")
    ) {
        self.accessList = accessList
        self.isLenient = isLenient
        self.modifiedAhead = modifiedAhead
        self.answers = answers
        self.fields = fields
    }

    var holdsObject: Bool { isThere.withLock { $0 } }

    func answer(_ request: RequestHead, _ body: @autoclosure () -> [UInt8]) -> ServerResponse {
        var response = answers[request.method] ?? usual(request, body())
        for field in fields { response.head.headerFields.append(field.name, field.value) }
        return response
    }

    private func usual(_ request: RequestHead, _ body: [UInt8]) -> ServerResponse {
        let isThere = isThere.withLock { $0 }
        switch request.method {
        case .put where !isLenient && Self.isUnsigned(request):
            return .error("AccessDenied", 403)
        case .put where !isLenient && Self.hasField("x-amz-checksum-sha256", request):
            return .error("BadDigest", 400)
        case .put where isLenient && Self.hasField("x-delete-at", request):
            return .error("InvalidArgument", 400)
        case .get where isLenient && request.target.contains("acl="):
            return accessList
        case .put:
            self.isThere.withLock { $0 = true }
            return .bytes("")
        case .get: return ServerResponse(head: ResponseHead(status: isThere ? .ok : .notFound), body: .bytes(body))
        case .head:
            let isPage = isLenient && request.target.contains(".html?")
            let modifiedAt = Int64(Date().addingTimeInterval(modifiedAhead).timeIntervalSince1970)
            let fields: HeaderFields = [
                .contentType: isPage ? "text/html" : "application/octet-stream",
                .lastModified: SigningInstant(clampingEpochSeconds: modifiedAt).httpDate,
            ]
            return ServerResponse(
                head: ResponseHead(status: isThere ? .ok : .notFound, headerFields: fields),
                body: .bytes(isThere ? body : []))
        case .delete:
            self.isThere.withLock { $0 = false }
            return .bytes("", status: .noContent)
        default:
            let origin = request.headerFields[.origin] ?? ""
            let fields: HeaderFields = [
                .accessControlAllowOrigin: origin, .accessControlAllowMethods: "GET, PUT",
            ]
            return ServerResponse(head: ResponseHead(status: .ok, headerFields: fields))
        }
    }
}

extension ProbedStore {
    private static func isUnsigned(_ request: RequestHead) -> Bool {
        ["x-amz-acl", "x-amz-copy-source"].contains { name in
            hasField(name, request) && !request.target.contains(name)
        }
    }

    private static func hasField(_ name: String, _ request: RequestHead) -> Bool {
        HTTPField.Name(name).map { request.headerFields[$0] != nil } ?? false
    }
}

extension ServerResponse {
    fileprivate static func error(_ code: String, _ status: Int) -> ServerResponse {
        .bytes(
            "<Error><Code>\(code)</Code><Message>secret words of the store</Message></Error>",
            status: .init(code: status))
    }
}

@Suite struct BucketProbeTests {
    private static let key = ".sluice-probe/00112233445566778899aabbccddeeff"
    private static let body = Array("sluice probe \(key)".utf8)

    private static func bucket(_ endpoint: String, scheme: Bucket.Scheme = .awsV4) throws -> Bucket {
        let provider: Bucket.Provider = scheme.rawValue.hasPrefix("oss") ? .oss : .s3
        return Bucket(
            name: try BucketName("photos"), provider: provider, endpoint: endpoint, region: "eu-west-1",
            addressing: .path, scheme: scheme, credentialID: UUID(), allowedOrigins: ["https://app.example"],
            createdAt: .distantPast)
    }

    private static func validate(
        _ bucket: Bucket, allow origins: [String] = [], cdnCredential: StorageCredential? = nil,
        ahead: TimeInterval = 0
    ) async throws -> BucketValidation {
        let credential = StorageCredential(
            id: UUID(), name: "main", accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("the-secret"),
            createdAt: .distantPast)
        let client = OutboundClient(policy: try OutboundPolicy(origins: origins), timeout: .seconds(20))
        return await BucketProbe(client: client, maxClockDifference: 5, now: { Date().addingTimeInterval(ahead) })
            .validate(bucket, with: credential, cdnCredential, probe: try ObjectKey(key))
    }

    private func validate(
        _ store: ProbedStore, scheme: Bucket.Scheme = .awsV4, ahead: TimeInterval = 0
    ) async throws -> (validation: BucketValidation, peer: TestPeer) {
        let peer = TestPeer { store.answer($0, Self.body) }
        let validation = try await peer.serve { origin in
            try await Self.validate(Self.bucket(origin, scheme: scheme), allow: [origin], ahead: ahead)
        }
        return (validation, peer)
    }

    private func outcomes(_ validation: BucketValidation) -> [String] {
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
        #expect(peer.requests.map(\.method) == [.put, .get, .head] + unsigned + [.delete, .head, .options])
        #expect(
            peer.bodies[0] == Self.body && peer.requests[0].headerFields[.contentType] == "application/octet-stream")
        #expect(
            peer.requests.allSatisfy {
                let target = $0.target
                return ["", "-copy", ".html"].contains { target.hasPrefix("/photos/\(Self.key)\($0)?") }
            })
        #expect(peer.requests.allSatisfy { $0.target.contains("ignature=") })
        let preflight = try #require(peer.requests.last?.headerFields)
        #expect(preflight[.origin] == "https://app.example" && preflight[.accessControlRequestMethod] == "PUT")
    }

    @Test("reads the probe through each public endpoint that it reaches, and says what it found at each")
    func publicEndpoints() async throws {
        let store = ProbedStore()
        let other = TestPeer { _ in .error("SignatureDoesNotMatch", 403) }
        let peer = TestPeer { store.answer($0, Self.body) }
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
        #expect(other.requests.map(\.target).allSatisfy { $0.hasPrefix("/\(Self.key)?") } && other.requests.count == 1)
        let hosts = peer.requests.map { ($0.headerFields[HTTPField.Name("host")!] ?? "").prefix { $0 != ":" } }
        #expect(hosts.filter { $0 == "localhost" }.count == 2, "the object once, and the page's question: \(hosts)")
        #expect(hosts.last == "localhost", "pages use the address of links")
    }

    /// A CDN in front of a store. It checks what a test lets it check, takes no notice of parameters that are not its
    /// own, and hands them to the store or drops them. The store obeys those of Alibaba OSS, and the object is no
    /// image.
    private static func cdn(
        _ store: ProbedStore, secret: String, checks: Bool, allowsUploads: Bool, passesParameters: Bool
    ) -> TestPeer {
        TestPeer { request in
            if request.method == .put {
                return allowsUploads ? store.answer(request, body) : .bytes("", status: .methodNotAllowed)
            }
            let target = request.target.split(separator: "&x-oss-process=", maxSplits: 1).map(String.init)
            let sides = target[0].split(separator: "?md5=").map(String.init)
            let fields = sides.last?.split(separator: "&expires=").map(String.init) ?? []
            let digest = DigestAlgorithm.md5.digest(of: "\(fields.last ?? "")\(sides[0]) \(secret)")
            let isSigned = sides.count == 2 && fields.count == 2 && Base64URL.encode(digest.bytes) == fields[0]
            let isAlive = (fields.last.flatMap { TimeInterval($0) } ?? 0) >= Date().timeIntervalSince1970
            guard !checks || isSigned && isAlive else { return .bytes("", status: .forbidden) }
            if passesParameters, target.count == 2 { return .error("InvalidArgument", 400) }
            return store.answer(request, body)
        }
    }

    private func validate(
        checks: Bool, allowsUploads: Bool = false, secret: String = "shared-secret", passesParameters: Bool = false,
        dropsParameters: Bool? = nil, scheme: Bucket.Scheme = .awsV4
    ) async throws -> [BucketValidation.Finding] {
        let store = ProbedStore()
        let peer = TestPeer { store.answer($0, Self.body) }
        let cdn = Self.cdn(
            store, secret: "shared-secret", checks: checks, allowsUploads: allowsUploads,
            passesParameters: passesParameters)
        let credential = StorageCredential(
            id: UUID(), name: "cdn", accessKeyID: "main", secretAccessKey: Secret(secret), createdAt: .distantPast)
        let validation = try await peer.serve { origin in
            try await cdn.serve { place in
                var bucket = try Self.bucket(origin, scheme: scheme)
                bucket.publicEndpoints[.cdn] = PublicEndpoint(
                    url: place,
                    signing: CDNSigning(
                        scheme: .nginxSecureLink, credentialID: credential.id, dropsParameters: dropsParameters))
                return try await Self.validate(bucket, allow: [origin, place], cdnCredential: credential)
            }
        }
        #expect(!validation.leavesProbe && !store.holdsObject)
        let found = validation.findings.filter(\.step.isOfEndpoint)
        #expect(found.map(\.step) == [.endpoint, .unsignedLink, .expiredLink, .uploadByLink, .addedParameter])
        #expect(found.allSatisfy { $0.endpoint == .cdn })
        #expect(validation.isValid == !found.contains { $0.outcome == .failed })
        return found
    }

    @Test("finds a CDN that checks nothing, and one that lets uploads pass")
    func cdnLinks() async throws {
        #expect(try await validate(checks: true).map(\.outcome) == [.passed, .passed, .passed, .passed, .passed])
        let lax = try await validate(checks: false)
        #expect(lax.map(\.outcome) == [.passed, .failed, .failed, .passed, .passed])
        #expect(lax[1].advice?.contains("without a signature") == true)
        #expect(lax[2].advice?.contains("'validity'") == true)
        let writable = try await validate(checks: true, allowsUploads: true)
        #expect(writable.map(\.outcome) == [.passed, .passed, .passed, .failed, .passed])
        #expect(writable[3].advice?.contains("GET and HEAD") == true)
        let wrong = try await validate(checks: true, secret: "another-secret")
        #expect(wrong.map(\.outcome) == [.failed, .skipped, .skipped, .skipped, .skipped])
    }

    /// What is known of a CDN that parameters may pass: what it does, what the row says, and where the bucket is.
    struct ParameterCase: Sendable, CustomTestStringConvertible {
        var passes: Bool
        var drops: Bool?
        var isAtOSS: Bool

        var testDescription: String { "passes \(passes), 'dropsParameters' \(drops as Any), at OSS \(isAtOSS)" }

        /// Links exist where the row says that the network drops parameters, and everywhere but at OSS.
        var outcome: BucketValidation.Outcome {
            if passes { return drops == true ? .failed : .warned }
            return isAtOSS && drops != true ? .warned : .passed
        }

        static let all = [true, false].flatMap { passes in
            [nil, true, false].flatMap { drops in
                [true, false].map { Self(passes: passes, drops: drops, isAtOSS: $0) }
            }
        }
    }

    @Test("finds out whether parameters that a link does not name reach OSS", arguments: ParameterCase.all)
    func addedParameters(_ given: ParameterCase) async throws {
        let found = try await validate(
            checks: true, passesParameters: given.passes, dropsParameters: given.drops,
            scheme: given.isAtOSS ? .ossV4 : .awsV4)
        #expect(found.dropLast().allSatisfy { $0.outcome == .passed })
        let last = try #require(found.last)
        #expect(last.outcome == given.outcome, "\(last)")
        #expect((last.advice == nil) == (given.outcome == .passed))
        if given.isAtOSS, given.outcome == .warned {
            #expect(last.advice?.contains(given.passes ? "Let the CDN drop" : "The CDN dropped") == true, "\(last)")
        }
    }

    /// What a scheme leaves open: AWS version 2 signs the headers of AWS alone.
    private static func misuses(_ scheme: Bucket.Scheme) -> [BucketValidation.Step] {
        scheme == .awsV4 ? unsigned : scheme == .awsV2 ? [.unsignedTimes, .unsignedType] : []
    }

    private static let unsigned: [BucketValidation.Step] = [
        .unsignedACL, .unsignedCopy, .unsignedTimes, .unsignedType, .checksum,
    ]

    @Test("warns of a store that obeys what is not signed, says what to do, and removes what it made")
    func lenient() async throws {
        let (validation, peer) = try await validate(ProbedStore(isLenient: true))
        #expect(validation.isValid && !validation.leavesProbe)
        for step in Self.unsigned {
            let finding = try #require(validation.findings.first { $0.step == step })
            let setting = step == .unsignedTimes ? "'externalDeletions'" : "'honoursUnsignedHeaders'"
            #expect(finding.outcome == .warned && finding.advice?.contains(setting) == true, "\(finding)")
            let tellsPrice = finding.advice?.contains("'checksumSHA256' and a length") == true
            #expect(tellsPrice == (step != .unsignedTimes), "\(finding)")
        }
        #expect(peer.requests.filter { $0.method == .delete }.count == 3, "the probe, the copy and the page")
    }

    @Test func `what another scheme would prevent is told with what that would cost`() async throws {
        let (validation, _) = try await validate(ProbedStore(isLenient: true), scheme: .awsV2)
        let finding = try #require(validation.findings.first { $0.step == .unsignedType })
        for words in ["Use 'aws-v4'", "'checksumSHA256' and a length", "temporary credentials"] {
            #expect(finding.advice?.contains(words) == true, "\(finding)")
        }
    }

    @Test(
        "judges no access list that the store does not show, and says what is missing",
        arguments: [
            ("AccessDenied", 403, "'s3:GetObjectAcl' on 'photos/.sluice-probe/*'"),
            ("NotImplemented", 501, "'sluice qualify'"),
        ])
    func hiddenACL(code: String, status: Int, advice: String) async throws {
        let (validation, _) = try await validate(ProbedStore(isLenient: true, accessList: .error(code, status)))
        let finding = try #require(validation.findings.first { $0.step == .unsignedACL })
        #expect(finding.outcome == .skipped && finding.status == status && finding.failure?.code == code)
        #expect(finding.advice?.contains(advice) == true, "\(finding)")
        #expect(validation.isValid && !validation.leavesProbe)
        #expect(outcomes(validation).contains("unsigned-copy warned"), "the other steps go on")
        #expect(!"\(validation)".contains("secret words"))
    }

    @Test func `a store that takes an unsigned access list and keeps the object private passes`() async throws {
        let owner = ServerResponse.bytes("<AccessControlPolicy><Owner/></AccessControlPolicy>")
        let (validation, _) = try await validate(ProbedStore(isLenient: true, accessList: owner))
        #expect(outcomes(validation).contains("unsigned-acl passed"))
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
        #expect(peer.requests.map(\.method).contains(.delete) == (status >= 500))
        #expect(!validation.isValid)
    }

    @Test("names the region that the store redirects to, follows nothing", arguments: [301, 307, 308])
    func redirects(status: Int) async throws {
        let elsewhere = TestPeer { _ in .bytes("internal") }
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

    @Test("removes the version that it made")
    func versions() async throws {
        let store = ProbedStore(fields: [HTTPField.Name("x-amz-version-id")!: "v/1+2"])
        let (_, peer) = try await validate(store)
        let deletion = try #require(peer.requests.first { $0.method == .delete }?.target)
        #expect(deletion.contains("versionId=v%2F1%2B2"))
    }

    @Test("finds a store that gives back other bytes, or hides what is absent")
    func wrongBytes() async throws {
        let (wrong, _) = try await validate(ProbedStore([.get: .bytes("something else")]))
        #expect(outcomes(wrong).contains("get failed") && !wrong.isValid)
        let (huge, _) = try await validate(ProbedStore([.get: .bytes(String(repeating: "x", count: 1 << 20))]))
        #expect(huge.findings[1].failure == .unreadable && !huge.leavesProbe)
    }

    @Test("finds pages that the store does not let in")
    func preflight() async throws {
        let (refused, _) = try await validate(ProbedStore([.options: .error("AccessForbidden", 403)]))
        let finding = try #require(refused.findings.first { $0.step == .preflight })
        #expect(finding.outcome == .failed && finding.origin == "https://app.example")
        #expect(finding.advice?.contains("CORS rule") == true)
        let fields: HeaderFields = [.accessControlAllowOrigin: "*", .accessControlAllowMethods: "GET"]
        let readOnly = ServerResponse(head: ResponseHead(status: .ok, headerFields: fields))
        let (gets, _) = try await validate(ProbedStore([.options: readOnly]))
        #expect(outcomes(gets).contains("preflight failed"))
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
        let peer = TestPeer { _ in .bytes("internal") }
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

    @Test("tells a store that is down from one that does not answer")
    func down() async throws {
        let down = try await Self.validate(Self.bucket("http://127.0.0.1:9"), allow: ["http://127.0.0.1:9"])
        #expect(down.findings[0].failure == .unreachable && !down.leavesProbe)
        let unknown = try await Self.validate(
            Self.bucket("https://no-such-host.invalid"), allow: ["https://no-such-host.invalid"])
        #expect(unknown.findings[0].failure == .nameNotFound)
        let peer = TestPeer { _ in .bytes("") }
        try await peer.serve { origin in
            let secure = origin.replacing("http:", with: "https:")
            let plain = try await Self.validate(Self.bucket(secure), allow: [secure])
            #expect(plain.findings[0].failure == .tls)
        }
    }

    @Test(
        "gives a store that does not answer up, but not the removal of what it may have taken", .timeLimit(.minutes(1)))
    func slow() async throws {
        let peer = TestPeer { request in
            if request.method == .put { try? await Task.sleep(for: .seconds(30)) }
            return .bytes("", status: request.method == .delete ? .noContent : .notFound)
        }
        try await peer.serve { origin in
            let validation = try await Self.validate(Self.bucket(origin), allow: [origin])
            #expect(validation.findings[0].failure == .timedOut)
            #expect(outcomes(validation).contains("delete passed") && !validation.leavesProbe)
        }
    }
}

import Bytes
import Foundation
import GatewayCore
import HTTPServing
import HTTPTesting
import HTTPTypes
import LibCrypto
import Synchronization
import Testing

extension BucketProbeTests {
    /// A CDN in front of a store. It checks what a test lets it check, takes no notice of parameters that are not its
    /// own, and hands them to the store or drops them. The store obeys those of Alibaba OSS, and the object is no
    /// image. Misuse gets the answer of `trouble`, if there is one. A cache has what was read once, whatever parameters
    /// come later.
    private static func cdn(
        _ store: ProbedStore, secret: String, checks: Bool, allowsUploads: Bool, passesParameters: Bool, caches: Bool,
        trouble: ServerResponse?
    ) -> StandIn {
        let cached = Mutex<Set<String>>([])
        return StandIn { request in
            if request.head.method == .put {
                if let trouble { return trouble }
                return allowsUploads ? store.answer(request.head, body) : .bytes("", status: .methodNotAllowed)
            }
            let target = request.head.target.split(separator: "&x-oss-process=", maxSplits: 1).map(String.init)
            let sides = target[0].split(separator: "?md5=").map(String.init)
            let fields = sides.last?.split(separator: "&expires=").map(String.init) ?? []
            let digest = DigestAlgorithm.md5.digest(of: "\(fields.last ?? "")\(sides[0]) \(secret)")
            let isSigned = sides.count == 2 && fields.count == 2 && Base64URL.encode(digest.bytes) == fields[0]
            let isAlive = (fields.last.flatMap { TimeInterval($0) } ?? 0) >= Date().timeIntervalSince1970
            if let trouble, !isSigned || !isAlive || target.count == 2 { return trouble }
            guard !checks || isSigned && isAlive else { return .bytes("", status: .forbidden) }
            let isCached = caches && cached.withLock { !$0.insert(sides[0]).inserted }
            if passesParameters, target.count == 2, !isCached { return .error("InvalidArgument", 400) }
            return store.answer(request.head, body)
        }
    }

    private func validate(
        checks: Bool, allowsUploads: Bool = false, secret: String = "shared-secret", passesParameters: Bool = false,
        caches: Bool = false, dropsParameters: Bool? = nil, scheme: Bucket.Scheme = .awsV4,
        trouble: ServerResponse? = nil
    ) async throws -> [BucketValidation.Finding] {
        let store = ProbedStore()
        let peer = StandIn { store.answer($0.head, Self.body) }
        let cdn = Self.cdn(
            store, secret: "shared-secret", checks: checks, allowsUploads: allowsUploads,
            passesParameters: passesParameters, caches: caches, trouble: trouble)
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

    @Test(arguments: [429, 503], [nil, true] as [Bool?])
    func `a CDN in trouble is not judged by how it answers misuse`(status: Int, dropsParameters: Bool?) async throws {
        let found = try await validate(
            checks: true, dropsParameters: dropsParameters, trouble: .error("SlowDown", status))
        #expect(found.map(\.outcome) == [.passed, .skipped, .skipped, .skipped, .skipped], "\(found)")
        for finding in found.dropFirst() {
            #expect(finding.status == status && finding.advice?.contains("in trouble") == true, "\(finding)")
        }
    }

    /// What is known of a CDN that parameters may pass: what it does, what the row says, and where the bucket is.
    struct ParameterCase: Sendable, CustomTestStringConvertible {
        var passes: Bool
        var caches: Bool
        var drops: Bool?
        var isAtOSS: Bool

        var testDescription: String {
            "passes \(passes), caches \(caches), 'dropsParameters' \(drops as Any), at OSS \(isAtOSS)"
        }

        /// Links exist where the row says that the network drops parameters, and everywhere but at OSS.
        var outcome: BucketValidation.Outcome {
            if passes { return drops == true ? .failed : .warned }
            return isAtOSS && drops != true ? .warned : .passed
        }

        static let all = [true, false].flatMap { passes in
            [nil, true, false].flatMap { drops in
                [true, false].flatMap { caches in
                    [true, false].map { Self(passes: passes, caches: caches, drops: drops, isAtOSS: $0) }
                }
            }
        }
    }

    @Test("finds out whether parameters that a link does not name reach OSS", arguments: ParameterCase.all)
    func addedParameters(_ given: ParameterCase) async throws {
        let found = try await validate(
            checks: true, passesParameters: given.passes, caches: given.caches, dropsParameters: given.drops,
            scheme: given.isAtOSS ? .ossV4 : .awsV4)
        #expect(found.dropLast().allSatisfy { $0.outcome == .passed })
        let last = try #require(found.last)
        #expect(last.outcome == given.outcome, "\(last)")
        #expect((last.advice == nil) == (given.outcome == .passed))
        if given.isAtOSS, given.outcome == .warned {
            #expect(last.advice?.contains(given.passes ? "Let the CDN drop" : "The CDN dropped") == true, "\(last)")
        }
    }
}

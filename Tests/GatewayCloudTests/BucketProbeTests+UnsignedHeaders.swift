import Foundation
import GatewayCore
import HTTPServing
import HTTPTesting
import HTTPTypes
import Synchronization
import Testing

extension BucketProbeTests {
    /// What a scheme leaves open: AWS version 2 signs the headers of AWS alone.
    static func misuses(_ scheme: Bucket.Scheme) -> [BucketValidation.Step] {
        scheme == .awsV4 ? unsigned : scheme == .awsV2 ? [.unsignedTimes, .unsignedType] : []
    }

    static let unsigned: [BucketValidation.Step] = [
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
        #expect(peer.heads.filter { $0.method == .delete }.count == 3, "the probe, the copy and the page")
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

    /// Amazon S3 takes no other uploads where Object Lock has a default retention.
    @Test(arguments: [Bucket.Scheme.awsV4, .awsV2])
    func `a store that takes no upload without an MD5 is found, and the misuses are tried with one`(
        scheme: Bucket.Scheme
    ) async throws {
        let (strict, peer) = try await validate(ProbedStore(demandsMD5: true), scheme: scheme)
        let put = try #require(strict.findings.first)
        #expect(put.step == .put && put.outcome == .warned && put.status == 400, "\(put)")
        #expect(put.failure?.code == "InvalidRequest" && put.advice?.contains("'requireContentMD5'") == true, "\(put)")
        #expect(strict.isValid && !strict.leavesProbe)
        #expect(strict.findings.dropFirst().allSatisfy { $0.outcome == .passed }, "\(strict.findings)")
        let name = try #require(HTTPField.Name("content-md5"))
        let bare = peer.heads.filter { $0.method == .put && $0.headerFields[name] == nil }
        #expect(bare.count == 1, "only the first upload binds none")
        let (lenient, _) = try await validate(ProbedStore(isLenient: true, demandsMD5: true), scheme: scheme)
        for step in Self.misuses(scheme) { #expect(outcomes(lenient).contains("\(step.rawValue) warned")) }
    }

    /// A store that takes the probe object, and answers all other uploads in another way, and preflight requests in the
    /// usual one unless a test says otherwise.
    private static func peer(
        preflight: ServerResponse? = nil, _ other: @escaping @Sendable () async -> ServerResponse
    ) -> StandIn {
        let store = ProbedStore(preflight.map { [.options: $0] } ?? [:])
        let uploads = Mutex(0)
        return StandIn { request in
            guard request.head.method == .put else { return store.answer(request.head, body) }
            let number = uploads.withLock { count in
                count += 1
                return count
            }
            guard number > 1 else { return store.answer(request.head, body) }
            return await other()
        }
    }

    @Test(arguments: [("InvalidRequest", 400), ("NotImplemented", 501)])
    func `a store that refuses uploads for another reason does not obey what is unsigned`(
        code: String, status: Int
    ) async throws {
        let peer = Self.peer { .error(code, status) }
        let validation = try await peer.serve { try await Self.validate(Self.bucket($0), allow: [$0]) }
        for step in Self.unsigned { #expect(outcomes(validation).contains("\(step.rawValue) passed"), "\(step)") }
    }

    @Test(arguments: [("SlowDown", 429), ("InternalError", 500), ("SlowDown", 503)])
    func `a store in trouble passes no step that it should have refused`(code: String, status: Int) async throws {
        let peer = Self.peer(preflight: .error(code, status)) { .error(code, status) }
        let validation = try await peer.serve { try await Self.validate(Self.bucket($0), allow: [$0]) }
        for step in Self.unsigned + [.preflight] {
            let finding = try #require(validation.findings.first { $0.step == step })
            #expect(finding.outcome == .skipped && finding.status == status, "\(finding)")
            #expect(finding.advice?.contains("in trouble") == true, "\(finding)")
        }
        #expect(validation.isValid && !validation.leavesProbe)
        #expect(peer.heads.filter { $0.method == .options }.count == 1, "it is not asked for fewer headers")
    }

    @Test func `what was not sent any more is not removed`() async throws {
        let peer = Self.peer {
            try? await Task.sleep(for: .seconds(30))
            return .error("SlowDown", 503)
        }
        let validation = try await peer.serve { origin in
            try await Self.validate(Self.bucket(origin), allow: [origin], patience: .seconds(3))
        }
        for step in Self.unsigned {
            let finding = try #require(validation.findings.first { $0.step == step })
            #expect(finding.outcome == .skipped && finding.failure == .timedOut, "\(finding)")
        }
        #expect(peer.heads.filter { $0.method == .delete }.count == 1, "the probe alone")
        #expect(validation.leavesProbe, "the upload without an answer may yet be carried out")
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["-copy?", ".html?"])
    func `another object whose upload got no answer may yet be there after its removal`(end: String) async throws {
        let store = ProbedStore()
        let peer = StandIn { request in
            if request.head.method == .put, request.head.target.contains(end) {
                try? await Task.sleep(for: .seconds(30))
            }
            return store.answer(request.head, Self.body)
        }
        let validation = try await peer.serve { origin in
            try await Self.validate(Self.bucket(origin), allow: [origin])
        }
        for step in ["put passed", "delete passed", "absent passed"] { #expect(outcomes(validation).contains(step)) }
        #expect(peer.heads.contains { $0.method == .delete && $0.target.contains(end) })
        #expect(validation.leavesProbe)
    }
}

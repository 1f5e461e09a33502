import Foundation
import GatewayCore
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

/// Every way to a credential, under every kind of grant, quota, scheme and change of policy, against what the
/// documents say of it.
@Suite("Every way to a credential", .timeLimit(.minutes(10)))
struct ProtocolMatrixTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// Number of cases of each way.
    private static let count = environment["SLUICE_TEST_MATRIX"].flatMap { Int($0) } ?? MatrixWorld.pairs
    private static let seed = environment["SLUICE_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 0..<1 << 32)

    @Test(
        "issues what the documents permit, charges and records it, and refuses the rest",
        arguments: MatrixWorld.Way.allCases)
    func ways(way: MatrixWorld.Way) async throws {
        var issued = 0
        var refused: [String: Int] = [:]
        var pairs: Set<String> = []
        // Each seed lets the pairs of a limit and a condition meet other schemes.
        let first = Int(Self.seed % UInt64(MatrixWorld.pairs * Bucket.Scheme.allCases.count))
        for number in first..<first + 20 * Self.count {
            // Some ways issue seldom, such as one that needs a certain scheme.
            if number >= first + Self.count, issued > 0, refused["AccessDenied"] != nil { break }
            let world = MatrixWorld(number: number, seed: Self.seed, way: way)
            pairs.insert(world.pair)
            if let code = try await tried(world) { refused[code, default: 0] += 1 } else { issued += 1 }
        }
        #expect(
            issued > 0 && refused["AccessDenied"] != nil,
            "\(issued) issued, \(refused), SLUICE_TEST_SEED=\(Self.seed)")
        #expect(pairs.count == min(Self.count, MatrixWorld.pairs))
    }

    /// Tries a case; returns the code of its refusal, if it is refused.
    private func tried(_ world: MatrixWorld) async throws -> String? {
        let policy = try MatrixPolicy(world)
        let recorded = Mutex<[IssuanceProposal]>([])
        let gateway = TestGateway(
            APISettings(publicURL: "https://sluice.example"),
            ledger: StubLedger(judging: { proposal in
                let verdict = policy.verdict(on: proposal)
                if case .recorded = verdict { recorded.withLock { $0.append(proposal) } }
                return verdict
            }), authenticator: MatrixAuthenticator(policy: policy), source: policy)
        try prepareUpload(of: world, at: gateway)
        let answer = try await MatrixRequest(world).send(to: gateway)
        let outcome = MatrixOutcome(answer, of: world.way)
        let oracle = MatrixOracle(world)
        let proposals = recorded.withLock { $0 }
        guard let code = outcome.code else {
            #expect(oracle.codes.isEmpty, "issued, although \(oracle.codes): \(world)")
            #expect(proposals.count == 1, "\(world)")
            if let proposal = proposals.first { check(proposal, of: world, oracle) }
            return nil
        }
        let expected = world.way == .webIdentity ? Set(oracle.codes.map(Self.inWordsOfSTS)) : oracle.codes
        #expect(expected.contains(code), "\(code), expected \(expected): \(world) \(answer.text)")
        #expect(proposals.isEmpty, "refused and on record: \(world)")
        for secret in ["Signature=", "SessionToken", "session-token"] {
            #expect(!answer.text.contains(secret), "\(world)")
        }
        let nowhere = try MatrixRequest(world, bucket: "nowhere")
        if oracle.isVeiled, !nowhere.namesNoBucket {
            let other = MatrixOutcome(await nowhere.send(to: gateway), of: world.way)
            #expect(outcome.refusal == other.refusal, "tells that the bucket exists: \(world)")
        }
        return code
    }

    private func check(_ proposal: IssuanceProposal, of world: MatrixWorld, _ oracle: MatrixOracle) {
        #expect(proposal.charges.map(\.amount) == (oracle.charge.map { [$0] } ?? []), "\(world)")
        #expect(proposal.delivery == oracle.delivery && proposal.action == world.action, "\(world)")
        #expect(proposal.furtherActions.isEmpty && proposal.bucket.rawValue == "photos", "\(world)")
        #expect(proposal.key.rawValue.hasPrefix("uploads/"), "\(world)")
        let seconds = Int(proposal.expiresAt.timeIntervalSince(TestGateway.now))
        #expect(oracle.life.contains(seconds), "\(seconds) s, expected \(oracle.life): \(world)")
    }

    /// The upload in parts of which a step is asked for.
    private func prepareUpload(of world: MatrixWorld, at gateway: TestGateway) throws {
        let key = try ObjectKey("uploads/a.png")
        let id = MemoryUploads.openID
        if let old = gateway.uploads.rows.uploads[id], let type = MediaType(world.type) {
            gateway.uploads.rows.uploads[id] = MultipartUpload(
                id: id, principal: old.principal, bucket: old.bucket, key: key, contentType: type, contentLength: nil,
                state: .open, storeUploadID: "store-1", createdAt: old.createdAt, expiresAt: old.expiresAt)
        }
        guard world.way == .complete || world.way == .companionComplete else { return }
        let length = world.way == .complete ? world.length : nil
        let part = ReservedPart(issuance: UUID(), number: 1, contentLength: length)
        gateway.uploads.rows.reserved[id] = [part]
    }

    /// The token service of AWS knows one word for all that is refused by grants and schemes.
    private static func inWordsOfSTS(_ code: String) -> String {
        code == "NotEnforceable" ? "AccessDenied" : code
    }
}

import Foundation
import LibCrypto
import Testing

@testable import GatewayCore

/// Signatures hold whole seconds, and the times of grants milliseconds. A repetition is decided as the first request
/// was.
@Suite("Repetitions are decided at the millisecond of the first request", .timeLimit(.minutes(1)))
struct RepetitionInstantTests {
    /// The end of a credential, and nothing else of it.
    private struct End: EndingPermit, Equatable {
        let expiresAt: Date
    }

    private static func at(_ seconds: TimeInterval) -> Date { Fixture.now.addingTimeInterval(seconds) }

    /// A grant that begins between the beginning of a second and the request, and one that a denial keeps back until
    /// then.
    private static func grants(_ isDenied: Bool) throws -> [Grant] {
        guard isDenied else { return [try Fixture.grant(1, from: at(0.5))] }
        return [try Fixture.grant(1), try Fixture.grant(2, effect: .deny, until: at(0.5))]
    }

    @Test(arguments: [false, true])
    func `a link of the second in which it became permitted is repeated`(isDenied: Bool) async throws {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        tables.grants = try Self.grants(isDenied)
        tables.apiKeys = [
            APIKey(
                id: Fixture.id(900), prefix: "k", hash: Digest(), name: "n", principal: try Principal("user:alice"),
                createdAt: Fixture.now)
        ]
        let cache = PolicyCache(source: ScriptedPolicy(tables))
        let authenticator = CacheAuthenticator(cache: cache)
        let caller = try await authenticator.authenticate(Secret("k"))
        let ledger = ScriptedLedger()
        func issue(_ seconds: TimeInterval, of recorded: [UUID]) async throws -> IssuedURL {
            let issuing = ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ledger, now: { Self.at(seconds) },
                randomBytes: { [UInt8](repeating: 7, count: $0) })
            let claim = IdempotencyClaim(id: Fixture.id(7), attempt: Fixture.id(8), issuances: recorded)
            let context = RequestContext(
                caller: caller, sourceAddress: nil, requestID: "r", deadline: .now + .seconds(10),
                repeatable: RepeatableIssuing(claim, ledger: ledger))
            var fields = IssueRequest.Fields()
            (fields.action, fields.bucket, fields.key) = ("GetObject", "demo-bucket", "team/a")
            return try await PresignedURLs(issuing).issue(IssueRequest(fields), in: context)
        }
        await #expect(throws: GatewayError.self) { try await issue(0.25, of: []) }
        let first = try await issue(0.75, of: [])
        #expect(first.id.version7Instant == Self.at(0.75))
        let again = try await issue(10, of: [first.id])
        #expect(again.url.reveal() == first.url.reveal() && again.id == first.id)
        #expect(ledger.proposals.map(\.expiresAt) == [first.expiresAt, first.expiresAt])
    }

    @Test func `a part that was never issued is decided anew where its fixed instant permits nothing`() throws {
        let id = UUID.version7(at: Fixture.now, randomBytes: [UInt8](repeating: 1, count: 10))
        func permit(_ isRecorded: Bool, then: Verdict<End>) throws -> End {
            let issuance: RepeatableIssuance? = RepeatableIssuance(tag: [1], fixed: id, isRecorded: isRecorded)
            return try issuance.permit(End(expiresAt: Self.at(60)), at: Self.at(2)) { decidedAt in
                #expect(decidedAt == Fixture.now)
                return then
            }
        }
        for then in [Verdict<End>.refuse(.noGrant), .permit(End(expiresAt: Self.at(1)))] {
            #expect(try permit(false, then: then) == End(expiresAt: Self.at(60)))
            #expect(throws: GatewayError.idempotency(.answerGone)) { try permit(true, then: then) }
        }
        for isRecorded in [false, true] {
            let then = End(expiresAt: Self.at(59))
            #expect(try permit(isRecorded, then: .permit(then)) == then)
        }
    }
}

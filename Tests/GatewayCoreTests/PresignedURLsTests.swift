import Foundation
import GatewayCore
import LibCrypto
import Signing
import Synchronization
import TestSupport
import Testing

/// A ledger that answers as scripted and records its input. It keeps refusals too.
final class ScriptedLedger: IssuanceLedger, DenialCounting {
    struct Notes {
        var proposals: [IssuanceProposal] = []
        var calls: [Int] = []
        var denials: [Denial] = []
    }

    private let notes = Mutex(Notes())
    private let answer: @Sendable (IssuanceProposal, Int) async throws(GatewayError) -> RecordVerdict

    /// - Parameter answer: Receives the proposal and the number of proposals before it.
    init(_ answer: @escaping @Sendable (IssuanceProposal, Int) async throws(GatewayError) -> RecordVerdict) {
        self.answer = answer
    }

    /// Records everything; leaves 9 of each quota.
    convenience init() {
        self.init { proposal, _ in .recorded(remaining: proposal.remainders) }
    }

    var proposals: [IssuanceProposal] { notes.withLock { $0.proposals } }
    var denials: [Denial] { notes.withLock { $0.denials } }
    /// Number of proposals in each call.
    var calls: [Int] { notes.withLock { $0.calls } }

    func record(
        _ proposals: [IssuanceProposal], deadline: ContinuousClock.Instant
    ) async -> [Result<RecordVerdict, GatewayError>] {
        notes.withLock { $0.calls.append(proposals.count) }
        var answers: [Result<RecordVerdict, GatewayError>] = []
        for proposal in proposals {
            let number = notes.withLock { notes in
                notes.proposals.append(proposal)
                return notes.proposals.count - 1
            }
            do throws(GatewayError) {
                answers.append(.success(try await answer(proposal, number)))
            } catch {
                answers.append(.failure(error))
            }
        }
        return answers
    }

    func count(_ denial: Denial) {
        notes.withLock { $0.denials.append(denial) }
    }
}

extension ProvenIssuing {
    /// Issues with a ledger that also keeps the refusals.
    convenience init(
        cache: PolicyCache, authenticator: any Authenticator, ledger: ScriptedLedger,
        now: @escaping @Sendable () -> Date, randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.init(
            cache: cache, authenticator: authenticator, ledger: ledger, denials: ledger, now: now,
            randomBytes: randomBytes)
    }
}

extension IssuanceProposal {
    var remainders: [QuotaRemainder] {
        charges.map { QuotaRemainder(quotaID: $0.quota.id, remaining: 9, resetsIn: 60) }
    }
}

extension RequestContext {
    /// The context of a request without a source address.
    static func test(_ caller: Caller, requestID: String = "r") -> RequestContext {
        RequestContext(caller: caller, sourceAddress: nil, requestID: requestID, deadline: .now + .seconds(10))
    }
}

/// Identifies a caller by one API key, which it reads through the cache as the real authenticator does.
struct CacheAuthenticator: Authenticator {
    let cache: PolicyCache

    func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
        let load = try await cache.apiKey(prefix: token.reveal())
        guard let key = load.rows?.key else { throw .unauthenticated(reason: "There is no such key.") }
        return Caller(
            principal: key.principal, groups: key.groups, roles: [], claims: [:], expiresAt: key.expiresAt,
            token: token,
            scope: .apiKey(prefix: key.prefix), position: load.position
        )
    }
}

@Suite(.timeLimit(.minutes(1))) struct PresignedURLsTests {
    let alice: Principal
    let source: ScriptedPolicy
    let cache: PolicyCache

    init() throws {
        alice = try Principal("user:alice")
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        tables.grants = [try Fixture.grant(1)]
        tables.quotas = [try Fixture.quota(1)]
        tables.apiKeys = [
            APIKey(
                id: Fixture.id(900), prefix: "k", hash: Digest(), name: "n", principal: alice, createdAt: Fixture.now)
        ]
        source = ScriptedPolicy(tables)
        cache = PolicyCache(source: source)
    }

    func issue(
        _ request: IssueRequest, _ ledger: ScriptedLedger, now: Date = Fixture.now,
        randomBytes: @escaping @Sendable (Int) throws -> [UInt8] = { [UInt8](repeating: 0xff, count: $0) }
    ) async throws -> IssuedURL {
        let authenticator = CacheAuthenticator(cache: cache)
        let urls = PresignedURLs(
            ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ledger, now: { now }, randomBytes: randomBytes))
        return try await urls.issue(
            request, in: .test(authenticator.authenticate(Secret("k")), requestID: "r-1")
        )
    }

    @Test func `a permitted request is answered with what is on record`() async throws {
        let ledger = ScriptedLedger()
        let issued = try await issue(try Fixture.put(length: 5), ledger)
        let proposal = try #require(ledger.proposals.first)
        #expect(issued.id == proposal.id)
        #expect(issued.expiresAt == proposal.expiresAt)
        #expect(issued.expiresIn == 900)
        #expect(issued.enforcedBy == .signature)
        #expect(issued.headers.map(\.name) == ["content-type", "content-length"])
        #expect(issued.quotas.map(\.remainder.remaining) == [9])
        #expect(
            issued.url.reveal().hasPrefix(
                "https://s3.example.com/demo-bucket/team/photo.png?X-Amz-Algorithm=AWS4-HMAC-SHA256&"
            )
        )
        #expect(issued.url.reveal().contains("&X-Amz-SignedHeaders=content-length%3Bcontent-type%3Bhost"))
        #expect(!"\(issued)".contains("X-Amz"))
        #expect(proposal.scopes.contains(.apiKey(prefix: "k")))
        #expect(proposal.scopes.contains(.principal(alice)))
        #expect(proposal.grantID == Fixture.id(1))
        #expect(proposal.charges.map(\.amount) == [1])
        #expect(proposal.method == "PUT")
        #expect(ledger.denials.isEmpty)
    }

    @Test func `identifiers are UUIDs of version 7 of the instant of the decision`() async throws {
        let issued = try await issue(try Fixture.get(), ScriptedLedger(), now: Fixture.now.addingTimeInterval(0.5))
        #expect(issued.id.uuidString == "018F85AC-1D34-7FFF-BFFF-FFFFFFFFFFFF")
    }

    @Test(arguments: [GatewayError.unavailable(retryAfter: 1), .slowDown(retryAfter: 2)])
    func `without a row there is no URL`(error: GatewayError) async throws {
        let ledger = ScriptedLedger { _, _ throws(GatewayError) in throw error }
        await #expect(throws: error) { try await issue(try Fixture.get(), ledger) }
        #expect(ledger.proposals.count == 1)
    }

    @Test func `nothing is answered before the row is recorded`() async throws {
        let latch = Latch()
        let isAnswered = Mutex(false)
        let ledger = ScriptedLedger { proposal, _ in
            await latch.wait()
            return .recorded(remaining: proposal.remainders)
        }
        async let issued = {
            let issued = try await issue(try Fixture.get(), ledger)
            isAnswered.withLock { $0 = true }
            return issued
        }()
        await latch.arrival()
        #expect(isAnswered.withLock { $0 } == false)
        latch.open()
        _ = try await issued
        #expect(isAnswered.withLock { $0 })
    }

    @Test func `a grant revoked between decision and record refuses`() async throws {
        let ledger = ScriptedLedger { [source, alice] _, _ in
            source.change([.principal(alice)]) { $0.grants = [] }
            return .stale
        }
        await #expect(throws: GatewayError.accessDenied) { try await issue(try Fixture.get(), ledger) }
        #expect(ledger.proposals.count == 1)
        #expect(
            ledger.denials == [Denial(principal: alice, bucket: try BucketName("demo-bucket"), code: "AccessDenied")])
    }

    @Test func `a key revoked between authentication and record is refused`() async throws {
        let ledger = ScriptedLedger { [source] _, _ in
            source.change([.apiKey(prefix: "k")]) { $0.apiKeys = [] }
            return .stale
        }
        await #expect(throws: GatewayError.unauthenticated(reason: "There is no such key.")) {
            try await issue(try Fixture.get(), ledger)
        }
        #expect(ledger.proposals.count == 1)
    }

    @Test func `a change that keeps the permission is decided again at the new position`() async throws {
        let ledger = ScriptedLedger { [source, alice] proposal, number in
            guard number == 0 else { return .recorded(remaining: proposal.remainders) }
            source.change([.principal(alice)]) { $0.grants = (try? [Fixture.grant(2, on: "team/photo.png")]) ?? [] }
            return .stale
        }
        _ = try await issue(try Fixture.get(), ledger)
        #expect(ledger.proposals.map(\.grantID) == [1, 2].map(Fixture.id))
        #expect(ledger.proposals.map(\.position.sequence) == [10, 11])
    }

    @Test func `the proof reaches back to the oldest thing that was relied on`() async throws {
        let authenticator = CacheAuthenticator(cache: cache)
        let caller = try await authenticator.authenticate(Secret("k"))
        source.change([.principal(try Principal("user:bob"))]) { _ in }
        try await cache.advance()
        let ledger = ScriptedLedger()
        let urls = PresignedURLs(
            ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ledger, now: { Fixture.now },
                randomBytes: { [UInt8](repeating: 1, count: $0) }))
        _ = try await urls.issue(
            Fixture.get(), in: .test(caller)
        )
        #expect(ledger.proposals.map(\.position.sequence) == [10])
    }

    @Test(arguments: [Int64(0), 1])
    func `a token that was checked by another log is checked again`(ahead: Int64) async throws {
        let authenticator = CacheAuthenticator(cache: cache)
        let known = try await authenticator.authenticate(Secret("k"))
        let caller = Caller(
            principal: known.principal, groups: known.groups, roles: known.conferred, claims: known.claims,
            expiresAt: known.expiresAt, token: known.token, scope: known.scope,
            position: PolicyPosition(sequence: known.position.sequence + ahead, tag: Fixture.id(901)))
        let ledger = ScriptedLedger()
        let urls = PresignedURLs(
            ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ledger, now: { Fixture.now },
                randomBytes: { [UInt8](repeating: 1, count: $0) }))
        source.change([.apiKey(prefix: "k")]) { $0.apiKeys = [] }
        await #expect(throws: GatewayError.unauthenticated(reason: "There is no such key.")) {
            try await urls.issue(
                Fixture.get(), in: .test(caller)
            )
        }
        #expect(ledger.proposals.isEmpty)
    }

    @Test func `policy that never stands still ends in SlowDown, without a URL`() async throws {
        let ledger = ScriptedLedger { [source, alice] _, _ in
            source.change([.principal(alice)]) { _ in }
            return .stale
        }
        await #expect(throws: GatewayError.slowDown(retryAfter: 1)) { try await issue(try Fixture.get(), ledger) }
        #expect(ledger.proposals.count == 32)
    }

    @Test func `a script that changes policy row by row delays callers and does not refuse them`() async throws {
        let ledger = ScriptedLedger { [source, alice] proposal, number in
            guard number < 20 else { return .recorded(remaining: proposal.remainders) }
            source.change([.principal(alice)]) { _ in }
            return .stale
        }
        _ = try await issue(try Fixture.get(), ledger)
        #expect(ledger.proposals.last?.position.sequence == 30)
    }

    @Test func `a grant works from the moment it is made, though memory says otherwise`() async throws {
        let ledger = ScriptedLedger()
        await #expect(throws: GatewayError.accessDenied) { try await issue(try Fixture.get("new/x"), ledger) }
        #expect(ledger.denials.count == 1)
        try source.change([.principal(alice)]) { $0.grants.append(try Fixture.grant(2, on: "new/")) }
        _ = try await issue(try Fixture.get("new/x"), ledger)
        #expect(ledger.proposals.map(\.grantID) == [Fixture.id(2)])
        #expect(ledger.denials.count == 1)
    }

    @Test func `a refusal is confirmed once, not for ever`() async throws {
        let reads = source.now.reads.count
        await #expect(throws: GatewayError.accessDenied) { try await issue(try Fixture.get("new/x"), ScriptedLedger()) }
        #expect(source.now.reads.count == reads + 1)
    }

    @Test func `a refusal that cannot be confirmed is not one`() async throws {
        _ = try await issue(try Fixture.get(), ScriptedLedger())
        source.set { $0.error = .unavailable(retryAfter: 3) }
        let ledger = ScriptedLedger()
        await #expect(throws: GatewayError.unavailable(retryAfter: 3)) {
            try await issue(try Fixture.get("new/x"), ledger)
        }
        #expect(ledger.denials.isEmpty)
    }

    @Test func `a full quota is told and counted`() async throws {
        let refusal = QuotaRefusal(
            quotaID: "q", metric: .urls, period: .day, limit: 10, remaining: 0, resetsIn: 5
        )
        let ledger = ScriptedLedger { _, _ in .quotaExceeded(refusal) }
        await #expect(throws: GatewayError.quotaExceeded(refusal)) { try await issue(try Fixture.get(), ledger) }
        #expect(ledger.denials.map(\.code) == ["QuotaExceeded"])
    }

    @Test func `a bucket that is not there is not named in the count`() async throws {
        let ledger = ScriptedLedger()
        await #expect(throws: GatewayError.accessDenied) {
            try await issue(try Fixture.get(bucket: "no-such-bucket"), ledger)
        }
        #expect(ledger.denials == [Denial(principal: alice, bucket: nil, code: "AccessDenied")])
    }

    @Test func `nothing is issued from the instant at which the caller's credential ends`() async throws {
        source.set { $0.apiKeys[0].expiresAt = Fixture.now }
        let ledger = ScriptedLedger()
        await #expect(throws: GatewayError.expiredToken) { try await issue(try Fixture.get(), ledger) }
        _ = try await issue(try Fixture.get(), ledger, now: Fixture.now.addingTimeInterval(-0.001))
        #expect(ledger.proposals.count == 1)
    }

    @Test func `a bucket that moved is signed for where it is`() async throws {
        let ledger = ScriptedLedger()
        let urls = PresignedURLs(
            ProvenIssuing(
                cache: cache, authenticator: CacheAuthenticator(cache: cache), ledger: ledger, now: { Fixture.now },
                randomBytes: { [UInt8](repeating: 1, count: $0) }))
        let request = try Fixture.get()
        func origin() async throws -> String {
            let caller = try await CacheAuthenticator(cache: cache).authenticate(Secret("k"))
            let issued = try await urls.issue(
                request, in: .test(caller)
            )
            return String(issued.url.reveal().prefix { $0 != "?" })
        }
        #expect(try await origin() == "https://s3.example.com/demo-bucket/team/photo.png")
        try source.change([.bucket(request.bucket)]) {
            $0.bucket = try Fixture.bucket(endpoint: "https://new.example.com:444", addressing: .virtual)
        }
        try await cache.advance()
        #expect(try await origin() == "https://demo-bucket.new.example.com:444/team/photo.png")
    }

    @Test(arguments: Bucket.Scheme.allCases)
    func `each scheme signs in its own way`(scheme: Bucket.Scheme) async throws {
        source.set { tables in
            tables.bucket?.scheme = scheme
            tables.credential?.kind = scheme.credentialKind
            if scheme.credentialKind == .serviceAccount { tables.credential?.secretAccessKey = Secret(TestKey.pem) }
        }
        let signature =
            switch scheme {
            case .awsV4: "X-Amz-Signature="
            case .awsV2: "AWSAccessKeyId=AKIAEXAMPLE&"
            case .ossV4: "x-oss-signature="
            case .ossV1: "OSSAccessKeyId=AKIAEXAMPLE&"
            case .gcsV4RSA: "X-Goog-Algorithm=GOOG4-RSA-SHA256&"
            case .gcsV4HMAC: "X-Goog-Algorithm=GOOG4-HMAC-SHA256&"
            case .gcsV2RSA: "GoogleAccessId=AKIAEXAMPLE&"
            }
        let url = try await issue(try Fixture.put(), ScriptedLedger()).url.reveal()
        #expect(url.hasPrefix("https://s3.example.com/demo-bucket/team/photo.png?"))
        #expect(url.contains(signature))
        #expect(!url.contains("+"))
    }

    @Test func `a bucket whose rows cannot be signed with is unavailable, and nothing is recorded`() async throws {
        source.set { $0.bucket?.scheme = .gcsV4RSA }
        let ledger = ScriptedLedger()
        await #expect(throws: GatewayError.unavailable(retryAfter: 60)) { try await issue(try Fixture.get(), ledger) }
        #expect(ledger.proposals.isEmpty)
    }

    @Test func `without random bytes nothing is issued`() async throws {
        let ledger = ScriptedLedger()
        await #expect(throws: GatewayError.unavailable(retryAfter: 1)) {
            try await issue(try Fixture.get(), ledger, randomBytes: { _ in [] })
        }
        #expect(ledger.proposals.isEmpty)
    }
}

import Foundation
import TestSupport
import Testing

@testable import GatewayCore
import LibCrypto

/// Links that are the same throughout a window. Half an hour of the window of an hour has passed at `Fixture.now`.
@Suite struct StableLinkTests {
    private static let hour = 3600
    private static let windowStart = Fixture.now.addingTimeInterval(-1800)

    /// Bucket, grant, credential and request of a link.
    private struct World {
        var bucket: Bucket
        var grant: Grant
        var credential = Fixture.credential()
        var fields = IssueRequest.Fields()
        var delivery = Delivery.presignedURL

        init(window: Int = hour, scheme: Bucket.Scheme = .awsV4) throws {
            bucket = try Fixture.bucket(scheme: scheme)
            bucket.stableLinkWindow = window
            bucket.allowsRedirects = true
            grant = try Fixture.grant(1)
            (fields.action, fields.bucket, fields.key) = ("GetObject", "demo-bucket", "team/a b.png")
            if scheme.credentialKind == .serviceAccount {
                credential.kind = .serviceAccount
                credential.secretAccessKey = Secret(TestKey.pem)
            }
            grant.conditions.allowVersions = true
            grant.conditions.allowResponseContentType = true
        }

        func permit(at instant: Date = Fixture.now) throws -> Permit {
            let policy = try Fixture.policy(grants: [grant], bucket: bucket, credential: credential)
            return try Fixture.decided(IssueRequest(fields, delivery: delivery), under: policy, at: instant).permit
        }

        func url(at instant: Date = Fixture.now) throws -> String {
            try URLSigner().url(for: IssueRequest(fields, delivery: delivery), by: permit(at: instant)).reveal()
        }

        /// Whether the link begins with the window.
        func isStable(at instant: Date = Fixture.now) throws -> Bool {
            let permit = try permit(at: instant)
            guard permit.signedAt == instant else { return true }
            return permit.signedSeconds > permit.expiresIn
        }
    }

    @Test(arguments: Bucket.Scheme.allCases)
    func `a link is the same within a window, and another one in the next`(scheme: Bucket.Scheme) throws {
        var world = try World(scheme: scheme)
        let seconds = [0, 1, 1799, 1800.9, 3599, 3599.999].map { Self.windowStart.addingTimeInterval($0) }
        let urls = try Set(seconds.map { try world.url(at: $0) })
        #expect(urls.count == 1)
        #expect(try !urls.contains(world.url(at: Self.windowStart.addingTimeInterval(-0.001))))
        #expect(try !urls.contains(world.url(at: Self.windowStart.addingTimeInterval(3600))))
        world.delivery = .redirect
        #expect(try urls.contains(world.url()), "a redirect leads to the same link")
        world.delivery = .presignedURL
        for change in [
            { $0.key = "team/b" }, { $0.expiresIn = 60 }, { $0.method = scheme == .gcsV2RSA ? "GET" : "HEAD" },
        ] as [(inout IssueRequest.Fields) -> Void] {
            var other = world
            change(&other.fields)
            if other.fields.method == "GET" { continue }
            #expect(try !urls.contains(other.url()))
        }
    }

    @Test func `no less is left of a link than was asked for, and no more than the window more`() throws {
        var world = try World()
        var random = SeededGenerator(seed: 7)
        for _ in 0..<300 {
            let window = [60, 900, Self.hour, 86_400].randomElement(using: &random) ?? 60
            world.bucket.stableLinkWindow = window
            let asked = Int.random(in: 1...400_000, using: &random)
            world.fields.expiresIn = asked
            let instant = Fixture.now.addingTimeInterval(.random(in: 0...100_000, using: &random))
            let permit = try world.permit(at: instant)
            #expect(asked...asked + window ~= permit.expiresIn && permit.signedSeconds == asked + window)
            #expect(permit.decidedAt == Date(timeIntervalSince1970: instant.timeIntervalSince1970.rounded(.down)))
            #expect(permit.expiresAt == permit.decidedAt.addingTimeInterval(TimeInterval(permit.expiresIn)))
            #expect(Int(permit.signedAt.timeIntervalSince1970) % window == 0 && permit.signedAt <= permit.decidedAt)
        }
    }

    @Test func `where a limit would be passed, the link begins when it is issued`() throws {
        let world = try World()
        func isStable(_ change: (inout World) -> Void) throws -> Bool {
            var other = world
            change(&other)
            return try other.isStable()
        }
        // 900 seconds and the window of an hour.
        #expect(try isStable { $0.grant.conditions.maxTTL = 4500 })
        #expect(try !isStable { $0.grant.conditions.maxTTL = 4499 })
        #expect(try isStable { $0.bucket.maxTTL = 4500 })
        #expect(try !isStable { $0.bucket.maxTTL = 4499 })
        #expect(try isStable { $0.fields.expiresIn = 604_800 - 3600 })
        #expect(try !isStable { $0.fields.expiresIn = 604_800 - 3599 })
        // The link ends 900 + 3600 - 1800 seconds from now.
        #expect(try isStable { $0.grant.notAfter = Fixture.now.addingTimeInterval(2700) })
        #expect(try !isStable { $0.grant.notAfter = Fixture.now.addingTimeInterval(2699) })
        #expect(try isStable { $0.credential.expiresAt = Fixture.now.addingTimeInterval(2700) })
        #expect(try !isStable { $0.credential.expiresAt = Fixture.now.addingTimeInterval(2699) })
        #expect(try !isStable { $0.credential.sessionToken = Secret("a-session") })
        #expect(try !isStable { $0.bucket.stableLinkWindow = 0 })
        // A link may begin before the grant does. Nobody had it then.
        #expect(try isStable { $0.grant.notBefore = Fixture.now })
    }

    @Test func `uploads begin when they are issued`() throws {
        var world = try World()
        (world.fields.action, world.fields.contentType) = ("PutObject", "image/png")
        #expect(try !world.isStable())
    }

    @Test func `each issuance has its own row and life, and its repetition the same link`() async throws {
        let alice = try Principal("user:alice")
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.bucket?.stableLinkWindow = Self.hour
        tables.credential = Fixture.credential()
        tables.grants = [try Fixture.grant(1, from: Fixture.now)]
        tables.apiKeys = [
            APIKey(
                id: Fixture.id(900), prefix: "k", hash: Digest(), name: "n", principal: alice, createdAt: Fixture.now)
        ]
        let cache = PolicyCache(source: ScriptedPolicy(tables))
        let authenticator = CacheAuthenticator(cache: cache)
        let caller = try await authenticator.authenticate(Secret("k"))
        let ledger = ScriptedLedger()
        var fields = IssueRequest.Fields()
        (fields.action, fields.bucket, fields.key) = ("GetObject", "demo-bucket", "team/a")
        let request = try IssueRequest(fields)
        func issue(_ seconds: TimeInterval, repeating repeatable: RepeatableIssuing? = nil) async throws -> IssuedURL {
            let issuing = ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ledger,
                now: { Fixture.now.addingTimeInterval(seconds) },
                randomBytes: { [UInt8](repeating: UInt8(Int(seconds) % 251), count: $0) })
            let context = RequestContext(
                caller: caller, sourceAddress: nil, requestID: "r", deadline: .now + .seconds(10),
                repeatable: repeatable)
            return try await PresignedURLs(issuing).issue(request, in: context)
        }
        let (first, second) = (try await issue(0), try await issue(60.5))
        #expect(first.url.reveal() == second.url.reveal() && first.id != second.id)
        #expect(first.expiresIn == 2700 && second.expiresIn == 2640 && first.expiresAt == second.expiresAt)
        #expect(ledger.proposals.map(\.expiresAt) == [first.expiresAt, first.expiresAt])
        #expect(second.id.version7Instant == Fixture.now.addingTimeInterval(60.5), "the row tells when it was issued")

        let key = second.id
        let fresh = RepeatableIssuing(IdempotencyClaim(id: key, attempt: key), ledger: ledger)
        let told = try await issue(120, repeating: fresh)
        let again = RepeatableIssuing(IdempotencyClaim(id: key, attempt: key, issuances: [told.id]), ledger: ledger)
        let repeated = try await issue(1900, repeating: again)
        #expect(repeated.url.reveal() == told.url.reveal() && repeated.id == told.id, "though the window is over")
        #expect(try await issue(1900).url.reveal() != told.url.reveal())
    }

    @Test func `a window divides a day, and is shorter than the longest link`() throws {
        func isValid(_ window: Int, maxTTL: Int = 604_800) throws -> Bool {
            var bucket = try Fixture.bucket(maxTTL: maxTTL)
            bucket.stableLinkWindow = window
            return refusedField { try bucket.validated() } != "stableLinkWindow"
        }
        for window in [0, 1, 60, 900, 3600, 43_200, 86_400] { #expect(try isValid(window)) }
        for window in [-1, -60, 7, 3601, 86_401, 172_800, .max, .min] { #expect(try !isValid(window)) }
        #expect(try isValid(900, maxTTL: 901) && !isValid(900, maxTTL: 900))
    }
}

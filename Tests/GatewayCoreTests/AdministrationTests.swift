import Foundation
import GatewayCore
import LibCrypto
import Synchronization
import Testing

/// The rules of changes that use cases keep, whoever calls them.
@Suite struct AdministrationTests {
    private static let now = Date(timeIntervalSince1970: 2_000_000_000)

    private let keys = Rows<APIKey>(.apiKey) { $0.id.lowercaseText }
    private let tickets = Rows<Ticket>(.ticket) { $0.id.lowercaseText }

    private func change() throws -> ChangeContext {
        ChangeContext(actor: try .user("admin"), requestID: "request-1")
    }

    private func invalid(_ field: String) -> (GatewayError) -> Bool {
        { if case .invalidArgument(field, _) = $0 { true } else { false } }
    }

    private func refuses(_ field: String, _ body: () async throws -> Void) async {
        let error = await #expect(throws: GatewayError.self) { try await body() }
        #expect(error.map(invalid(field)) == true, "\(String(describing: error))")
    }

    // MARK: - API keys

    private func keyChanges(_ bytes: @escaping @Sendable (Int) throws -> [UInt8]) -> APIKeyChanges {
        APIKeyChanges(keys: keys, now: { Self.now }, randomBytes: bytes)
    }

    private var keyChanges: APIKeyChanges { keyChanges { (0..<$0).map { _ in .random(in: 0...255) } } }

    private func key(expiringAfter seconds: TimeInterval? = nil) throws -> APIKey {
        APIKey(
            id: Fixture.id(1), prefix: "", hash: Digest(), name: "app", principal: try .user("alice"),
            expiresAt: seconds.map { Self.now.addingTimeInterval($0) }, createdAt: Self.now)
    }

    @Test func `the text of a new key is the one whose hash is stored`() async throws {
        let made = try await keyChanges.create(key(), by: change())
        #expect(made.stored.hash == made.text.digest && made.stored.prefix == made.text.prefix)
        #expect(made.stored.hash.byteCount == 32)
    }

    @Test func `a key does not begin expired, but an expired one may be renamed`() async throws {
        for seconds in [-1.0, 0] {
            await refuses("expiresAt") { _ = try await keyChanges.create(key(expiringAfter: seconds), by: change()) }
        }
        #expect(keys.count == 0)
        let old = try await keys.create(key(expiringAfter: -60), by: change())
        var renamed = old.row
        renamed.name = "old app"
        let kept = try await keyChanges.update(renamed, over: old, by: change())
        #expect(kept.name == "old app")
        renamed.expiresAt = Self.now.addingTimeInterval(-61)
        await refuses("expiresAt") { _ = try await keyChanges.update(renamed, over: kept, by: change()) }
    }

    @Test(arguments: [(nil, nil), (0, nil), (1, 1), (604_800, 604_800)] as [(Int64?, TimeInterval?)])
    func `a rotation ends the old secret after the overlap`(_ overlap: Int64?, _ life: TimeInterval?) async throws {
        let old = try await keyChanges.create(key(), by: change()).stored
        let rotated = try await keyChanges.rotate(old, overlap: .init(seconds: overlap), by: change())
        #expect(rotated.stored.hash == rotated.text.digest && rotated.stored.hash != old.hash)
        #expect(rotated.stored.previousKey?.expiresAt == life.map { Self.now.addingTimeInterval($0) })
        #expect(rotated.stored.previousKey.map { $0.hash == old.hash } ?? true)
    }

    @Test(arguments: [-1, 604_801, .min, .max] as [Int64])
    func `an overlap is at most a week`(_ seconds: Int64) async throws {
        await refuses("overlapSeconds") { _ = try RotationOverlap(seconds: seconds) }
    }

    @Test func `without random bytes nothing is written`() async throws {
        struct NoBytes: Error {}
        for source in [{ @Sendable _ in throw NoBytes() }, { @Sendable _ in [] }] as [@Sendable (Int) throws -> [UInt8]]
        {
            let error = await #expect(throws: GatewayError.self) {
                _ = try await keyChanges(source).create(key(), by: change())
            }
            if case .unavailable? = error {} else { Issue.record("\(String(describing: error))") }
        }
        #expect(keys.count == 0)
    }

    // MARK: - Tickets

    private final class Revocations: TicketRevocation {
        let principals = Mutex<[Principal]>([])
        /// What each look at the last revocation tells; the last one again and again.
        private let told: Mutex<[Date?]>

        init(_ told: Date?...) {
            self.told = Mutex(told)
        }

        func lastRevocation(of principal: Principal) async throws(GatewayError) -> Date? {
            told.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? nil }
        }

        func revokeTickets(of principal: Principal, by change: ChangeContext) async throws(GatewayError) -> Int {
            principals.withLock { $0.append(principal) }
            return 3
        }
    }

    private func useCase(
        maxLife: Int = 3600, revocation: Revocations = Revocations()
    ) -> Tickets {
        Tickets(
            rows: tickets, revocation: revocation, maxLife: maxLife, now: { Self.now },
            randomBytes: { (0..<$0).map { _ in .random(in: 0...255) } })
    }

    private func caller(
        _ name: String, groups: [String] = [], claims: [String: String] = [:], issuedAt: Date? = nil,
        expiresAt: Date? = nil, scope: PolicyScope? = .apiKey(prefix: "k")
    ) throws -> Caller {
        Caller(
            principal: try .user(name), groups: try groups.map { try Principal("group:" + $0) }, roles: [],
            claims: claims, expiresAt: expiresAt, issuedAt: issuedAt, token: Secret("token"), scope: scope,
            position: .init(sequence: 1, tag: UUID()))
    }

    private func request() throws -> TicketRequest {
        TicketRequest(bucket: try BucketName("photos"), prefix: ExactText("a/"))
    }

    @Test func `a ticket has limits, whether a client states them or not`() async throws {
        let alice = try caller("alice")
        let plain = try await useCase().create(request(), for: alice, by: change()).stored
        #expect(plain.expiresAt == Self.now.addingTimeInterval(3600) && plain.maxUses == 1000)
        #expect(plain.actions == [.putObject, .getObject] && plain.responseKey == nil)
        let long = try await useCase(maxLife: 604_800).create(request(), for: alice, by: change()).stored
        #expect(long.expiresAt == Self.now.addingTimeInterval(43_200))
        for (field, set) in [
            ("expiresIn", { $0.expiresIn = 0 }), ("expiresIn", { $0.expiresIn = 3601 }),
            ("maxUses", { $0.maxUses = 0 }), ("maxUses", { $0.maxUses = 100_001 }), ("actions", { $0.actions = [] }),
        ] as [(String, (inout TicketRequest) -> Void)] {
            var wrong = try request()
            set(&wrong)
            await refuses(field) { _ = try await useCase().create(wrong, for: alice, by: change()) }
        }
        #expect(tickets.count == 2)
    }

    @Test func `a user sees and revokes only tickets of their own, without an audit entry`() async throws {
        let alice = try caller("alice")
        let made = try await useCase().create(request(), for: alice, by: change()).stored
        #expect(try await useCase().get(made.id, of: alice) == made)
        await #expect(throws: GatewayError.notFound(.ticket)) { try await useCase().get(made.id, of: caller("bob")) }
        try await useCase().revoke(made.row, revision: nil, by: change())
        #expect(tickets.count == 0 && tickets.changes.last?.isAudited == false)
    }

    @Test func `a token from before a revocation makes no ticket that outlives it`() async throws {
        let revokedAt = Self.now.addingTimeInterval(-600)
        func makes(
            issuedAt: Double?, scope: PolicyScope = .issuer("https://idp.example"), life: Int64 = 3600,
            told: Date?...
        ) async throws -> Bool {
            let caller = try caller(
                "alice", issuedAt: issuedAt.map { revokedAt.addingTimeInterval($0) },
                expiresAt: Self.now.addingTimeInterval(1800), scope: scope)
            var wish = try request()
            wish.expiresIn = life
            let before = tickets.count
            let revocation = told.count == 2 ? Revocations(told[0], told[1]) : Revocations(revokedAt)
            do {
                _ = try await useCase(revocation: revocation).create(wish, for: caller, by: change())
            } catch GatewayError.conflict {
                #expect(tickets.count == before)
                return false
            }
            return true
        }
        #expect(try await !makes(issuedAt: -1))
        #expect(try await !makes(issuedAt: 60))
        #expect(try await !makes(issuedAt: nil))
        #expect(try await makes(issuedAt: 61))
        #expect(try await makes(issuedAt: -1, life: 1800))
        #expect(try await makes(issuedAt: nil, scope: .apiKey(prefix: "k")))
        // One that comes while the ticket is made takes it away again.
        #expect(try await !makes(issuedAt: -1, told: nil, revokedAt))
        #expect(try await makes(issuedAt: -1, told: nil, nil))
    }

    /// So the store keeps revocations for good.
    @Test func `a revocation holds for as long as a token from before it lives, however long that is`() async throws {
        let revokedAt = Self.now.addingTimeInterval(-10 * 365 * 86_400)
        let caller = try caller(
            "alice", issuedAt: revokedAt, expiresAt: Self.now.addingTimeInterval(60),
            scope: .issuer("https://idp.example"))
        let error = await #expect(throws: GatewayError.self) {
            try await useCase(revocation: Revocations(revokedAt)).create(request(), for: caller, by: change())
        }
        guard case .conflict? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(tickets.count == 0)
    }

    @Test(
        arguments: [
            // Seconds since the revocation, seconds from the revocation to the token, and what the answer says of both.
            (600, -1, "revoked after the token was issued. Sign in again, or ask"),
            (
                600, 60,
                "within a minute of a revocation of the user's tickets, and counts as older. Sign in again, or ask"
            ),
            (600, nil, "has no 'iat' that tells whether it is older. Use a token with 'iat', or ask"),
            (59.5, -1, "revoked after the token was issued. Sign in again in 2 s, or ask"),
            (1, 1, "and counts as older. Sign in again in 60 s, or ask"),
            (60, 1, "and counts as older. Sign in again in 1 s, or ask"),
            (60.5, 1, "and counts as older. Sign in again in 1 s, or ask"),
            (61, 1, "and counts as older. Sign in again, or ask"),
            (1, nil, "has no 'iat' that tells whether it is older. Use a token with 'iat', or ask"),
        ] as [(TimeInterval, TimeInterval?, String)])
    func `whose token counts as older than a revocation learns which token does not`(
        age: TimeInterval, issuedAfter: TimeInterval?, detail: String
    ) async throws {
        let revokedAt = Self.now.addingTimeInterval(-age)
        func caller(issuedAt: Date?) throws -> Caller {
            try self.caller(
                "alice", issuedAt: issuedAt, expiresAt: Self.now.addingTimeInterval(1800),
                scope: .issuer("https://idp.example"))
        }
        let token = try caller(issuedAt: issuedAfter.map { revokedAt.addingTimeInterval($0) })
        let error = await #expect(throws: GatewayError.self) {
            try await useCase(revocation: Revocations(revokedAt)).create(request(), for: token, by: change())
        }
        guard case .conflict(let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains(detail))
        // A token of the moment that the answer names makes the ticket, with an `iat` of whole seconds.
        guard let wait = reason.firstMatch(of: /in ([0-9]+) s,/).flatMap({ TimeInterval($0.1) }) else { return }
        let later = Date(timeIntervalSince1970: (Self.now.timeIntervalSince1970 + wait).rounded(.down))
        _ = try await useCase(revocation: Revocations(revokedAt)).create(
            request(), for: caller(issuedAt: later), by: change())
    }

    @Test func `the bootstrap key makes no tickets, because nothing would end them`() async throws {
        let root = try caller("root", scope: nil)
        let error = await #expect(throws: GatewayError.self) {
            try await useCase().create(request(), for: root, by: change())
        }
        guard case .conflict? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(tickets.count == 0)
    }

    @Test func `tickets of a group cannot be revoked, because a group has none`() async throws {
        let revocation = Revocations()
        await refuses("principal") {
            _ = try await useCase(revocation: revocation).revokeAll(of: Principal("group:staff"), by: change())
        }
        #expect(revocation.principals.withLock { $0.isEmpty })
        #expect(try await useCase(revocation: revocation).revokeAll(of: .user("alice"), by: change()) == 3)
    }

    // MARK: - Entries

    private static let role = SessionRole(
        roleARN: "arn:aws:iam::1:role/a", service: .aws, endpoint: "https://sts.example.com", region: "us-east-1",
        maxDuration: 3600, externalID: nil)

    private func entry(_ set: (inout CredentialEntry) -> Void) -> CredentialEntry {
        var entry = CredentialEntry(
            name: "main", accessKeyID: nil, secretAccessKey: nil, serviceAccount: nil, keyPair: nil,
            sessionToken: nil, expiresAt: nil, sessionRole: nil)
        set(&entry)
        return entry
    }

    @Test func `a credential changes its key and secret together, and never its kind`() async throws {
        var old = Fixture.credential()
        old.sessionRole = Self.role
        let account = CredentialEntry.ServiceAccount(email: "a@b", privateKey: Secret("pem"))
        var moved = Self.role
        moved.endpoint = "https://elsewhere.example"
        for (field, set) in [
            ("secretAccessKey", { $0.accessKeyID = "ANOTHER" }),
            ("secretAccessKey", { $0.sessionToken = Secret("token") }),
            ("secretAccessKey", { $0.sessionRole = moved }),
            ("accessKeyID", { $0.secretAccessKey = Secret("new") }),
            ("serviceAccount", { $0.serviceAccount = account }),
            ("keyPair", { $0.keyPair = CredentialEntry.KeyPair(id: "K2", privateKey: Secret("pem")) }),
        ] as [(String, (inout CredentialEntry) -> Void)] {
            await refuses(field) { _ = try entry(set).credential(over: old) }
        }
        let kept = try entry { $0.accessKeyID = old.accessKeyID }.credential(over: old)
        #expect(kept.secretAccessKey.reveal() == old.secretAccessKey.reveal() && kept.id == old.id)
        let replaced = try entry {
            $0.accessKeyID = "ANOTHER"
            $0.secretAccessKey = Secret("new")
            $0.sessionRole = moved
        }.credential(over: old)
        #expect(replaced.secretAccessKey.reveal() == "new" && replaced.sessionRole == moved)
    }

    @Test func `a new credential has one whole key`() async throws {
        let account = CredentialEntry.ServiceAccount(email: "a@b", privateKey: Secret("pem"))
        for (field, set) in [
            ("accessKeyID", { _ in }), ("secretAccessKey", { $0.accessKeyID = "A" }),
            (
                "accessKeyID",
                {
                    $0.serviceAccount = account
                    $0.accessKeyID = "A"
                }
            ),
        ] as [(String, (inout CredentialEntry) -> Void)] {
            await refuses(field) { _ = try entry(set).credential(id: Fixture.id(1), createdAt: Self.now) }
        }
        let made = try entry { $0.serviceAccount = account }.credential(id: Fixture.id(1), createdAt: Self.now)
        #expect(made.kind == .serviceAccount && made.accessKeyID == "a@b")
    }

    @Test func `a key pair is one key of three, and is replaced as a whole`() async throws {
        let pair = CredentialEntry.KeyPair(id: "K2", privateKey: Secret("pem"))
        for (field, set) in [
            ("accessKeyID", { $0.accessKeyID = "A" }), ("secretAccessKey", { $0.secretAccessKey = Secret("s") }),
            ("keyPair", { $0.serviceAccount = CredentialEntry.ServiceAccount(email: "a@b", privateKey: Secret("p")) }),
        ] as [(String, (inout CredentialEntry) -> Void)] {
            await refuses(field) {
                _ = try entry {
                    $0.keyPair = pair
                    set(&$0)
                }.credential(id: Fixture.id(1), createdAt: Self.now)
            }
        }
        let made = try entry { $0.keyPair = pair }.credential(id: Fixture.id(1), createdAt: Self.now)
        #expect(made.kind == .keyPair && made.accessKeyID == "K2" && made.secretAccessKey.reveal() == "pem")
        let kept = try entry { $0.accessKeyID = "K2" }.credential(over: made)
        #expect(kept.secretAccessKey.reveal() == "pem")
        await refuses("accessKeyID") { _ = try entry { $0.accessKeyID = "K3" }.credential(over: made) }
        let next = CredentialEntry.KeyPair(id: "K3", privateKey: Secret("pem3"))
        #expect(try entry { $0.keyPair = next }.credential(over: made).accessKeyID == "K3")
    }

    @Test func `an issuer has one kind of keys, and keeps only a secret`() async throws {
        let secret = Issuer.Keys.secret(Secret("s"))
        func keys(_ url: String?, _ inline: String?, _ new: String?, keeps: Bool) -> IssuerKeysEntry {
            IssuerKeysEntry(url: url, inline: inline, secret: new.map { Secret($0) }, keepsSecret: keeps)
        }
        #expect(try keys(nil, nil, nil, keeps: true).keys(over: secret) == secret)
        #expect(try keys("https://a", nil, nil, keeps: true).keys(over: secret) == .url("https://a"))
        for (entry, old) in [
            (keys(nil, nil, nil, keeps: false), secret), (keys(nil, nil, nil, keeps: true), .url("https://a")),
            (keys(nil, nil, nil, keeps: true), nil), (keys("https://a", "{}", nil, keeps: false), nil),
        ] as [(IssuerKeysEntry, Issuer.Keys?)] {
            await refuses("keys") { _ = try entry.keys(over: old) }
        }
    }

    @Test func `a reset of a quota says for whom`() async throws {
        #expect(try QuotaHolders(holder: nil, isForAll: true) == .all)
        #expect(try QuotaHolders(holder: .anyone, isForAll: false) == .one(.anyone))
        await refuses("holder") { _ = try QuotaHolders(holder: nil, isForAll: false) }
        await refuses("holder") { _ = try QuotaHolders(holder: .anyone, isForAll: true) }
    }

    @Test func `a batch and an import have limits`() async throws {
        try GrantBatch.checkCounts(writes: 6000, deletes: 4000)
        await refuses("deletes") { try GrantBatch.checkCounts(writes: 6000, deletes: 4001) }
        await refuses("writes") { try GrantBatch.checkCounts(writes: nil, deletes: nil) }
        var named = NamedGrants()
        try named.add(Fixture.id(1))
        await refuses("id") { try named.add(Fixture.id(1)) }
        let options = GrantImportOptions(prunes: true, isDryRun: false)
        try options.check(line: 10_000_000)
        await refuses("line") { try options.check(line: 10_000_001) }
        await refuses("prune") { try options.checkEnd(hasLines: false) }
        try GrantImportOptions(prunes: false, isDryRun: false).checkEnd(hasLines: false)
    }
}

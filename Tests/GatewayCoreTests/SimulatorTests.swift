import Foundation
import Synchronization
import Testing

@testable import GatewayCore

@Suite struct SimulatorTests {
    /// A ledger in memory that is returned in chunks, with the grants of the policy.
    private final class World: ReplaySource, AdminStore {
        typealias Resource = Grant

        let tables: ScriptedPolicy.Tables
        let policy: ScriptedPolicy
        let rows: [RecordedIssuance]
        let queries = Mutex<[ReplayQuery]>([])
        let templatesAsked = Mutex(0)
        /// The templates that grants had, if those are others than they have.
        let pastTemplates: [UUID: [PastTemplate]]
        /// Memberships that rows no longer have.
        let pastMemberships: [PolicyProposal.Membership: [Range<Int64>]]

        init(
            _ grants: [Grant], members: [Principal: [Principal]] = [:], rows: [RecordedIssuance],
            bucket: Bucket? = nil, role: SessionRole? = Fixture.role, pastTemplates: [UUID: [PastTemplate]] = [:],
            pastMemberships: [PolicyProposal.Membership: [Range<Int64>]] = [:]
        ) throws {
            self.pastTemplates = pastTemplates
            self.pastMemberships = pastMemberships
            var tables = ScriptedPolicy.Tables()
            tables.bucket = try bucket ?? Fixture.bucket()
            tables.credential = Fixture.credential()
            tables.credential?.sessionRole = role
            tables.cdnCredential = CookieDecisionTests.credential()
            tables.grants = grants
            tables.members = members
            self.tables = tables
            self.rows = rows
            policy = ScriptedPolicy(tables)
        }

        func simulate(
            _ proposal: PolicyProposal, limits: Simulator.Limits = .init(), token: String? = nil
        ) async throws -> Simulation {
            let simulator = Simulator(
                source: policy, ledger: self, grants: self, limits: limits, now: { Fixture.now },
                instant: { ContinuousClock.now })
            return try await simulator.simulate(proposal, days: 7, label: "x", pageToken: token)
        }

        /// Simulates the replacement of a grant.
        func simulate(_ replacement: Grant) async throws -> Simulation {
            try await simulate(PolicyProposal(replacements: [replacement]))
        }

        func issuances(_ query: ReplayQuery) async throws(GatewayError) -> LedgerPage<RecordedIssuance> {
            queries.withLock { $0.append(query) }
            let start = query.pageToken.flatMap { Int($0) } ?? 0
            let found = Array(rows.dropFirst(start).prefix(query.limit))
            let end = start + found.count
            return LedgerPage(
                items: found, nextPageToken: end < rows.count ? String(end) : nil,
                range: try LedgerRange(from: query.from, to: query.to, span: 0, now: query.to))
        }

        func templates(among grants: [UUID]) async throws(GatewayError) -> [UUID: [PastTemplate]] {
            templatesAsked.withLock { $0 += 1 }
            if !pastTemplates.isEmpty { return pastTemplates }
            return Dictionary(
                tables.grants.filter { $0.prefix.isTemplate && grants.contains($0.id) }
                    .map { ($0.id, [PastTemplate(prefix: $0.prefix, since: 1, until: nil)]) }
            ) { first, _ in first }
        }

        func memberships(
            among memberships: [PolicyProposal.Membership]
        ) async throws(GatewayError) -> [PolicyProposal.Membership: [Range<Int64>]] {
            var found = pastMemberships
            for (member, groups) in tables.members {
                for group in groups { found[.init(group: group, member: member), default: []].append(1..<Int64.max) }
            }
            return found.filter { memberships.contains($0.key) }
        }

        func get(_ id: String) async throws(GatewayError) -> Stored<Grant> {
            guard let grant = tables.grants.first(where: { $0.id.lowercaseText == id }) else { throw .notFound(.grant) }
            return Stored(row: grant, revision: grant.id)
        }

        func create(
            _ resource: Validated<Grant>, by change: ChangeContext
        ) async throws(GatewayError) -> Stored<Grant> {
            throw .unavailable(retryAfter: 1)
        }

        func list(_ query: ListQuery) async throws(GatewayError) -> Page<Grant> { throw .unavailable(retryAfter: 1) }

        func update(
            _ resource: Validated<Grant>, from revision: UUID, by change: ChangeContext
        ) async throws(GatewayError) -> Stored<Grant> { throw .unavailable(retryAfter: 1) }

        func delete(_ id: String, revision: UUID?, by change: ChangeContext) async throws(GatewayError) {
            throw .unavailable(retryAfter: 1)
        }
    }

    private static func row(
        _ key: String, by user: String = "user:alice", matched: String? = nil, grant: Int = 1,
        action: String = "GetObject", actions: [String]? = nil, type: String? = nil, length: Int64? = nil,
        delivery: String = "presigned-url", credential: Int = 500, method: String? = nil
    ) -> RecordedIssuance {
        RecordedIssuance(
            id: UUID(), issuedAt: Fixture.now.addingTimeInterval(-60), expiresAt: Fixture.now, delivery: delivery,
            principal: user, matchedPrincipal: matched ?? user, grantID: Fixture.id(grant),
            credentialID: Fixture.id(credential), actions: actions ?? [action],
            method: method ?? (action == "PutObject" ? "PUT" : "GET"), bucket: "demo-bucket", key: key,
            contentType: type, contentLength: length, requestID: "r", policySequence: 1)
    }

    @Test func countsWhatARemovalWouldRefuseAndOfWhom() async throws {
        let world = try World(
            [Fixture.grant(1, to: "*", on: "team/"), Fixture.grant(2, to: "user:bob", on: "team/own/")],
            rows: [
                Self.row("team/a", matched: "*"), Self.row("team/b", matched: "*"),
                Self.row("team/c", by: "user:bob", matched: "*"), Self.row("team/own/d", by: "user:bob", grant: 2),
                Self.row("else/e", grant: 9),
            ])
        let result = try await world.simulate(PolicyProposal(removals: [Fixture.id(1)]))
        #expect(result.examined == 5 && result.refused == 3 && result.refusedAlready == 1)
        #expect(
            result.principals.map(\.name) == ["user:alice", "user:bob"] && result.principals.map(\.count) == [2, 1])
        #expect(result.grants.map(\.name) == [Fixture.id(1).lowercaseText] && result.grants.map(\.count) == [3])
        #expect(result.examples.count == 3 && result.examples.allSatisfy { $0.error == .accessDenied })
        #expect(result.nextPageToken == nil && result.examinedBackTo == Fixture.now.addingTimeInterval(-60))
        let query = try #require(world.queries.withLock { $0.first })
        #expect(query.buckets.map(\.rawValue) == ["demo-bucket"] && query.principals == nil)
    }

    @Test func `rows that cannot be read are not left out of a replay`() async throws {
        let world = try World([Fixture.grant(1, on: "team/")], rows: [Self.row("team/a")])
        let proposal = PolicyProposal(removals: [Fixture.id(1)])
        for key in [PolicyKey.principal(.anyone), .bucket(try BucketName("demo-bucket"))] {
            world.policy.set { $0.unreadable = [key] }
            await #expect(throws: GatewayError.unavailable(retryAfter: 60)) { try await world.simulate(proposal) }
        }
        world.policy.set { $0.unreadable = [] }
        #expect(try await world.simulate(proposal).refused == 1)
    }

    /// Temporary credentials are refused with one of their actions; which of their keys were needed is not known.
    @Test func temporaryCredentialsAreReplayedForEachAction() async throws {
        let both = ["PutObject", "GetObject"]
        let world = try World(
            [
                try Fixture.sessionGrant(1), try Fixture.sessionGrant(2, to: "user:bob", on: "a/"),
                try Fixture.sessionGrant(3, to: "user:bob", on: "b/"),
            ],
            rows: [
                Self.row("team/", actions: both, delivery: "sts"),
                Self.row("team/", action: "PutObject", delivery: "sts"),
                Self.row("", by: "user:bob", grant: 2, delivery: "sts"),
            ])
        let deny = try Fixture.grant(9, to: "user:alice", on: "", actions: [.getObject], effect: .deny)
        let denied = try await world.simulate(PolicyProposal(additions: [deny]))
        #expect([denied.examined, denied.refused, denied.refusedAlready, denied.uncertain] == [3, 1, 0, 0])
        let removed = try await world.simulate(PolicyProposal(removals: [Fixture.id(2)]))
        #expect([removed.refused, removed.refusedAlready, removed.uncertain] == [0, 0, 1])
    }

    /// What was counted, in the order refused, refused already, permitted anew, uncertain.
    private static func counts(_ result: Simulation) -> [Int64] {
        [result.refused, result.refusedAlready, result.permittedAnew, result.uncertain]
    }

    @Test(arguments: [
        GrantConditions(), GrantConditions(maxTTL: 600, allowResponseContentType: true),
        GrantConditions(forceDownload: true, allowResponseContentType: true),
    ])
    func `a grant that no longer fits temporary credentials refuses them`(conditions: GrantConditions) async throws {
        let world = try World(
            [Fixture.sessionGrant(1)],
            rows: [Self.row("team/", delivery: "sts"), Self.row("team/a.png", delivery: "sts"), Self.row("team/b")])
        #expect(try await Self.counts(world.simulate(Fixture.sessionGrant(1))) == [0, 0, 0, 0])
        let result = try await world.simulate(Fixture.grant(1, conditions: conditions))
        // The download may have named headers of the answer.
        let isLess = conditions.allowResponseContentType != true || conditions.forceDownload == true
        #expect(Self.counts(result) == [2, 0, 0, isLess ? 1 : 0])
        #expect(Set(result.examples.map(\.issuance.key)) == ["team/", "team/a.png"])
        #expect(result.examples.allSatisfy { $0.error.code == "NotEnforceable" && $0.decidedBy?.id == Fixture.id(1) })
        // The other way round, under the grant that does not fit now.
        let narrow = try World([Fixture.grant(1, conditions: conditions)], rows: world.rows)
        #expect(try await Self.counts(narrow.simulate(Fixture.sessionGrant(1))) == [0, 0, 2, 0])
        let other = try Fixture.grant(9, on: "else/", effect: .deny)
        #expect(try await Self.counts(narrow.simulate(PolicyProposal(additions: [other]))) == [0, 2, 0, 0])
    }

    @Test func `uploads with temporary credentials end with a bound type, fewer keys are uncertain`() async throws {
        let world = try World(
            [Fixture.sessionGrant(1)],
            rows: [Self.row("team/", action: "PutObject", delivery: "sts"), Self.row("team/a/", delivery: "sts")])
        var typed = try Fixture.sessionGrant(1)
        typed.conditions.contentTypes = ["image/*"]
        #expect(try await Self.counts(world.simulate(typed)) == [1, 0, 0, 0])
        let deny = try Fixture.grant(9, on: "team/private/", effect: .deny)
        #expect(try await Self.counts(world.simulate(PolicyProposal(additions: [deny]))) == [0, 0, 0, 1])
        let office = try Fixture.sessionGrant(1, conditions: GrantConditions(sourceCIDRs: ["192.0.2.0/24"]))
        #expect(try await Self.counts(world.simulate(office)) == [0, 0, 0, 2])
    }

    /// What was not read, or is not on record, matters only where the change concerns the prefix.
    @Test func `temporary credentials are uncertain where rows are missing`() async throws {
        let crowd = try (100..<140).map { try Fixture.grant($0, to: "*", on: "crowd/\($0)/") }
        let row = Self.row("team/", delivery: "sts")
        let elsewhere = PolicyProposal(additions: [try Fixture.grant(9, on: "else/")])
        for world in [
            try World(crowd + [Fixture.sessionGrant(1)], rows: [row]),
            try World([Fixture.sessionGrant(1)], rows: [row], role: nil),
            try World(
                [Fixture.sessionGrant(1), Fixture.sessionGrant(2, on: "team/${claim:unit}/")], rows: [row]),
        ] {
            #expect(try await Self.counts(world.simulate(PolicyProposal(removals: [Fixture.id(1)]))) == [0, 0, 0, 1])
            #expect(try await Self.counts(world.simulate(elsewhere)) == [0, 0, 0, 0])
        }
        let tenants = try World(
            [Fixture.sessionGrant(1, on: "tenants/${claim:tenant}/"), Fixture.sessionGrant(2, on: "shared/")],
            rows: [Self.row("tenants/acme/", delivery: "sts"), Self.row("", delivery: "sts")])
        // The prefix shows the claim of the first row; the second rests on a template that nothing shows.
        #expect(try await Self.counts(tenants.simulate(PolicyProposal(removals: [Fixture.id(1)]))) == [1, 0, 0, 1])
        let unnameable = try World([Fixture.sessionGrant(1)], rows: [Self.row("team/*/", delivery: "sts")])
        #expect(try await Self.counts(unnameable.simulate(Fixture.sessionGrant(1))) == [0, 0, 0, 1])
        // A group that the credential named, and the ledger does not, may have permitted the rest.
        let others = try World(
            [Fixture.sessionGrant(1)],
            rows: [Self.row("team/", actions: ["GetObject", "DeleteObject"], delivery: "sts")])
        #expect(try await Self.counts(others.simulate(Fixture.sessionGrant(1))) == [0, 0, 0, 1])
        let deletes = PolicyProposal(additions: [try Fixture.grant(9, on: "team/", actions: [.deleteObject])])
        #expect(try await Self.counts(others.simulate(deletes)) == [0, 0, 0, 1])
    }

    @Test func `a deny below the prefix refuses forms and cookies that cover it`() async throws {
        let put: Set<Action> = [.putObject]
        let form = Self.row(
            "team/${filename}", action: "PutObject", type: "image/png", length: 10, delivery: "post-policy")
        let one = Self.row("team/a", action: "PutObject", type: "image/png", length: 10, delivery: "post-policy")
        let forms = try World([Fixture.grant(1, actions: put)], rows: [form, one])
        let deny = try Fixture.grant(9, on: "team/private/", actions: [.putObject, .getObject], effect: .deny)
        let refused = try await forms.simulate(PolicyProposal(additions: [deny]))
        #expect(Self.counts(refused) == [1, 0, 0, 0] && refused.examples.first?.decidedBy?.id == deny.id)
        #expect(try await Self.counts(forms.simulate(Fixture.grant(1, actions: put))) == [0, 0, 0, 0])
        let bounds = GrantConditions(contentTypes: ["text/*"])
        #expect(
            try await Self.counts(forms.simulate(Fixture.grant(1, actions: put, conditions: bounds))) == [2, 0, 0, 0])

        let site = try World(
            [CookieDecisionTests.grant(1)],
            rows: ["team/", "team/a.mp4"].map { Self.row($0, delivery: "cdn-cookies", credential: 600) },
            bucket: CookieDecisionTests.bucket { $0.bindsSourceAddress = true })
        #expect(try await Self.counts(site.simulate(PolicyProposal(additions: [deny]))) == [1, 0, 0, 0])
        #expect(try await Self.counts(site.simulate(CookieDecisionTests.grant(1))) == [0, 0, 0, 0])
        let closed = GrantConditions(allowResponseContentType: true)
        #expect(
            try await Self.counts(site.simulate(CookieDecisionTests.grant(1, conditions: closed))) == [1, 0, 0, 0])
        let forced = GrantConditions(forceDownload: true, allowResponseContentType: true, allowVersions: true)
        #expect(
            try await Self.counts(site.simulate(CookieDecisionTests.grant(1, conditions: forced))) == [2, 0, 0, 0])
    }

    /// The ledger names the grant of the download. A group that only the credential named may permit the listing.
    @Test func `cookies for a whole bucket are uncertain where no grant permits its listing`() async throws {
        func counts(_ actions: Set<Action>, _ proposal: PolicyProposal) async throws -> [Int64] {
            let world = try World(
                [CookieDecisionTests.grant(1, on: "", actions: actions)],
                rows: [Self.row("", delivery: "cdn-cookies", credential: 600)], bucket: CookieDecisionTests.bucket())
            return try await Self.counts(world.simulate(proposal))
        }
        let removal = PolicyProposal(removals: [Fixture.id(1)])
        #expect(try await counts([.getObject], removal) == [0, 0, 0, 1])
        #expect(try await counts([.getObject, .listObjects], removal) == [1, 0, 0, 0])
        let listing = PolicyProposal(additions: [try Fixture.grant(9, on: "", actions: [.listObjects])])
        #expect(try await counts([.getObject], listing) == [0, 0, 0, 1])
        // These are refused whatever the listing rests on, or are not concerned by the change.
        #expect(try await counts([.putObject], removal) == [0, 1, 0, 0])
        let upload = PolicyProposal(additions: [try Fixture.grant(9, on: "", actions: [.putObject])])
        #expect(try await counts([.getObject], upload) == [0, 1, 0, 0])
    }

    /// The ledger lists the types of a form. What cannot be read is not left out.
    @Test func formsAreReplayedForEachContentType() async throws {
        var images = try Fixture.grant(2, to: "user:alice", on: "up/", actions: [.putObject])
        images.conditions.contentTypes = ["image/png"]
        let world = try World(
            [try Fixture.grant(1, to: "user:alice", on: "up/", actions: [.putObject])],
            rows: [
                Self.row(
                    "up/a", action: "PutObject", type: "image/jpeg, image/png", length: 10, delivery: "post-policy"),
                Self.row("up/a", action: "PutObject", type: "image/png", length: 10, delivery: "post-policy"),
                Self.row("up/a", action: "PutObject", type: "no type, at all", length: 10, delivery: "post-policy"),
            ])
        let removed = try await world.simulate(PolicyProposal(removals: [Fixture.id(1)]))
        #expect([removed.refused, removed.uncertain] == [2, 1])
        let narrowed = try await world.simulate(
            PolicyProposal(additions: [images], removals: [Fixture.id(1)]))
        #expect([narrowed.refused, narrowed.uncertain] == [1, 1])
    }

    @Test func aDenyBelowADirectoryHitsWhatLiesThere() async throws {
        let world = try World(
            [Fixture.grant(1, on: "team/")],
            rows: ["team/a", "team/secret/a", "team/secret/b", "team/secrets", "team/secret"].map { Self.row($0) })
        let deny = try Fixture.grant(7, on: "team/secret/", effect: .deny)
        let result = try await world.simulate(PolicyProposal(additions: [deny]))
        #expect(result.refused == 2 && Set(result.examples.map(\.issuance.key)) == ["team/secret/a", "team/secret/b"])
        #expect(result.examples.allSatisfy { $0.decidedBy?.id == deny.id })
        #expect(world.queries.withLock { $0.first?.principals } == [deny.principal])
        // A single key among the keys of a directory is told apart from the others.
        let one = try Fixture.grant(8, on: "team/secret/b", effect: .deny)
        let single = try await world.simulate(PolicyProposal(additions: [one]))
        #expect(single.refused == 1 && single.examples.map(\.issuance.key) == ["team/secret/b"])
    }

    @Test func aDenyByAClaimThatTheLedgerDoesNotHoldIsUncertain() async throws {
        let standing = try Fixture.grant(3, to: "*", on: "team/${claim:region}/", effect: .deny)
        let world = try World(
            [Fixture.grant(1, on: "team/"), Fixture.grant(2, on: "t/${claim:tenant}/"), standing],
            rows: ["team/a", "team/b/c", "t/acme/x"].map { Self.row($0, grant: $0 == "t/acme/x" ? 2 : 1) })
        // The deny grant that exists now did not deny at that time.
        let removal = try await world.simulate(PolicyProposal(removals: [standing.id]))
        #expect(removal.refused == 0 && removal.refusedAlready == 0 && removal.uncertain == 0)
        let unknown = try Fixture.grant(7, on: "team/${claim:tier}/", effect: .deny)
        let result = try await world.simulate(PolicyProposal(additions: [unknown]))
        #expect(result.uncertain == 2 && result.refused == 0 && result.refusedAlready == 0)
        let known = try Fixture.grant(8, on: "t/${claim:tenant}/", effect: .deny)
        let certain = try await world.simulate(PolicyProposal(additions: [known]))
        #expect(certain.refused == 1 && certain.examples.map(\.issuance.key) == ["t/acme/x"] && certain.uncertain == 0)
    }

    @Test func aReplacementIsJudgedByItsConditions() async throws {
        let world = try World(
            [Fixture.grant(1, on: "team/")],
            rows: [
                Self.row("team/a", action: "PutObject", type: "image/png", length: 10),
                Self.row("team/b", action: "PutObject", type: "text/plain", length: 10),
                Self.row("team/c", action: "PutObject", type: "image/png", length: 99),
                Self.row("team/d", action: "PutObject", type: "image/png", delivery: "multipart-start"),
                Self.row("team/e", action: "PutObject", type: "image/png", length: 99, delivery: "multipart-part"),
                Self.row("team/f"),
            ])
        let narrow = try Fixture.grant(
            1, on: "team/", conditions: GrantConditions(contentTypes: ["image/*"], maxBytes: 50))
        let result = try await world.simulate(PolicyProposal(replacements: [narrow]))
        #expect(Set(result.examples.map(\.issuance.key)) == ["team/b", "team/c", "team/e"] && result.refused == 3)
    }

    /// The ledger holds neither the version nor the headers that a download asked for.
    @Test func `downloads are uncertain where a grant would permit fewer`() async throws {
        let wide = GrantConditions(allowResponseContentType: true, allowVersions: true)
        let world = try World(
            [Fixture.grant(1, conditions: wide), Fixture.grant(2, to: "*", on: "")],
            rows: [Self.row("team/a"), Self.row("team/b", action: "PutObject", type: "image/png", length: 10)])
        for narrow in [
            GrantConditions(allowResponseContentType: true), GrantConditions(allowVersions: true),
            GrantConditions(forceDownload: true, allowResponseContentType: true, allowVersions: true),
        ] {
            #expect(try await Self.counts(world.simulate(Fixture.grant(1, conditions: narrow))) == [0, 0, 0, 1])
        }
        #expect(try await Self.counts(world.simulate(Fixture.grant(1, conditions: wide))) == [0, 0, 0, 0])
        #expect(try await Self.counts(world.simulate(PolicyProposal(removals: [Fixture.id(1)]))) == [0, 0, 0, 1])
    }

    /// A row of a step that an SDK composed does not tell the type of the upload, and parts have another one.
    @Test func `steps of uploads in parts that were signed for SDKs are no uploads of whole objects`() async throws {
        let rows = [
            Self.row("team/a", action: "PutObject", delivery: "remote-signature", method: "POST"),
            Self.row("team/a", action: "PutObject", type: "application/octet-stream", delivery: "multipart-part"),
            Self.row("team/a", action: "PutObject", delivery: "multipart-part"),
            Self.row("team/a", action: "PutObject", delivery: "remote-signature", method: "GET"),
            Self.row("team/a", action: "PutObject", delivery: "remote-signature", method: "DELETE"),
            Self.row("team/b", action: "PutObject", type: "image/png", length: 10, delivery: "remote-signature"),
        ]
        let images = GrantConditions(contentTypes: ["image/*"])
        let typed = try World([Fixture.grant(1, conditions: images)], rows: rows)
        let elsewhere = PolicyProposal(additions: [try Fixture.grant(9, on: "else/")])
        #expect(try await Self.counts(typed.simulate(elsewhere)) == [0, 0, 0, 0])
        #expect(try await Self.counts(typed.simulate(PolicyProposal(removals: [Fixture.id(1)]))) == [1, 0, 0, 5])
        let open = try World([Fixture.grant(1)], rows: rows)
        #expect(try await Self.counts(open.simulate(Fixture.grant(1, conditions: images))) == [0, 0, 0, 5])
        #expect(try await Self.counts(open.simulate(PolicyProposal(removals: [Fixture.id(1)]))) == [6, 0, 0, 0])
        // Only what lists or aborts makes nothing, and a digest is asked of bytes alone.
        let small = GrantConditions(maxBytes: 50)
        let sized = try await open.simulate(Fixture.grant(1, conditions: small))
        #expect(Self.counts(sized) == [3, 0, 0, 0] && Set(sized.examples.map(\.issuance.key)) == ["team/a"])
        let hashed = GrantConditions(requireContentMD5: true)
        #expect(try await Self.counts(open.simulate(Fixture.grant(1, conditions: hashed))) == [3, 0, 0, 0])
    }

    @Test func membershipsThatRowsMakeComeAndGo() async throws {
        let (alice, staff) = (try Principal("user:alice"), try Principal("group:staff"))
        let rows = [
            Self.row("team/a", matched: "group:staff"), Self.row("team/b", by: "user:bob", matched: "group:staff"),
            Self.row("x/c", grant: 2),
        ]
        let grants = [
            try Fixture.grant(1, to: "group:staff", on: "team/"),
            try Fixture.grant(2, on: "x/"), try Fixture.grant(3, to: "group:banned", on: "", effect: .deny),
        ]
        let world = try World(grants, members: [alice: [staff]], rows: rows)
        let leave = PolicyProposal(leaves: [.init(group: staff, member: alice)])
        let result = try await world.simulate(leave)
        // Bob's credential names the group. No row does, and none can remove it.
        #expect(result.examples.map(\.issuance.key) == ["team/a"] && result.refusedAlready == 0)
        #expect(world.queries.withLock { $0.first?.members } == [alice])
        let join = PolicyProposal(joins: [.init(group: try Principal("group:banned"), member: alice)])
        let banned = try await world.simulate(join)
        #expect(Set(banned.examples.map(\.issuance.key)) == ["team/a", "x/c"])
    }

    /// A membership that has ended is not one that the credential named.
    @Test func aMembershipThatEndedPermitsNothing() async throws {
        let (alice, staff) = (try Principal("user:alice"), try Principal("group:staff"))
        let rows = ["user:alice", "user:bob"].map { Self.row("team/a", by: $0, matched: "group:staff") }
        let grants = [try Fixture.grant(1, to: "group:staff", on: "team/")]
        func counts(_ times: [Range<Int64>]) async throws -> [Int64] {
            let past = [PolicyProposal.Membership(group: staff, member: alice): times]
            let world = try World(grants, rows: rows, pastMemberships: past)
            let result = try await world.simulate(PolicyProposal(removals: [Fixture.id(1)]))
            return [result.refused, result.refusedAlready]
        }
        // The rows rest on change 1.
        #expect(try await counts([1..<3]) == [1, 1])
        #expect(try await counts([0..<1, 2..<3]) == [2, 0])
        #expect(try await counts([]) == [2, 0])
    }

    /// Denies of groups that the caller is in have been decided with the claims of the time.
    @Test(arguments: [true, false]) func aGroupThatDeniesByAClaimIsUncertain(joins: Bool) async throws {
        let (alice, contractors) = (try Principal("user:alice"), try Principal("group:contractors"))
        let grants = [
            try Fixture.grant(1, on: "team/"),
            try Fixture.grant(2, to: "group:contractors", on: "team/${claim:tier}/", effect: .deny),
            try Fixture.grant(3, to: "group:contractors", on: "other/${claim:tier}/", effect: .deny),
        ]
        let world = try World(
            grants, members: joins ? [:] : [alice: [contractors]], rows: [Self.row("team/a/b"), Self.row("team/c")])
        let change =
            joins
            ? PolicyProposal(joins: [.init(group: contractors, member: alice)])
            : PolicyProposal(additions: [try Fixture.grant(9, on: "elsewhere/", effect: .deny)])
        let result = try await world.simulate(change)
        #expect(result.refused == 0 && result.uncertain == (joins ? 2 : 0), "\(result)")
    }

    @Test func whatTheLedgerDoesNotKnowIsToldApart() async throws {
        let fromOffice = GrantConditions(sourceCIDRs: ["192.0.2.0/24"])
        let rows = [
            Self.row("team/a"), Self.row("office/b", grant: 2), Self.row("tenants/acme/c", grant: 3),
            Self.row("gone/d", grant: 8),
        ]
        let world = try World(
            [
                Fixture.grant(1, on: "team/"), Fixture.grant(2, on: "office/", conditions: fromOffice),
                Fixture.grant(3, to: "user:alice", on: "tenants/${claim:tenant}/"),
            ], rows: rows)
        // The network condition may or may not hold. Grants that are not changed hold as before.
        let tightened = try Fixture.grant(1, on: "team/", conditions: fromOffice)
        let network = try await world.simulate(PolicyProposal(replacements: [tightened]))
        #expect(network.uncertain == 1 && network.refused == 0 && network.refusedAlready == 1)
        // The template that decided reveals the claim.
        let template = try await world.simulate(PolicyProposal(removals: [Fixture.id(3)]))
        #expect(template.examples.map(\.issuance.key) == ["tenants/acme/c"] && template.refused == 1)
        let anew = try await world.simulate(PolicyProposal(additions: [Fixture.grant(9, on: "gone/")]))
        #expect(anew.permittedAnew == 1 && anew.refused == 0)
    }

    /// The rows are of change 1. What the grant says since change 5 shows nothing of their callers.
    @Test func aTemplateThatWasChangedRevealsClaimsAsItWas() async throws {
        let (past, present) = (try KeyPrefix(template: "tenants/${claim:tenant}/"), "areas/${claim:area}/")
        let world = try World(
            [
                Fixture.grant(3, to: "user:alice", on: present),
                Fixture.grant(4, to: "user:alice", on: "tenants/${claim:tenant}/"),
            ], rows: [Self.row("tenants/acme/c", grant: 3)],
            pastTemplates: [
                Fixture.id(3): [
                    PastTemplate(prefix: try KeyPrefix(template: "old/${claim:age}/"), since: 0, until: 1),
                    PastTemplate(prefix: past, since: 1, until: 5),
                    PastTemplate(prefix: try KeyPrefix(template: present), since: 5, until: nil),
                ]
            ])
        let result = try await world.simulate(PolicyProposal(removals: [Fixture.id(4)]))
        #expect(result.refused == 1 && result.uncertain == 0, "\(result)")
    }

    @Test func isCutOffAndGoesOn() async throws {
        let world = try World(
            [Fixture.grant(1, on: "team/")], rows: (0..<25).map { Self.row("team/\($0)/x", by: "user:alice") })
        let proposal = PolicyProposal(removals: [Fixture.id(1)])
        var token: String?
        var refused: [Int64] = []
        repeat {
            let part = try await world.simulate(proposal, limits: .init(maxRows: 10, chunk: 5), token: token)
            refused.append(part.refused)
            #expect(part.examined == part.refused && part.examples.count <= Simulation.maxExamples)
            token = part.nextPageToken
        } while token != nil
        #expect(refused == [10, 10, 5])
        let late = try await world.simulate(proposal, limits: .init(patience: .zero, chunk: 5))
        #expect(late.examined == 5 && late.nextPageToken != nil, "at least one chunk, or it would never end")
    }

    @Test func boundsWhatItCountsApart() async throws {
        let world = try World(
            [Fixture.grant(1, to: "*", on: "team/")],
            rows: (0..<1500).map { Self.row("team/x", by: "user:\($0)", matched: "*") })
        let result = try await world.simulate(PolicyProposal(removals: [Fixture.id(1)]))
        #expect(result.refused == 1500 && result.principals.count == Simulation.maxShares && result.hasMoreShares)
        #expect(result.examples.count == Simulation.maxExamples)
        let loads = world.policy.now.loads
        #expect(loads.count < 10 && loads.allSatisfy { $0.count <= 500 }, "callers are loaded together")
    }

    @Test func crowdedPrincipalsAreLookedUpByPlace() async throws {
        let crowd = try (100..<500).map { try Fixture.grant($0, to: "*", on: "crowd/\($0)/") }
        let world = try World(
            crowd, rows: [100, 101, 102].map { Self.row("crowd/\($0)/a", matched: "*", grant: $0) })
        let result = try await world.simulate(PolicyProposal(removals: [Fixture.id(101)]))
        #expect(result.refused == 1 && result.refusedAlready == 0)
        #expect(result.examples.map(\.issuance.key) == ["crowd/101/a"])
        let deny = try Fixture.grant(900, to: "*", on: "crowd/102/", effect: .deny)
        #expect(
            try await world.simulate(PolicyProposal(additions: [deny])).examples.map(\.issuance.key) == ["crowd/102/a"])
    }

    @Test func namesGrantsThatAreNotThere() async throws {
        let world = try World([Fixture.grant(1)], rows: [])
        for (proposal, field) in [
            (PolicyProposal(removals: [Fixture.id(2)]), "remove[0]"),
            (PolicyProposal(removals: [Fixture.id(1), Fixture.id(1)]), "remove[1]"),
            (PolicyProposal(replacements: [try Fixture.grant(3)]), "replace[0].id"),
            (PolicyProposal(replacements: [try Fixture.grant(1)], removals: [Fixture.id(1)]), "remove[0]"),
        ] {
            let error = await #expect(throws: GatewayError.self) { _ = try await world.simulate(proposal) }
            guard case .invalidArgument(field, _)? = error else {
                Issue.record("\(field): \(String(describing: error))")
                continue
            }
        }
    }
}

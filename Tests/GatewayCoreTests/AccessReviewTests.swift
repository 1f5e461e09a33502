import Foundation
import GatewayCore
import TestSupport
import Testing

/// Compares reviews of access with the decisions about many requests.
@Suite struct AccessReviewTests {
    static let segments = ["a", "b", "alice", "acme"]
    static let names = ["user:alice", "user:bob", "group:g1", "group:g2", "*"]
    static let tenants: [String?] = [nil, "elsewhere", "no/segment"] + segments

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `verdicts sum up what is decided about every request`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var seen: [String: Int] = [:]
        for _ in 0..<100 {
            let world = try world(&random)
            let parts = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                Self.segments.randomElement(using: &random) ?? "a"
            }
            let key = try ObjectKey(parts.joined(separator: "/"))
            let source = ScriptedPolicy(world)
            let review = review(source)
            for name in Self.names {
                let principal = try Principal(name)
                let page = try await review.access(
                    to: key, in: BucketName("demo-bucket"), of: principal, includesMembers: false, ListQuery())
                let verdicts = try #require(page.items.first).verdicts
                for action in Action.allCases {
                    let told = verdicts.first { $0.action == action }?.outcome ?? .denied
                    let answers = try await answers(to: action, on: key, as: principal, source)
                    let expected: AccessVerdict.Outcome =
                        answers == [true] ? .allowed : answers == [false] ? .denied : .conditional
                    #expect(told == expected, "\(name) \(action) \(key.rawValue): \(world.grants)")
                    seen["\(told) \(principal.isUser)", default: 0] += 1
                }
            }
        }
        #expect(seen.count == 6 && seen.values.allSatisfy { $0 > 10 }, "\(seen)")
    }

    @Test func `a verdict names the grant through which it holds, and what it depends on`() async throws {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        tables.members = [try Principal("user:alice"): [try Principal("group:g1")]]
        tables.grants = [
            try Fixture.grant(
                1, to: "group:g1", actions: [.putObject],
                conditions: GrantConditions(contentTypes: ["image/*"], sourceCIDRs: ["192.0.2.0/24"])),
            try Fixture.grant(2, to: "*", actions: [.getObject]),
            try Fixture.grant(3, to: "user:bob", actions: [.getObject], effect: .deny),
        ]
        let review = review(ScriptedPolicy(tables))
        func verdicts(_ name: String) async throws -> [AccessVerdict] {
            let page = try await review.access(
                to: ObjectKey("team/a"), in: BucketName("demo-bucket"), of: Principal(name), includesMembers: false,
                ListQuery())
            return try #require(page.items.first).verdicts
        }
        let alice = try await verdicts("user:alice")
        let upload = try #require(alice.first { $0.action == .putObject })
        #expect(upload.outcome == .conditional && upload.decidedBy?.id == Fixture.id(1))
        #expect(upload.conditions == [.contentTypes, .sourceCIDRs])
        #expect(alice.first { $0.action == .getObject }?.outcome == .allowed)
        let bob = try await verdicts("user:bob")
        #expect(bob.map(\.outcome) == [.denied] && bob.first?.decidedBy?.id == Fixture.id(3))
        #expect(try await verdicts("*").map(\.outcome) == [.allowed])
        #expect(try await verdicts("user:bob").map(\.reason) == [.denied])
    }

    @Test func `there is no verdict on a bucket that cannot be read`() async throws {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.unreadable = [.bucket(try BucketName("demo-bucket"))]
        let review = review(ScriptedPolicy(tables))
        for name in ["user:alice", "group:g1"] {
            await #expect(throws: GatewayError.unavailable(retryAfter: 60), "\(name)") {
                try await review.access(
                    to: ObjectKey("team/a"), in: BucketName("demo-bucket"), of: Principal(name), includesMembers: false,
                    ListQuery())
            }
        }
    }

    /// At a store that obeys unsigned headers every upload states a SHA-256, which is no condition of a grant.
    @Test func `uploads to a store that obeys unsigned headers are allowed`() async throws {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.bucket?.honoursUnsignedHeaders = true
        tables.credential = Fixture.credential()
        tables.grants = [
            try Fixture.grant(1, actions: [.putObject]),
            try Fixture.grant(
                2, to: "user:bob", actions: [.putObject],
                conditions: GrantConditions(maxBytes: 5, requireContentMD5: true)),
        ]
        let review = review(ScriptedPolicy(tables))
        for (name, outcome) in [("user:alice", AccessVerdict.Outcome.allowed), ("user:bob", .conditional)] {
            let page = try await review.access(
                to: ObjectKey("team/a"), in: BucketName("demo-bucket"), of: Principal(name), includesMembers: false,
                ListQuery())
            #expect(try #require(page.items.first).verdicts.map(\.outcome) == [outcome], "\(name)")
        }
    }

    @Test func `what a principal may do is listed with its groups and everyone's`() async throws {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        tables.members = [try Principal("user:alice"): [try Principal("group:g1")]]
        tables.grants = [
            try Fixture.grant(1, to: "user:alice", on: "users/${sub}/"),
            try Fixture.grant(2, to: "group:g1", on: "${claim:tenant}/"),
            try Fixture.grant(3, to: "*", until: Fixture.now),
            try Fixture.grant(4, to: "group:g2"), try Fixture.grant(5, to: "user:bob"),
        ]
        tables.quotas = [
            try Fixture.quota(6), try Fixture.quota(7, for: "group:g1", sharing: .shared),
            try Fixture.quota(8, for: "user:bob"), try Fixture.quota(9, for: "*", bucket: "other-bucket"),
        ]
        let review = review(ScriptedPolicy(tables))
        let alice = try await review.access(of: Principal("user:alice"), in: nil, ListQuery())
        #expect(alice.members.map(\.principal.rawValue) == ["user:alice", "group:g1", "*"])
        #expect(alice.grants.items.map(\.grant.id) == [3, 2, 1].map(Fixture.id))
        #expect(alice.grants.items.map(\.prefix?.rawValue) == ["team/", nil, "users/alice/"])
        #expect(alice.grants.items.map(\.standing) == [.ended, .active, .active])
        #expect(alice.grants.items.map(\.origin) == [.everyone, .membership, .caller])
        #expect(alice.quotas.map(\.quota.id) == [6, 7, 9].map(Fixture.id))
        let inBucket = try await review.access(of: Principal("user:alice"), in: BucketName("demo-bucket"), ListQuery())
        #expect(inBucket.quotas.map(\.quota.id) == [6, 7].map(Fixture.id))
        let group = try await review.access(of: Principal("group:g1"), in: nil, ListQuery())
        #expect(group.members.map(\.principal.rawValue) == ["group:g1", "*"])
        #expect(group.quotas.map { $0.remainder == nil } == [false, true])
    }

    @Test func `a delegated admin sees the groups that a scope names, or that have a row inside`() async throws {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        let groups = ["group:inside", "group:outside", "group:quota", "group:many", "group:elsewhere", "group:none"]
        tables.members = [try Principal("user:alice"): try groups.map { try Principal($0) }]
        tables.grants = [
            try Fixture.grant(1, to: "group:inside", on: "team/"), try Fixture.grant(2, to: "group:outside", on: "te"),
        ]
        // More grants than the cache holds of one principal.
        for (number, prefix) in ["a/", "b/", "c/", "d/", "team/x/"].enumerated() {
            tables.grants.append(try Fixture.grant(10 + number, to: "group:many", on: prefix))
            tables.grants.append(try Fixture.grant(20 + number, to: "group:elsewhere", on: "of-" + prefix))
        }
        tables.quotas = [try Fixture.quota(30, for: "group:quota", bucket: "demo-bucket")]
        let review = review(ScriptedPolicy(tables))
        func members(_ prefix: String, _ principals: [String]? = nil) async throws -> [String] {
            let scope = try AdminScope(
                bucket: BucketName("demo-bucket"), prefix: prefix,
                principals: principals?.map { try PrincipalPattern($0) })
            let page = ListQuery(reach: .limited([scope]))
            return try await review.access(of: Principal("user:alice"), in: nil, page).members
                .map(\.principal.rawValue).sorted()
        }
        #expect(try await members("team/") == ["*", "group:inside", "group:many", "user:alice"])
        #expect(
            try await members("")
                == ["*"] + groups.filter { $0 != "group:none" }.sorted() + ["user:alice"])
        #expect(try await members("team/", ["user:alice"]) == ["user:alice"])
        #expect(try await members("x/", ["user:a*", "group:n*"]) == ["group:none", "user:alice"])
    }

    @Test func `a principal in too many groups is the question's fault, not the admin's`() async throws {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        tables.members = [try Principal("user:alice"): [try Principal("group:g1"), try Principal("group:g2")]]
        tables.grants = [try Fixture.grant(1, to: "*")]
        let review = review(ScriptedPolicy(tables), maxGroups: 1)
        let alice = try Principal("user:alice")
        let error = await #expect(throws: GatewayError.self) {
            try await review.access(of: alice, in: nil, ListQuery())
        }
        guard case .invalidArgument("principal", _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let page = try await review.access(
            to: ObjectKey("team/a"), in: BucketName("demo-bucket"), of: alice, includesMembers: false, ListQuery())
        #expect(try #require(page.items.first).verdicts.allSatisfy { $0.reason == .unauthenticated })
    }

    private func review(_ source: ScriptedPolicy, maxGroups: Int = 512) -> AccessReview {
        AccessReview(
            cache: PolicyCache(
                source: source, limits: PolicyCache.Limits(literalGrantLimit: 3, maxGroups: maxGroups)),
            rows: ScriptedAccess(grants: source.now.grants), usage: FullQuotas(), now: { Fixture.now })
    }

    private func world(_ random: inout SeededGenerator) throws -> ScriptedPolicy.Tables {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        tables.members = [try Principal("user:alice"): [try Principal("group:g1")]]
        for number in 1...Int.random(in: 1...5, using: &random) {
            let isDeny = Int.random(in: 0..<5, using: &random) == 0
            let isPast = Int.random(in: 0..<8, using: &random) == 0
            let transfers: [Set<Action>] = [[.putObject], [.getObject], [.putObject, .getObject]]
            var actions = transfers.randomElement(using: &random) ?? [.getObject]
            for action in [.listObjects, .deleteObject] as [Action] where Bool.random(using: &random) {
                actions.insert(action)
            }
            let pool = Self.segments + ["${sub}", "${claim:tenant}"]
            let parts = (0..<Int.random(in: 0...2, using: &random)).map { _ in
                pool.randomElement(using: &random) ?? "a"
            }
            let prefix = parts.isEmpty ? "" : parts.joined(separator: "/") + (Bool.random(using: &random) ? "/" : "")
            tables.grants.append(
                try Fixture.grant(
                    number, to: Self.names.randomElement(using: &random) ?? "*", on: prefix,
                    actions: actions,
                    effect: isDeny ? .deny : .allow,
                    conditions: isDeny ? GrantConditions() : DecisionComparisonTests.conditions(&random),
                    until: isPast ? Fixture.now : nil))
        }
        return tables
    }

    /// Decides about many requests of every caller that the principal may be.
    private func answers(
        to action: Action, on key: ObjectKey, as principal: Principal, _ source: ScriptedPolicy
    ) async throws -> Set<Bool> {
        var answers: Set<Bool> = []
        let requests = try Self.requests(action, key.rawValue)
        let cache = PolicyCache(source: principal.isUser ? source : source.withoutUsers())
        // A member of a group that has nothing else, by each name that templates tell apart.
        let names = Self.segments.map { "user:" + $0 } + ["user:x/y", "user:elsewhere"]
        for name in principal.isUser ? [principal.rawValue] : names {
            let caller = try Principal(name)
            let policy = try await Self.policy(
                for: action, of: caller, groups: principal.isGroup ? [principal] : [], on: key, in: cache)
            guard let policy else {
                answers.insert(false)
                continue
            }
            for tenant in Self.tenants {
                let subject = Subject(principal: caller, claims: tenant.map { ["tenant": $0] } ?? [:])
                for address in [nil, IPAddress("198.51.100.7")] {
                    for request in requests {
                        let decision = decide(
                            request, for: subject, under: policy, sourceAddress: address, now: Fixture.now)
                        if case .permit = decision { answers.insert(true) } else { answers.insert(false) }
                    }
                }
            }
        }
        return answers
    }

    /// Reads what issuing reads: for a listing, also the grants below; `nil` if these are too many.
    private static func policy(
        for action: Action, of caller: Principal, groups: [Principal], on key: ObjectKey, in cache: PolicyCache
    ) async throws -> AccessPolicy? {
        let bucket = try BucketName("demo-bucket")
        guard action == .listObjects else {
            return try await cache.access(of: caller, groups: groups, to: bucket, key: key)
        }
        let folder: String = key.rawValue.split(separator: "/").dropLast().map { $0 + "/" }.joined()
        return try await cache.access(of: caller, groups: groups, to: bucket, around: ExactText(folder))
    }

    private static func requests(_ action: Action, _ key: String) throws -> [IssueRequest] {
        guard action == .putObject else {
            var fields = IssueRequest.Fields()
            fields.action = action.rawValue
            fields.bucket = "demo-bucket"
            if action == .listObjects { fields.prefix = key } else { fields.key = key }
            return [try IssueRequest(fields)]
        }
        var requests: [IssueRequest] = []
        for type in ["image/png", "text/html", "application/pdf"] {
            for length in [0, 1, 2, 3, 5 << 30] as [Int64] {
                requests.append(try Fixture.put(key, type: type, length: length))
            }
        }
        return requests
    }
}

extension ScriptedPolicy {
    /// The same rows without those of users, so that a user is a member and nothing else.
    fileprivate func withoutUsers() -> ScriptedPolicy {
        var tables = now
        tables.grants.removeAll { $0.principal.isUser }
        tables.quotas.removeAll { $0.principal.isUser }
        tables.members = [:]
        return ScriptedPolicy(tables)
    }
}

/// Half of each quota is left.
private struct FullQuotas: QuotaUsageSource {
    func usage(of holdings: [QuotaHolding]) async throws(GatewayError) -> [QuotaRemainder] {
        holdings.map { QuotaRemainder(quotaID: $0.quota.id, remaining: $0.quota.limit / 2, resetsIn: 60) }
    }
}

/// The rows of one page, from an array.
private struct ScriptedAccess: AccessRows {
    let grants: [Grant]

    func grants(
        of principals: [Principal], in bucket: BucketName?, _ page: ListQuery
    ) async throws(GatewayError) -> Page<Grant> {
        let rows = grants.filter {
            principals.contains($0.principal) && (bucket == nil || bucket == $0.bucket)
                && $0.isVisible(within: page.reach)
        }
        return Page(items: rows.sorted { $0.principal.rawValue < $1.principal.rawValue }, nextPageToken: nil)
    }

    func grants(
        around prefix: ExactText, in bucket: BucketName, _ page: ListQuery
    ) async throws(GatewayError) -> Page<PlacedGrant> { Page(items: [], nextPageToken: nil) }

    func principals(
        reaching key: ObjectKey, in bucket: BucketName, includesMembers: Bool, _ page: ListQuery
    ) async throws(GatewayError) -> Page<Principal> { Page(items: [], nextPageToken: nil) }

    func grants(
        of principals: [Principal], reaching key: ObjectKey, in bucket: BucketName, limit: Int
    ) async throws(GatewayError) -> [Grant] { [] }

    func memberCounts(of groups: [Principal]) async throws(GatewayError) -> [Principal: Int64] { [:] }
}

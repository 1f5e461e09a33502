import Foundation
import GatewayCore
import LibCrypto
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(1))) struct PolicyCacheTests {
    let alice: Principal
    let staff: Principal
    let bucket: BucketName
    let key: ObjectKey

    init() throws {
        alice = try Principal("user:alice")
        staff = try Principal("group:staff")
        bucket = try BucketName("demo-bucket")
        key = try ObjectKey("team/a/x")
    }

    func tables(_ change: (inout ScriptedPolicy.Tables) throws -> Void = { _ in }) throws -> ScriptedPolicy.Tables {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        try change(&tables)
        return tables
    }

    func access(_ cache: PolicyCache, groups: [Principal] = []) async throws -> AccessPolicy {
        try await cache.access(of: alice, groups: groups, to: bucket, key: key)
    }

    @Test func `what is missing at once goes out in one load, and nothing after that`() async throws {
        let source = ScriptedPolicy(try tables { $0.members = [alice: [staff]] })
        let cache = PolicyCache(source: source)
        let policy = try await access(cache)
        #expect(policy.principals.map(\.principal) == [alice, staff, .anyone])
        #expect(policy.bucket?.name == bucket)
        #expect(policy.credential != nil)
        #expect(policy.position == Fixture.position)
        #expect(
            source.now.loads == [
                [.principal(alice), .principal(.anyone), .bucket(bucket)],
                [.principal(staff), .credential(Fixture.id(500))],
            ]
        )
        _ = try await access(cache)
        #expect(source.now.loads.count == 2)
    }

    @Test func `the proof covers all that was relied on, each group once`() async throws {
        let cache = PolicyCache(source: ScriptedPolicy(try tables { $0.members = [alice: [staff]] }))
        let policy = try await access(cache, groups: [staff, staff, try Principal("user:bob")])
        #expect(
            Set(policy.scopes.map(\.rawValue)) == [
                "user:alice", "group:staff", "*", "bucket:demo-bucket",
                "credential:" + Fixture.id(500).uuidString.lowercased(),
            ]
        )
        #expect(policy.principals.count == 3)
    }

    @Test func `that a bucket is not there is remembered until it is made`() async throws {
        let source = ScriptedPolicy(try tables { $0.bucket = nil })
        let cache = PolicyCache(source: source)
        #expect(try await access(cache).bucket == nil)
        #expect(try await access(cache).bucket == nil)
        #expect(source.now.loads.count == 1)
        try source.change([.bucket(bucket)]) { $0.bucket = try Fixture.bucket() }
        try await cache.advance()
        #expect(try await access(cache).bucket != nil)
    }

    @Test func `a change drops its scope and nothing else`() async throws {
        let source = ScriptedPolicy(try tables())
        let cache = PolicyCache(source: source)
        _ = try await access(cache)
        try source.change([.principal(alice)]) { $0.grants = [try Fixture.grant(1)] }
        #expect(try await access(cache).principals[0].grants.isEmpty)
        try await cache.advance()
        let policy = try await access(cache)
        #expect(policy.principals[0].grants.count == 1)
        #expect(policy.position.sequence == 11)
        #expect(source.now.loads.last == [.principal(alice)])
    }

    @Test(arguments: [PolicyScope.all, PolicyScope(rawValue: "something:new")])
    func `a change of everything, or of what is not understood, drops everything`(scope: PolicyScope) async throws {
        let source = ScriptedPolicy(try tables())
        let cache = PolicyCache(source: source)
        _ = try await access(cache)
        source.change([scope]) { _ in }
        try await cache.advance()
        #expect(cache.count == 0)
        #expect(try await access(cache).position.sequence == 11)
    }

    @Test func `a position that the log does not know makes it forget everything`() async throws {
        let source = ScriptedPolicy(try tables())
        let cache = PolicyCache(source: source)
        let before = try await cache.apiKey(prefix: "key").position
        _ = try await access(cache)
        let elsewhere = PolicyPosition(sequence: 10, tag: Fixture.id(77))
        source.set { $0.log = [(elsewhere, [])] }
        #expect(before.toProve == before)
        try await cache.advance()
        #expect(before.toProve != before, "the caller's position may be one of the other log")
        #expect(cache.count == 0)
        #expect(cache.position == elsewhere)
        #expect(try await access(cache).position == elsewhere)
    }

    @Test func `a caller who was checked in a history that has ended proves nothing`() async throws {
        let cache = PolicyCache(source: ScriptedPolicy(try tables()))
        let before = try await cache.apiKey(prefix: "key").position
        let position = try #require(cache.position)
        cache.discard()
        #expect(cache.count == 0)
        for known in [before, position] { #expect(known == Fixture.position && known.toProve == known) }
        cache.beginHistory()
        for lost in [before, position] { #expect(lost.toProve.sequence == 0 && lost.toProve.tag != lost.tag) }
        let after = try await cache.apiKey(prefix: "key").position
        #expect(after == before && after.toProve == after)
        #expect(cache.position?.toProve == after)
    }

    @Test func `a load that is older than what was read meanwhile is discarded and done again`() async throws {
        let latch = Latch()
        let once = Once()
        let source = ScriptedPolicy(try tables { $0.grants = [try Fixture.grant(1)] }) { call in
            if call == .load, once.isFirst() { await latch.wait() }
        }
        let cache = PolicyCache(source: source)
        try await cache.advance()
        async let policy = access(cache)
        await latch.arrival()
        source.change([.principal(alice)]) { $0.grants = [] }
        try await cache.advance()
        latch.open()
        #expect(try await policy.principals[0].grants.isEmpty)
        #expect(try await policy.position.sequence == 11)
    }

    @Test func `a load from before everything was forgotten is discarded, whatever its number`() async throws {
        let latch = Latch()
        let once = Once()
        let source = ScriptedPolicy(try tables { $0.grants = [try Fixture.grant(1)] }) { call in
            if call == .load, once.isFirst() { await latch.wait() }
        }
        let cache = PolicyCache(source: source)
        try await cache.advance()
        async let policy = access(cache)
        await latch.arrival()
        // Another server took over. Its log is shorter and does not contain the grant.
        let elsewhere = PolicyPosition(sequence: 3, tag: Fixture.id(77))
        source.set {
            $0.log = [(elsewhere, [])]
            $0.grants = []
        }
        try await cache.advance()
        latch.open()
        #expect(try await policy.principals[0].grants.isEmpty)
        #expect(try await policy.position == elsewhere)
    }

    @Test func `advancing reads the log anew, whatever reading is under way`() async throws {
        let latch = Latch()
        let once = Once()
        let source = ScriptedPolicy(try tables()) { call in
            if call == .changes, once.isFirst() { await latch.wait() }
        }
        let cache = PolicyCache(source: source)
        _ = try await access(cache)
        async let early: Void = cache.advance()
        await latch.arrival()
        source.change([.principal(alice)]) { _ in }
        let late = Task.immediate { try await cache.advance() }
        latch.open()
        try await late.value
        #expect(cache.position?.sequence == 11)
        try await early
    }

    @Test func `rows with the position's number but another tag are of another log`() async throws {
        let source = ScriptedPolicy(try tables())
        let cache = PolicyCache(source: source)
        try await cache.advance()
        let elsewhere = PolicyPosition(sequence: 10, tag: Fixture.id(77))
        source.set { $0.log = [(elsewhere, [])] }
        #expect(try await access(cache).position == elsewhere)
        #expect(source.now.reads.count == 2)
    }

    @Test func `a principal with many grants is looked up by place`() async throws {
        let grants = try (1...5).map { try Fixture.grant($0, on: "team/\($0)/") } + [Fixture.grant(6, on: "team/a/")]
        let source = ScriptedPolicy(try tables { $0.grants = grants })
        let cache = PolicyCache(source: source, limits: PolicyCache.Limits(literalGrantLimit: 5))
        #expect(try await access(cache).literalGrants.map(\.id) == [Fixture.id(6)])
        #expect(source.now.placeLoads.map(\.count) == [4])
        _ = try await access(cache)
        #expect(source.now.placeLoads.count == 1)
        let others = Array(grants.dropLast()) + [try Fixture.grant(7, on: "team/7/")]
        source.change([.principal(alice)]) { $0.grants = others }
        try await cache.advance()
        #expect(try await access(cache).literalGrants.isEmpty)
    }

    @Test func `too many groups are refused, in the credential and in the rows`() async throws {
        let groups = try (0..<5).map { try Principal("group:\($0)") }
        let limits = PolicyCache.Limits(maxGroups: 4)
        let cache = PolicyCache(source: ScriptedPolicy(try tables { $0.members = [alice: [staff]] }), limits: limits)
        #expect(try await access(cache, groups: Array(groups.prefix(3))).principals.count == 6)
        await #expect(throws: GatewayError.self) { try await access(cache, groups: Array(groups.prefix(4))) }
        await #expect(throws: GatewayError.self) { try await access(cache, groups: groups) }
    }

    @Test func `what was used longest ago leaves first, and rows are found again`() async throws {
        let source = ScriptedPolicy(try tables())
        let cache = PolicyCache(source: source, limits: PolicyCache.Limits(maxEntries: 4))
        for name in ["a", "b", "c", "d"] {
            _ = try await cache.access(of: Principal("user:\(name)"), groups: [], to: bucket, key: key)
            #expect(cache.count <= 4)
        }
        let loads = source.now.loads.count
        _ = try await cache.access(of: Principal("user:d"), groups: [], to: bucket, key: key)
        #expect(source.now.loads.count == loads)
        _ = try await cache.access(of: Principal("user:a"), groups: [], to: bucket, key: key)
        #expect(source.now.loads.last == [.principal(try Principal("user:a"))])
    }

    @Test func `bytes are bounded as well`() async throws {
        let grants = try (1...200).map { try Fixture.grant($0, to: "user:\($0 % 20)") }
        let source = ScriptedPolicy(try tables { $0.grants = grants })
        let cache = PolicyCache(source: source, limits: PolicyCache.Limits(maxBytes: 30_000))
        for number in 0..<20 {
            let policy = try await cache.access(of: Principal("user:\(number)"), groups: [], to: bucket, key: key)
            #expect(policy.principals[0].grants.count == 10)
            #expect(cache.approximateBytes <= 30_000)
        }
    }

    @Test func `a cache too small for one caller says so instead of loading for ever`() async throws {
        let source = ScriptedPolicy(try tables())
        let cache = PolicyCache(source: source, limits: PolicyCache.Limits(maxEntries: 2))
        await #expect(throws: GatewayError.slowDown(retryAfter: 1)) { try await access(cache) }
    }

    @Test func `a source that is down is not remembered`() async throws {
        let source = ScriptedPolicy(try tables())
        let cache = PolicyCache(source: source)
        source.set { $0.error = .unavailable(retryAfter: 1) }
        await #expect(throws: GatewayError.unavailable(retryAfter: 1)) { try await access(cache) }
        await #expect(throws: GatewayError.unavailable(retryAfter: 1)) { try await cache.advance() }
        source.set { $0.error = nil }
        #expect(try await access(cache).bucket != nil)
    }

    @Test func `rows that cannot be read refuse those who need them, and nobody who waits for the same load`()
        async throws
    {
        let latch = Latch()
        let once = Once()
        let source = ScriptedPolicy(try tables { $0.unreadable = [.principal(alice)] }) { call in
            if call == .load, once.isFirst() { await latch.wait() }
        }
        let cache = PolicyCache(source: source)
        func ask(_ user: String) throws -> Task<AccessPolicy, any Error> {
            let principal = try Principal("user:\(user)")
            return Task.immediate { try await cache.access(of: principal, groups: [], to: bucket, key: key) }
        }
        let first = try ask("carol")
        await latch.arrival()
        let (refused, other) = (try ask("alice"), try ask("bob"))
        latch.open()
        #expect(try await first.value.bucket != nil)
        #expect(try await other.value.bucket != nil)
        let unreadable = GatewayError.unavailable(retryAfter: 60)
        await #expect(throws: unreadable) { try await refused.value }
        let loads = source.now.loads
        let together: Set<PolicyKey> = [.principal(alice), .principal(try Principal("user:bob"))]
        #expect(loads.contains { $0.isSuperset(of: together) })
        // Only a change of the rows can make them readable.
        await #expect(throws: unreadable) { try await access(cache) }
        #expect(source.now.loads.count == loads.count)
        source.change([.principal(alice)]) { $0.unreadable = [] }
        #expect(try await access(cache).bucket != nil)
    }

    @Test func `memory refuses nobody for groups that a change took away`() async throws {
        let groups = try (0..<5).map { try Principal("group:\($0)") }
        let source = ScriptedPolicy(try tables { $0.members = [alice: groups] })
        let cache = PolicyCache(source: source, limits: PolicyCache.Limits(maxGroups: 4))
        let reads = source.now.reads.count
        await #expect(throws: GatewayError.unauthenticated(reason: "The caller belongs to too many groups.")) {
            try await access(cache)
        }
        #expect(source.now.reads.count == reads + 1)
        source.change([.principal(alice)]) { $0.members = [alice: [staff]] }
        #expect(try await access(cache).principals.map(\.principal) == [alice, staff, .anyone])
    }

    /// The errors of downloads in several buckets, as one batch; `nil` where they are permitted.
    private func errors(
        _ cache: PolicyCache, as name: String, in buckets: [BucketName], at endpoint: String? = nil
    ) async throws -> [GatewayError?] {
        let subject = Subject(principal: try Principal(name))
        let key = try Fixture.get().key
        let results = try await cache.access(of: subject.principal, groups: [], to: buckets.map { ($0, key) })
        var errors: [GatewayError?] = []
        for (bucket, policy) in zip(buckets, results) {
            let request = try Fixture.get(bucket: bucket.rawValue) { $0.endpoint = endpoint }
            switch decide(request, for: subject, under: try policy.get(), sourceAddress: nil, now: Fixture.now) {
            case .permit: errors.append(nil)
            case .refuse(let refusal): errors.append(refusal.error)
            }
        }
        return errors
    }

    /// The callers have grants that are held, or are looked up by place.
    @Test(arguments: [256, 0])
    func `who has no grant in a bucket that cannot be read does not learn that there is one`(limit: Int) async throws {
        let second = try BucketName("second-bucket")
        let source = ScriptedPolicy(
            try tables {
                $0.secondBucket = try Fixture.bucket("second-bucket")
                $0.unreadable = [.bucket(second)]
                $0.grants = [
                    try Fixture.grant(1, in: "second-bucket"), try Fixture.grant(2),
                    try Fixture.grant(3, to: "user:bob"),
                    try Fixture.grant(4, to: "user:bob", in: "second-bucket", effect: .deny),
                ]
            })
        let cache = PolicyCache(source: source, limits: PolicyCache.Limits(literalGrantLimit: limit))
        let buckets = [second, bucket, try BucketName("no-such-bucket")]
        let ofAlice: [GatewayError?] = [.unavailable(retryAfter: 60), nil, .accessDenied]
        let ofBob: [GatewayError?] = [.accessDenied, nil, .accessDenied]
        for _ in 0..<2 {
            #expect(try await errors(cache, as: "user:alice", in: buckets) == ofAlice)
            #expect(try await errors(cache, as: "user:bob", in: buckets) == ofBob)
        }
        // The first look after the change sees it.
        source.change([.bucket(second)]) { $0.unreadable = [] }
        #expect(try await errors(cache, as: "user:alice", in: buckets) == [nil, nil, .accessDenied])
        #expect(try await errors(cache, as: "user:bob", in: buckets) == ofBob)
    }

    @Test func `a credential that cannot be read refuses what it signs, and nothing else`() async throws {
        let (ofStore, ofCDN) = (PolicyKey.credential(Fixture.id(500)), PolicyKey.credential(Fixture.id(600)))
        let conditions = GrantConditions(allowResponseContentType: true, allowVersions: true)
        let source = ScriptedPolicy(
            try tables {
                $0.bucket = try CookieDecisionTests.bucket()
                $0.cdnCredential = CookieDecisionTests.credential()
                $0.grants = [try Fixture.grant(1, conditions: conditions)]
            })
        let cache = PolicyCache(source: source)
        let refused = GatewayError.unavailable(retryAfter: 60)
        let cases: [(unreadable: Set<PolicyKey>, atStore: GatewayError?, atCDN: GatewayError?)] = [
            ([], nil, nil), ([ofStore], refused, nil), ([ofCDN], nil, refused),
        ]
        for (unreadable, atStore, atCDN) in cases {
            source.change([ofStore.scope, ofCDN.scope]) { $0.unreadable = unreadable }
            try await cache.advance()
            #expect(try await errors(cache, as: "user:alice", in: [bucket]) == [atStore], "\(unreadable)")
            #expect(try await errors(cache, as: "user:alice", in: [bucket], at: "cdn") == [atCDN], "\(unreadable)")
            #expect(try await errors(cache, as: "user:bob", in: [bucket]) == [.accessDenied], "\(unreadable)")
        }
    }

    @Test func `rows that cannot be read are not missing rows`() async throws {
        let unreadable = GatewayError.unavailable(retryAfter: 60)
        func cache(_ keys: PolicyKey...) throws -> PolicyCache {
            PolicyCache(source: ScriptedPolicy(try tables { $0.unreadable = Set(keys) }))
        }
        let credential = PolicyKey.credential(Fixture.id(500))
        for key in [PolicyKey.principal(.anyone), .principal(staff)] {
            await #expect(throws: unreadable, "\(key)") { try await access(cache(key), groups: [staff]) }
        }
        await #expect(throws: unreadable) { try await cache(.bucket(bucket)).bucket(named: bucket) }
        await #expect(throws: unreadable) { _ = try await cache(credential).location(of: bucket) }
        await #expect(throws: unreadable) { try await cache(.issuer(ExactText("i"))).issuer("i") }
        await #expect(throws: unreadable) { try await cache(.apiKey(prefix: "k")).apiKey(prefix: "k") }
        await #expect(throws: unreadable) { try await cache(.ticket(name: "t")).ticket(name: "t") }
    }

    @Test func `a grant that cannot be read refuses the keys at its place alone`() async throws {
        let grants = try (1...5).map { try Fixture.grant($0, on: "team/\($0)/") } + [Fixture.grant(6, on: "team/a/")]
        let place = GrantPlace(principal: alice, bucket: bucket, prefix: ExactText("team/1/"))
        let source = ScriptedPolicy(
            try tables {
                $0.grants = grants
                $0.unreadablePlaces = [place]
            })
        let cache = PolicyCache(source: source, limits: PolicyCache.Limits(literalGrantLimit: 5))
        let objects = [(bucket: bucket, key: try ObjectKey("team/1/x")), (bucket: bucket, key: key)]
        for _ in 0..<2 {
            let results = try await cache.access(of: alice, groups: [], to: objects)
            #expect(throws: GatewayError.unavailable(retryAfter: 60)) { try results[0].get() }
            #expect(try results[1].get().literalGrants.map(\.id) == [Fixture.id(6)])
        }
        #expect(source.now.placeLoads.count == 1)
    }

    @Test func `the rows of everybody are read unless they are held, and held only if they can be read`() async throws {
        let source = ScriptedPolicy(try tables())
        let cache = PolicyCache(source: source)
        source.set { $0.loadError = .slowDown(retryAfter: 1) }
        await #expect(throws: GatewayError.slowDown(retryAfter: 1)) { try await cache.advanceWithAnyone() }
        #expect(!cache.holdsAnyone)
        source.set { $0.loadError = nil }
        for _ in 0..<2 { try await cache.advanceWithAnyone() }
        #expect(source.now.loads.suffix(1) == [[.principal(.anyone)]] && source.now.reads.count == 3)
        #expect(source.now.loads.count == 2 && cache.holdsAnyone)
        source.set { $0.loadError = .slowDown(retryAfter: 1) }
        try await cache.advanceWithAnyone()
        #expect(cache.holdsAnyone)
        source.set { $0.loadError = nil }
        source.change([.principal(.anyone)]) { $0.unreadable = [.principal(.anyone)] }
        await #expect(throws: GatewayError.unavailable(retryAfter: 60)) { try await cache.advanceWithAnyone() }
        #expect(!cache.holdsAnyone)
    }

    @Test func `API keys are held, and gone when they are revoked`() async throws {
        let apiKey = APIKey(
            id: Fixture.id(1), prefix: "abc", hash: Digest(), name: "n", principal: alice, createdAt: Fixture.now
        )
        let source = ScriptedPolicy(try tables { $0.apiKeys = [apiKey] })
        let cache = PolicyCache(source: source)
        #expect(try await cache.apiKey(prefix: "abc").rows?.key == apiKey)
        #expect(try await cache.apiKey(prefix: "other").rows?.key == nil)
        #expect(try await cache.issuer("https://id.example.com").rows == nil)
        source.change([.apiKey(prefix: "abc")]) { $0.apiKeys = [] }
        try await cache.advance()
        let load = try await cache.apiKey(prefix: "abc")
        #expect(load.rows == nil)
        #expect(load.position.sequence == 11)
    }

    @Test func `racing changes and readers never see rows older than their position`() async throws {
        let source = ScriptedPolicy(try tables())
        let cache = PolicyCache(source: source, limits: PolicyCache.Limits(maxEntries: 6))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 1...300 {
                    try? source.change([.principal(alice)]) { $0.grants = [try Fixture.grant(number)] }
                    await Task.yield()
                }
            }
            for reader in 0..<8 {
                group.addTask {
                    for _ in 0..<200 {
                        if reader % 2 == 0 { try? await cache.advance() }
                        guard let policy = try? await access(cache) else { continue }
                        // Entry 10 + n of the log created grant number n.
                        let newest = (1...300).last { Fixture.id($0) == policy.principals[0].grants.first?.id } ?? 0
                        #expect(10 + newest >= policy.position.sequence)
                    }
                }
            }
        }
        try await cache.advance()
        #expect(try await access(cache).principals[0].grants.first?.id == Fixture.id(300))
    }
}

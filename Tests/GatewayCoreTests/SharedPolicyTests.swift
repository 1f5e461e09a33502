import Foundation
import GatewayCore
import LibCrypto
import Testing

/// Rows that the cache assembles once for many callers.
@Suite(.timeLimit(.minutes(1))) struct SharedPolicyTests {
    let alice: Principal
    let staff: Principal
    let bucket: BucketName
    let key: ObjectKey
    let source: ScriptedPolicy

    init() throws {
        alice = try Principal("user:alice")
        staff = try Principal("group:staff")
        bucket = try BucketName("demo-bucket")
        key = try ObjectKey("team/a/x")
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        tables.members = [alice: [staff]]
        tables.grants = [try Fixture.grant(1, to: "group:staff"), try Fixture.grant(2, to: "*")]
        source = ScriptedPolicy(tables)
    }

    func access(
        _ cache: PolicyCache, by name: String = "user:alice", groups: [Principal] = []
    ) async throws -> AccessPolicy {
        try await cache.access(of: Principal(name), groups: groups, to: bucket, key: key)
    }

    func grants(of policy: AccessPolicy) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: policy.principals.map { ($0.principal.rawValue, $0.grants.count) })
    }

    @Test(arguments: ["group:staff", "*", "bucket:demo-bucket", "credential:"])
    func `a change of what callers share shows at the next look, for each of them`(scope: String) async throws {
        let cache = PolicyCache(source: source)
        for name in ["user:alice", "user:bob", "user:alice"] {
            let policy = try await access(cache, by: name, groups: [staff])
            #expect(grants(of: policy)["group:staff"] == 1)
            #expect(policy.bucket?.defaultTTL == 900)
            #expect(policy.credential?.name == "demo")
        }
        let scope = scope == "credential:" ? PolicyScope.credential(Fixture.id(500)) : PolicyScope(rawValue: scope)
        try source.change([scope]) {
            $0.grants = []
            $0.bucket = try Fixture.bucket(defaultTTL: 77)
            $0.credential?.name = "other"
        }
        try await cache.advance()
        for name in ["user:alice", "user:bob"] {
            let policy = try await access(cache, by: name, groups: [staff])
            #expect(grants(of: policy)["group:staff"] == (scope.rawValue == "group:staff" ? 0 : 1))
            #expect(grants(of: policy)["*"] == (scope.rawValue == "*" ? 0 : 1))
            #expect(policy.bucket?.defaultTTL == (scope.rawValue == "bucket:demo-bucket" ? 77 : 900))
            #expect(policy.credential?.name == (scope.rawValue.hasPrefix("credential:") ? "other" : "demo"))
            #expect(policy.position.sequence == 11)
        }
    }

    @Test func `callers see the groups of their own, of rows and of the credential, in that bucket`() async throws {
        let cache = PolicyCache(source: source)
        let sales = try Principal("group:sales")
        for _ in 0..<2 {
            #expect(try await access(cache).principals.map(\.principal) == [alice, staff, .anyone])
            #expect(
                try await access(cache, groups: [sales]).principals.map(\.principal) == [alice, sales, staff, .anyone])
            #expect(try await access(cache, by: "user:bob").principals.map(\.principal.rawValue) == ["user:bob", "*"])
            let elsewhere = try await cache.access(of: alice, groups: [], to: BucketName("other-bucket"), key: key)
            #expect(elsewhere.bucket == nil)
            #expect(elsewhere.principals.map(\.principal) == [alice, staff, .anyone])
            #expect(
                try await access(cache).scopes.map(\.rawValue).sorted() == [
                    "*", "bucket:demo-bucket", "credential:" + Fixture.id(500).lowercaseText, "group:staff",
                    "user:alice",
                ])
        }
    }

    @Test func `a membership that ends takes the group's rows from its member`() async throws {
        let cache = PolicyCache(source: source)
        #expect(try await access(cache).principals.count == 3)
        source.change([.principal(alice)]) { $0.members = [:] }
        try await cache.advance()
        #expect(try await access(cache).principals.map(\.principal) == [alice, .anyone])
    }

    @Test func `rows that left for want of room are held by nobody, and are read again`() async throws {
        source.set { [alice] tables in
            tables.apiKeys = (0..<10).map {
                APIKey(
                    id: Fixture.id(900 + $0), prefix: "k\($0)", hash: Digest(), name: "n", principal: alice,
                    createdAt: Fixture.now)
            }
        }
        let cache = PolicyCache(source: source, limits: PolicyCache.Limits(maxEntries: 5))
        weak let everyone = try await access(cache).principals.last
        #expect(everyone != nil)
        for number in 0..<10 { _ = try await cache.apiKey(prefix: "k\(number)") }
        #expect(everyone == nil)
        source.change([.principal(.anyone)]) { $0.grants = [] }
        #expect(grants(of: try await access(cache))["*"] == 0)
    }

    @Test func `what many callers use stays while callers come and go`() async throws {
        let cache = PolicyCache(source: source, limits: PolicyCache.Limits(maxEntries: 5))
        for number in 0..<20 {
            for _ in 0..<3 { _ = try await access(cache, by: "user:\(number)") }
        }
        let shared = source.now.loads.dropFirst(2).filter {
            !$0.isSubset(
                of: Set(
                    (0..<20).compactMap { number in
                        (try? Principal("user:\(number)")).map { PolicyKey.principal($0) }
                    }))
        }
        #expect(shared.isEmpty)
        #expect(source.now.loads.count == 21)
    }

    @Test func `whoever is no user takes nothing from users`() async throws {
        let cache = PolicyCache(source: source)
        for _ in 0..<2 {
            #expect(try await access(cache, by: "*").principals.map(\.principal) == [.anyone])
            let group = try await access(cache, by: "group:staff", groups: [staff])
            #expect(group.principals.map(\.principal) == [staff, .anyone])
            #expect(grants(of: try await access(cache, by: "user:bob")) == ["user:bob": 0, "*": 1])
            let member = try await access(cache, by: "user:bob", groups: [staff])
            #expect(grants(of: member) == ["user:bob": 0, "group:staff": 1, "*": 1])
        }
    }
}

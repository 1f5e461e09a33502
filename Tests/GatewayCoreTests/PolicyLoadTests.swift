import Foundation
import Synchronization
import Testing

@testable import GatewayCore
import LibCrypto
import TestSupport

/// The amount that one caller can have loaded, and its effect on others.
@Suite(.timeLimit(.minutes(1))) struct PolicyLoadTests {
    let alice: Principal
    let bob: Principal
    let bucket: BucketName

    init() throws {
        alice = try Principal("user:alice")
        bob = try Principal("user:bob")
        bucket = try BucketName("demo-bucket")
    }

    /// Alice and Bob have more grants than are held.
    private func source(
        _ change: (inout ScriptedPolicy.Tables) throws -> Void = { _ in },
        hold: @escaping @Sendable (ScriptedPolicy.Call) async -> Void = { _ in }
    ) throws -> ScriptedPolicy {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        for (place, principal) in [alice, bob].enumerated() {
            for index in 0..<3 {
                var grant = try Fixture.grant(100 * place + index + 1)
                grant.principal = principal
                grant.bucket = bucket
                grant.prefix = try KeyPrefix(literal: "p\(index)/")
                tables.grants.append(grant)
            }
        }
        try change(&tables)
        return ScriptedPolicy(tables, hold: hold)
    }

    private func cache(_ source: ScriptedPolicy) -> PolicyCache {
        PolicyCache(source: source, limits: .init(literalGrantLimit: 2))
    }

    private func ask(
        _ cache: PolicyCache, as principal: Principal, for keys: [String]
    ) async throws -> [Result<AccessPolicy, GatewayError>] {
        let objects = try keys.map { (bucket: bucket, key: try ObjectKey($0)) }
        return try await cache.access(of: principal, groups: [], to: objects)
    }

    private func deepKeys(_ count: Int) -> [String] {
        let rest = String(repeating: "/s", count: ObjectKey.maxSlashes)
        return (0..<count).map { "k\($0)\(rest)" }
    }

    @Test func `the places of all keys of a request are loaded together, none twice`() async throws {
        let source = try source()
        let results = try await ask(cache(source), as: alice, for: (0..<1000).map { "p1/d\($0 % 10)/k\($0)" })
        for result in results { #expect(try result.get().literalGrants.count == 1) }
        // The bucket, one folder, ten folders below it, and each key.
        #expect(source.now.placeLoads.map(\.count) == [1012])
    }

    @Test func `deep keys are loaded in parts, as many as one request may, and no others suffer`() async throws {
        let source = try source()
        let cache = cache(source)
        let results = try await ask(cache, as: alice, for: deepKeys(1000) + ["p1/k"])
        let good = results.count { (try? $0.get()) != nil }
        // 65 places for each key, and the bucket's.
        #expect(100...PolicyCache.maxPlacesOfRequest / 65 ~= good)
        for result in results {
            if case .failure(let error) = result { #expect(error == .slowDown(retryAfter: 1)) }
        }
        let loads = source.now.placeLoads
        #expect(loads.allSatisfy { $0.count <= 8192 } && loads.count >= 2)
        #expect(loads.reduce(0) { $0 + $1.count } <= PolicyCache.maxPlacesOfRequest)
        // The next attempt continues from there.
        let again = try await ask(cache, as: alice, for: deepKeys(1000))
        #expect(again.count { (try? $0.get()) != nil } > good)
    }

    @Test func `who needs few places goes past those who need many`() async throws {
        let latch = Latch()
        let isFirst = Once()
        let source = try source(hold: { call in
            if case .grants = call, isFirst.isFirst() { await latch.wait() }
        })
        let cache = cache(source)
        // After this, both wait for places alone.
        _ = try await cache.access(of: bob, groups: [], to: nil, key: nil)
        let large = Task { try await ask(cache, as: alice, for: deepKeys(20)) }
        await latch.arrival()
        let policy = try await cache.access(of: bob, groups: [], to: bucket, key: try ObjectKey("p2/k"))
        #expect(policy.literalGrants.count == 1)
        latch.open()
        #expect(try await large.value.count == 20)
    }

    @Test func `a key with too many places is refused, and no other`() async throws {
        let groups = try (0..<63).map { try Principal("group:g\($0)") }
        let source = try source { tables in
            for (place, group) in groups.enumerated() {
                for index in 0..<3 {
                    var grant = try Fixture.grant(1000 + 10 * place + index)
                    grant.principal = group
                    grant.bucket = bucket
                    grant.prefix = try KeyPrefix(literal: "p\(index)/")
                    tables.grants.append(grant)
                }
            }
        }
        let objects = try [deepKeys(1)[0], "p1/k"].map { (bucket: bucket, key: try ObjectKey($0)) }
        let cache = cache(source)
        let carol = try Principal("user:carol")
        let results = try await cache.access(of: carol, groups: groups, to: objects)
        guard case .failure(.invalidArgument("key", _)) = results[0] else {
            Issue.record("\(results[0])")
            return
        }
        #expect(try results[1].get().literalGrants.count == 63)
        // Not any more once they have fewer grants.
        source.change([.all]) { $0.grants = [] }
        let again = try await cache.access(of: carol, groups: groups, to: objects)
        #expect(try again[0].get().literalGrants.isEmpty)
    }

    @Test func `a flood of unknown keys, issuers and tickets leaves what is known`() async throws {
        let source = try source()
        let cache = PolicyCache(source: source, limits: .init(maxEntries: 64, literalGrantLimit: 8))
        let key = try ObjectKey("p1/k")
        _ = try await cache.access(of: alice, groups: [], to: bucket, key: key)
        for number in 0..<200 {
            #expect(try await cache.apiKey(prefix: "unknown\(number)").rows == nil)
            #expect(try await cache.issuer("https://\(number).example").rows == nil)
            #expect(try await cache.ticket(name: "unknown\(number)").rows == nil)
        }
        let before = source.now.loads.count
        #expect(try await cache.access(of: alice, groups: [], to: bucket, key: key).bucket != nil)
        #expect(source.now.loads.count == before)
        // Missing rows are remembered too, as far as there is room.
        #expect(try await cache.ticket(name: "unknown199").rows == nil)
        #expect(source.now.loads.count == before)
        #expect(cache.count <= 128)
    }

    @Test func `a key that is made is known though its name was asked for before`() async throws {
        let source = try source()
        let cache = cache(source)
        #expect(try await cache.apiKey(prefix: "later").rows == nil)
        source.change([.apiKey(prefix: "later")]) { tables in
            tables.apiKeys = [
                APIKey(
                    id: Fixture.id(7), prefix: "later", hash: Digest(), name: "", principal: alice, groups: [],
                    roles: [],
                    expiresAt: nil, createdAt: Fixture.now)
            ]
        }
        try await cache.advance()
        #expect(try await cache.apiKey(prefix: "later").rows != nil)
    }
}

/// The permitted depth of keys and prefixes.
@Suite struct SlashBoundTests {
    private static func deep(_ slashes: Int) -> String { String(repeating: "s/", count: slashes) }

    private func field(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch GatewayError.invalidArgument(let field, _) {
            return field
        } catch {
            return "\(error)"
        }
    }

    private func fields(_ change: (inout IssueRequest.Fields) -> Void) -> IssueRequest.Fields {
        var fields = IssueRequest.Fields()
        fields.action = "PutObject"
        fields.bucket = "demo-bucket"
        fields.contentType = "image/png"
        change(&fields)
        return fields
    }

    @Test(arguments: [(64, true), (65, false)])
    func `keys, prefixes and templates have at most 64`(slashes: Int, isGood: Bool) throws {
        let (key, prefix) = (Self.deep(slashes) + "k", Self.deep(slashes))
        func expect(_ name: String, _ body: () throws -> Void) { #expect(field(body) == (isGood ? nil : name)) }
        expect("key") { _ = try IssueRequest(fields { $0.key = key }) }
        expect("keyPrefix") {
            _ = try IssueRequest(fields { $0.keyPrefix = prefix }) { () throws(GatewayError) in UUID() }
        }
        expect("prefix") { _ = try KeyPrefix(literal: prefix) }
        expect("template") { _ = try KeyPrefix(template: Self.deep(slashes - 1) + "${sub}/") }
        expect("prefix") {
            _ = try SessionRequest(
                bucket: try BucketName("demo-bucket"), prefix: prefix, actions: nil, duration: nil)
        }
        // What is already recorded can still be read.
        #expect(try ObjectKey(key).rawValue == key)
        var recorded = fields { $0.key = key }
        recorded.isKeyOnRecord = true
        #expect(try IssueRequest(recorded).key.rawValue == key)
    }
}

/// Look-ups of event secrets that nobody has.
@Suite struct EventSecretLookUpTests {
    private final class Records: StoreEventRecords {
        let asked = Mutex<[String]>([])
        let clock = Mutex(Fixture.now)
        let known = Mutex<(name: String, bucket: BucketName, hash: [UInt8])?>(nil)

        func secret(named name: String) async throws(GatewayError) -> (bucket: BucketName, hash: [UInt8])? {
            asked.withLock { $0.append(name) }
            return known.withLock { known in
                known.flatMap { $0.name == name ? ($0.bucket, $0.hash) : nil }
            }
        }

        func note(_ objects: [MadeObject], in bucket: BucketName) async throws(GatewayError) -> Int { 0 }
        func rotate(
            _ secret: EventSecret, overlap: Int, by change: ChangeContext
        ) async throws(GatewayError) -> EventSecret { secret }
        func secret(of bucket: BucketName) async throws(GatewayError) -> EventSecret? { nil }
        func removeSecret(of bucket: BucketName, by change: ChangeContext) async throws(GatewayError) -> Bool { false }
    }

    /// Answers no requests; none is expected.
    private struct Nobody: StoredObjects, KeySetFetcher {
        func object(
            _ key: ObjectKey, in bucket: BucketName, withSHA256: Bool
        ) async throws(GatewayError) -> StoredObject? { nil }
        func keySet(at url: String) async throws(GatewayError) -> [UInt8] { throw .unavailable(retryAfter: 1) }
    }

    private let records = Records()

    private var events: StoreEvents {
        StoreEvents(
            records: records, objects: Nobody(),
            keys: CallbackKeys(fetcher: Nobody(), origins: [], now: { Fixture.now }), isAtOSS: { _ in false },
            now: { [records] in records.clock.withLock { $0 } })
    }

    private func text(_ number: UInt16) throws -> EventSecretText {
        var bytes = [UInt8](repeating: 0, count: EventSecretText.randomByteCount)
        for place in bytes.indices { bytes[place] = UInt8(truncatingIfNeeded: (Int(number) + 1) * (place + 3)) }
        (bytes[0], bytes[1], bytes[bytes.count - 1], bytes[bytes.count - 2]) = (
            UInt8(number >> 8), UInt8(number & 255), UInt8(number >> 8), UInt8(number & 255)
        )
        return try #require(EventSecretText(randomBytes: bytes))
    }

    private func outcome(_ events: StoreEvents, _ secret: Secret<String>) async -> GatewayError? {
        do throws(GatewayError) {
            _ = try await events.bucket(of: secret)
            return nil
        } catch {
            return error
        }
    }

    @Test func `unknown ones are looked up once, and so many a second; known ones always`() async throws {
        let events = events
        let good = try text(60_000)
        let bucket = try BucketName("demo-bucket")
        records.known.withLock { $0 = (good.name, bucket, good.hash) }
        #expect(await outcome(events, good.text) == nil)
        for _ in 0..<3 {
            guard case .unauthenticated = await outcome(events, try text(1).text) else {
                Issue.record("a false secret is accepted")
                return
            }
        }
        #expect(records.asked.withLock { $0 } == [good.name, try text(1).name])

        var told: [GatewayError?] = []
        for number in 2..<700 { told.append(await outcome(events, try text(UInt16(number)).text)) }
        #expect(told.contains(.slowDown(retryAfter: 1)))
        #expect(records.asked.withLock(\.count) == Int(EventSecretLookUps.burst))
        #expect(await outcome(events, good.text) == nil)
        #expect(records.asked.withLock(\.count) == Int(EventSecretLookUps.burst) + 1)
        records.clock.withLock { $0 += 1 }
        for number in 700..<1400 { _ = await outcome(events, try text(UInt16(number)).text) }
        let allowed = Int(EventSecretLookUps.burst) + 1 + Int(EventSecretLookUps.perSecond)
        #expect(records.asked.withLock(\.count) == allowed)
        // After removal, the secret is dead at once.
        records.known.withLock { $0 = nil }
        #expect(await outcome(events, good.text) != nil)
    }

    /// A failover or a restore may undo a removal.
    @Test func `a removed one that comes back is accepted a minute later, and at once from then on`() async throws {
        let events = events
        let good = try text(9)
        let bucket = try BucketName("demo-bucket")
        records.known.withLock { $0 = (good.name, bucket, good.hash) }
        #expect(await outcome(events, good.text) == nil)
        records.known.withLock { $0 = nil }
        #expect(await outcome(events, good.text) != nil)
        records.known.withLock { $0 = (good.name, bucket, good.hash) }
        records.clock.withLock { $0 += EventSecretLookUps.refusalLife - 1 }
        #expect(await outcome(events, good.text) != nil)
        #expect(records.asked.withLock(\.count) == 2)
        records.clock.withLock { $0 += 2 }
        #expect(await outcome(events, good.text) == nil)
        // Nor does a clock that was set back keep the refusal.
        records.clock.withLock { $0 -= EventSecretLookUps.refusalLife }
        #expect(await outcome(events, good.text) == nil)
        #expect(records.asked.withLock(\.count) == 4)
    }

    @Test func `the name of a good secret does not help without the rest`() async throws {
        let events = events
        let good = try text(7)
        let other = try text(8)
        let bucket = try BucketName("demo-bucket")
        records.known.withLock { $0 = (other.name, bucket, good.hash) }
        for _ in 0..<3 { #expect(await outcome(events, other.text) != nil) }
        #expect(records.asked.withLock(\.count) == 1)
    }
}

import Foundation
import GatewayCore
import Synchronization
import Testing
import TestSupport

/// Opens sessions as the test scripts it, and counts them.
final class ScriptedOpener: SessionOpener {
    private let answer: @Sendable (SessionOrder) async throws(GatewayError) -> SessionCredential
    private let opened = Mutex<[SessionOrder]>([])

    var orders: [SessionOrder] { opened.withLock { $0 } }

    init(_ answer: @escaping @Sendable (SessionOrder) async throws(GatewayError) -> SessionCredential) {
        self.answer = answer
    }

    /// Opens sessions that live for the ordered time from now.
    convenience init(now: @escaping @Sendable () -> Date = { Fixture.now }) {
        self.init { order in .sample(until: now().addingTimeInterval(TimeInterval(order.duration))) }
    }

    func open(_ order: SessionOrder) async throws(GatewayError) -> SessionCredential {
        opened.withLock { $0.append(order) }
        return try await answer(order)
    }
}

extension Sessions {
    /// The use case over scripted parts, at the fixture's instant.
    static func scripted(
        _ cache: PolicyCache, _ ledger: ScriptedLedger, _ opener: ScriptedOpener = ScriptedOpener()
    ) -> (sessions: Sessions, authenticator: CacheAuthenticator) {
        let authenticator = CacheAuthenticator(cache: cache)
        let issuing = ProvenIssuing(
            cache: cache, authenticator: authenticator, ledger: ledger, now: { Fixture.now },
            randomBytes: { [UInt8](repeating: 7, count: $0) })
        let sessions = Sessions(issuing, sessions: SessionCache(opener: opener, now: { Fixture.now }))
        return (sessions, authenticator)
    }
}

extension SessionCredential {
    static func sample(until end: Date) -> SessionCredential {
        SessionCredential(
            accessKeyID: "STS.1", secretAccessKey: Secret("secret"), sessionToken: Secret("token"), expiresAt: end)
    }
}

@Suite("Sessions in memory", .timeLimit(.minutes(1)))
struct SessionCacheTests {
    private func order(
        policy: String = "{}", for principal: String = "user:alice", duration: Int = 3600
    ) throws -> SessionOrder {
        SessionOrder(
            credential: Fixture.credential(), role: Fixture.role, name: "alice", policy: policy, duration: duration,
            principal: try Principal(principal))
    }

    @Test("are opened once, however many ask at the same time, also when that fails")
    func singleFlight() async throws {
        for fails in [false, true] {
            let latch = Latch()
            let opener = ScriptedOpener { order throws(GatewayError) in
                await latch.wait()
                if fails { throw .slowDown(retryAfter: 2) }
                return .sample(until: Fixture.now.addingTimeInterval(3600))
            }
            let cache = SessionCache(opener: opener, now: { Fixture.now })
            let order = try order()
            let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<500 {
                    group.addTask { (try? await cache.session(order, endingBy: nil)) != nil }
                }
                await latch.arrival()
                latch.open()
                return try await group.reduce(into: [Bool]()) { $0.append($1) }
            }
            #expect(outcomes == Array(repeating: !fails, count: 500))
            // Those who came after a failure was answered opened another session, one after the other.
            #expect(fails || opener.orders.count == 1)
        }
    }

    @Test("are shared until ten minutes before they end, by one user and for one scope")
    func reuse() async throws {
        let clock = SharedClock()
        let opener = ScriptedOpener { order in
            .sample(until: clock.now.addingTimeInterval(TimeInterval(order.duration)))
        }
        let cache = SessionCache(opener: opener, now: { clock.now })
        _ = try await cache.session(order(), endingBy: nil)
        clock.advance(2999)
        _ = try await cache.session(order(), endingBy: nil)
        #expect(opener.orders.count == 1)
        _ = try await cache.session(order(for: "user:bob"), endingBy: nil)
        _ = try await cache.session(order(policy: "[]"), endingBy: nil)
        _ = try await cache.session(order(duration: 900), endingBy: nil)
        #expect(opener.orders.count == 4)
        clock.advance(2)
        #expect(try await cache.session(order(), endingBy: nil).expiresAt == clock.now.addingTimeInterval(3600))
        #expect(opener.orders.count == 5)
    }

    @Test("that end too late for the grant, or too soon for anybody, are not handed out")
    func bounds() async throws {
        let opener = ScriptedOpener()
        let cache = SessionCache(opener: opener, now: { Fixture.now })
        _ = try await cache.session(order(), endingBy: nil)
        await #expect(throws: GatewayError.unavailable(retryAfter: 60)) {
            try await cache.session(order(), endingBy: Fixture.now.addingTimeInterval(3599))
        }
        let stale = SessionCache(
            opener: ScriptedOpener { _ in .sample(until: Fixture.now.addingTimeInterval(599)) }, now: { Fixture.now })
        await #expect(throws: GatewayError.unavailable(retryAfter: 60)) {
            try await stale.session(order(), endingBy: nil)
        }
    }

    /// The service may ignore the requested duration. Its clock may be ahead by a minute.
    @Test func `a session that lives longer than ordered is nobody's`() async throws {
        let life = Mutex(43_200.0)
        let opener = ScriptedOpener { _ in .sample(until: Fixture.now.addingTimeInterval(life.withLock { $0 })) }
        let cache = SessionCache(opener: opener, now: { Fixture.now })
        for seconds in [43_200, 961] {
            life.withLock { $0 = Double(seconds) }
            await #expect(throws: GatewayError.unavailable(retryAfter: 60)) {
                try await cache.session(order(duration: 900), endingBy: nil)
            }
            #expect(cache.count == 0)
        }
        life.withLock { $0 = 960 }
        _ = try await cache.session(order(duration: 900), endingBy: nil)
        #expect(cache.count == 1)
    }

    /// Equal orders may have to end at different times.
    @Test(arguments: [true, false])
    func `a session that ends too late for who opened it, or who waited for it, is the other's`(
        waiterIsBound: Bool
    ) async throws {
        let latch = Latch()
        let opener = ScriptedOpener { _ in
            await latch.wait()
            return .sample(until: Fixture.now.addingTimeInterval(3600))
        }
        let looks = Mutex(0)
        let cache = SessionCache(
            opener: opener,
            now: {
                looks.withLock { $0 += 1 }
                return Fixture.now
            })
        let order = try order()
        @Sendable func gets(until end: Date?) async -> Bool {
            (try? await cache.session(order, endingBy: end)) != nil
        }
        let end = Fixture.now.addingTimeInterval(1200)
        async let leader = gets(until: waiterIsBound ? nil : end)
        await latch.arrival()
        async let waiter = gets(until: waiterIsBound ? end : nil)
        while looks.withLock({ $0 }) < 2 { await Task.yield() }
        latch.open()
        let outcomes = await [leader, waiter]
        #expect(outcomes == [waiterIsBound, !waiterIsBound])
    }

    @Test func `a session that does not do for who opened it takes no other's place`() async throws {
        let life = Mutex(840.0)
        let opener = ScriptedOpener { _ in .sample(until: Fixture.now.addingTimeInterval(life.withLock { $0 })) }
        let cache = SessionCache(opener: opener, now: { Fixture.now })
        let held = try await cache.session(order(), endingBy: nil)
        life.withLock { $0 = 60 }
        await #expect(throws: GatewayError.unavailable(retryAfter: 60)) {
            try await cache.session(order(), endingBy: nil, leastLife: 900)
        }
        #expect(try await cache.session(order(), endingBy: nil).expiresAt == held.expiresAt)
        #expect(opener.orders.count == 2)
    }

    /// Those who wait for a session that is being opened meanwhile get it. Nobody gets it later.
    @Test func `sessions that were discarded are not handed out`() async throws {
        let latch = Latch()
        let isHeld = Mutex(false)
        let opener = ScriptedOpener { _ in
            if isHeld.withLock({ $0 }) { await latch.wait() }
            return .sample(until: Fixture.now.addingTimeInterval(3600))
        }
        let cache = SessionCache(opener: opener, now: { Fixture.now })
        let held = try order()
        let late = try order(for: "user:bob")
        _ = try await cache.session(held, endingBy: nil)
        isHeld.withLock { $0 = true }
        async let opened = cache.session(late, endingBy: nil)
        await latch.arrival()
        cache.discard()
        #expect(cache.count == 0)
        latch.open()
        _ = try await opened
        #expect(cache.count == 0)
        for order in [held, late] {
            _ = try await cache.session(order, endingBy: nil)
            _ = try await cache.session(order, endingBy: nil)
        }
        #expect(opener.orders.count == 4 && cache.count == 2)
    }

    @Test("are opened within a budget, and kept within a bound")
    func budget() async throws {
        let clock = SharedClock()
        let opener = ScriptedOpener { _ in .sample(until: Fixture.now.addingTimeInterval(3600)) }
        let cache = SessionCache(opener: opener, limits: .init(maxSessions: 2, maxPerSecond: 3), now: { clock.now })
        for number in 0..<3 { _ = try await cache.session(order(for: "user:\(number)"), endingBy: nil) }
        #expect(cache.count == 2)
        await #expect(throws: GatewayError.slowDown(retryAfter: 1)) {
            try await cache.session(order(for: "user:3"), endingBy: nil)
        }
        clock.advance(0.34)
        _ = try await cache.session(order(for: "user:4"), endingBy: nil)
        await #expect(throws: GatewayError.slowDown(retryAfter: 1)) {
            try await cache.session(order(for: "user:5"), endingBy: nil)
        }
        #expect(opener.orders.count == 4)
    }

    @Test func `one principal cannot use up what the gateway opens for all`() async throws {
        let clock = SharedClock()
        let opener = ScriptedOpener()
        let cache = SessionCache(opener: opener, limits: .init(maxPerSecond: 10), now: { clock.now })
        // By different durations and different scopes.
        _ = try await cache.session(order(duration: 3599), endingBy: nil)
        _ = try await cache.session(order(policy: "0"), endingBy: nil)
        #expect(try await limit(of: order(policy: "1"), at: cache)?.contains("principal") == true)
        // What is in memory is nobody's share.
        _ = try await cache.session(order(policy: "0"), endingBy: nil)
        for user in ["bob", "carol", "dave", "erin"] {
            for number in 0..<2 {
                _ = try await cache.session(order(policy: "\(number)", for: "user:\(user)"), endingBy: nil)
            }
        }
        #expect(
            try await limit(of: order(for: "user:frank"), at: cache)?.hasPrefix("SLUICE_SESSIONS_PER_SECOND") == true)
        // A share is not forgotten while others open sessions, and returns within a second.
        clock.advance(0.5)
        _ = try await cache.session(order(for: "user:frank"), endingBy: nil)
        _ = try await cache.session(order(policy: "1"), endingBy: nil)
        #expect(try await limit(of: order(policy: "2"), at: cache)?.contains("principal") == true)
        #expect(opener.orders.count == 12)
    }

    /// The limit that refuses an order; `nil` if the session is opened.
    private func limit(of order: SessionOrder, at cache: SessionCache) async throws -> String? {
        do {
            _ = try await cache.session(order, endingBy: nil)
            return nil
        } catch GatewayError.slowDown(_, let cause) {
            return cause.description
        }
    }

    @Test func `a session in memory is used only as long as it has the life that a request needs`() async throws {
        let clock = SharedClock()
        let opener = ScriptedOpener()
        let cache = SessionCache(opener: opener, now: { clock.now })
        let order = try order()
        _ = try await cache.session(order, endingBy: nil, leastLife: 900)
        clock.advance(3600 - 900)
        _ = try await cache.session(order, endingBy: nil, leastLife: 900)
        #expect(opener.orders.count == 1)
        clock.advance(1)
        _ = try await cache.session(order, endingBy: nil)
        #expect(opener.orders.count == 1)
        _ = try? await cache.session(order, endingBy: nil, leastLife: 900)
        #expect(opener.orders.count == 2)
    }

    /// Somebody who needs a longer life, and gets none, takes it from nobody else.
    @Test func `a session stays for others when a longer one cannot be opened`() async throws {
        let clock = SharedClock()
        let isDown = Mutex(false)
        let opener = ScriptedOpener { order throws(GatewayError) in
            if isDown.withLock({ $0 }) { throw .unavailable(retryAfter: 5) }
            return .sample(until: Fixture.now.addingTimeInterval(3600))
        }
        let cache = SessionCache(opener: opener, now: { clock.now })
        let order = try order()
        let first = try await cache.session(order, endingBy: nil)
        isDown.withLock { $0 = true }
        clock.advance(2800)
        await #expect(throws: GatewayError.unavailable(retryAfter: 5)) {
            try await cache.session(order, endingBy: nil, leastLife: 900)
        }
        #expect(try await cache.session(order, endingBy: nil).expiresAt == first.expiresAt)
        #expect(opener.orders.count == 2)
    }
}

/// A clock that the test sets.
final class SharedClock: Sendable {
    private let instant = Mutex(Fixture.now)

    var now: Date { instant.withLock { $0 } }

    func advance(_ seconds: TimeInterval) {
        instant.withLock { $0 = $0.addingTimeInterval(seconds) }
    }
}

extension Fixture {
    static let role = SessionRole(
        roleARN: "acs:ram::1234567890123456:role/uploader", service: .alibaba, endpoint: "https://sts.example",
        region: "cn-hangzhou", maxDuration: 3600)
}

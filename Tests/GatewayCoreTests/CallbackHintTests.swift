import Foundation
import Synchronization
import Testing

@testable import GatewayCore

/// Callbacks that only the key of Alibaba OSS vouches for. Anybody can have them signed.
@Suite struct CallbackHintTests {
    /// Rows, stores and a clock. Buckets whose names begin with `known` exist.
    private final class World: StoreEventRecords, StoredObjects, KeySetFetcher {
        let asked = Mutex<[BucketName]>([])
        let noted = Mutex(0)
        let clock = Mutex(Fixture.now)
        let hasStores = Mutex(true)
        let hasRows = Mutex(true)

        func isAtOSS(_ bucket: BucketName) async throws(GatewayError) -> Bool {
            guard hasRows.withLock({ $0 }) else { throw .unavailable(retryAfter: 1) }
            return bucket.rawValue.hasPrefix("known")
        }

        func object(
            _ key: ObjectKey, in bucket: BucketName, withSHA256: Bool
        ) async throws(GatewayError) -> StoredObject? {
            asked.withLock { $0.append(bucket) }
            guard hasStores.withLock({ $0 }) else { throw .unavailable(retryAfter: 5) }
            return StoredObject(
                size: 1, etag: "tag", contentType: nil, md5: nil, modifiedAt: clock.withLock { $0 })
        }

        func note(_ objects: [MadeObject], in bucket: BucketName) async throws(GatewayError) -> Int {
            noted.withLock { $0 += objects.count }
            return objects.count
        }

        func secret(named name: String) async throws(GatewayError) -> (bucket: BucketName, hash: [UInt8])? { nil }
        func rotate(
            _ secret: EventSecret, overlap: Int, by change: ChangeContext
        ) async throws(GatewayError) -> EventSecret { secret }
        func secret(of bucket: BucketName) async throws(GatewayError) -> EventSecret? { nil }
        func removeSecret(of bucket: BucketName, by change: ChangeContext) async throws(GatewayError) -> Bool { false }
        func keySet(at url: String) async throws(GatewayError) -> [UInt8] { throw .unavailable(retryAfter: 1) }

        var events: StoreEvents {
            StoreEvents(
                records: self, objects: self,
                keys: CallbackKeys(fetcher: self, origins: [], now: { Fixture.now }),
                isAtOSS: { (name) async throws(GatewayError) -> Bool in try await self.isAtOSS(name) },
                now: { self.clock.withLock { $0 } })
        }
    }

    private let world = World()

    /// Sends a callback; different numbers make different callbacks.
    private func send(_ number: Int, about bucket: String, to events: StoreEvents) async -> GatewayError? {
        let event = StoreEvent(
            bucket: bucket, isCreation: true, key: "key\(number)", madeAt: Fixture.now, callbackID: "request:\(number)")
        do throws(GatewayError) {
            _ = try await events.take(hint: event, signedIn: Array("bucket=\(bucket)&object=key\(number)".utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test func `a flood ends alike for a bucket that exists and for one that does not`() async {
        var told: [[GatewayError?]] = []
        for bucket in ["known-photos", "other-photos"] {
            let events = world.events
            var answers: [GatewayError?] = []
            for number in 0..<600 { answers.append(await send(number, about: bucket, to: events)) }
            told.append(answers)
        }
        #expect(told[0] == told[1])
        let admitted = Int(CallbackHints.burst)
        #expect(told[0].prefix(admitted).allSatisfy { $0 == nil })
        #expect(told[0].dropFirst(admitted).allSatisfy { $0 == .slowDown(retryAfter: 1) })
        #expect(world.asked.withLock(\.count) == Int(CallbackHints.shareBurst))
    }

    @Test func `a flood about one bucket leaves the callbacks of another`() async throws {
        let events = world.events
        for number in 0..<500 { #expect(await send(number, about: "known-photos", to: events) == nil) }
        #expect(world.asked.withLock(\.count) == Int(CallbackHints.shareBurst))
        #expect(await send(0, about: "known-videos", to: events) == nil)
        let videos = try BucketName("known-videos")
        #expect(world.asked.withLock { $0.last } == videos)
        world.clock.withLock { $0 += 1 }
        for number in 500..<600 { #expect(await send(number, about: "known-photos", to: events) == nil) }
        let allowed = Int(CallbackHints.shareBurst) + 1 + Int(CallbackHints.sharePerSecond)
        #expect(world.asked.withLock(\.count) == allowed)
    }

    @Test func `a repetition costs nothing, for minutes`() async {
        let events = world.events
        for _ in 0..<2000 { #expect(await send(1, about: "known-photos", to: events) == nil) }
        #expect(world.asked.withLock(\.count) == 1)
        #expect(await send(2, about: "known-photos", to: events) == nil)
        #expect(world.asked.withLock(\.count) == 2)
        world.clock.withLock { $0 += CallbackHints.repetitionTime }
        #expect(await send(1, about: "known-photos", to: events) == nil)
        #expect(world.asked.withLock(\.count) == 3)
    }

    @Test func `without the rows each may be sent again, and a store that is down is nobody's business`() async {
        let events = world.events
        world.hasRows.withLock { $0 = false }
        for bucket in ["known-photos", "other-photos"] {
            #expect(await send(1, about: bucket, to: events) == .unavailable(retryAfter: 1))
        }
        world.hasRows.withLock { $0 = true }
        #expect(await send(1, about: "known-photos", to: events) == nil)
        #expect(world.noted.withLock { $0 } == 1)
        world.hasStores.withLock { $0 = false }
        for bucket in ["known-photos", "other-photos"] {
            #expect(await send(2, about: bucket, to: events) == nil)
        }
        #expect(world.asked.withLock(\.count) == 2)
        #expect(world.noted.withLock { $0 } == 1)
    }

    /// Holds requests to the store of a bucket, one inside the other, while `body` runs.
    private func hold(
        _ count: Int, _ hints: CallbackHints, _ share: GatewayCore.Gate,
        while body: @Sendable () async -> Void
    ) async throws(GatewayError) {
        guard count > 0 else { return await body() }
        try await hints.pass(share) { () async throws(GatewayError) in
            try await hold(count - 1, hints, share, while: body)
        }
    }

    private func passes(_ hints: CallbackHints, _ share: GatewayCore.Gate) async -> Bool {
        do throws(GatewayError) {
            return try await hints.pass(share) { () async throws(GatewayError) in true }
        } catch {
            return false
        }
    }

    @Test func `a store that hangs keeps no other bucket waiting`() async throws {
        let hints = CallbackHints()
        let slow = try #require(hints.share(of: BucketName("known-photos"), at: Fixture.now))
        let other = try #require(hints.share(of: BucketName("known-videos"), at: Fixture.now))
        try await hold(CallbackHints.looksOfShare, hints, slow) {
            #expect(await !passes(hints, slow))
            #expect(await passes(hints, other))
        }
        #expect(await passes(hints, slow))
    }
}

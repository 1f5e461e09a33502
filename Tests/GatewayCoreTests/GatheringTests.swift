import Synchronization
import Testing
import TestSupport

@testable import GatewayCore

@Suite(.timeLimit(.minutes(1))) struct GatheringTests {
    @Test func `what is asked for during a call goes out together in the next`() async throws {
        let latch = Latch()
        let calls = Mutex<[Set<Int>]>([])
        let gathering = Gathering<Int, Void>(joinsCurrent: true) { items in
            calls.withLock { $0.append(items) }
            await latch.wait()
        }
        let first = Task.immediate { try await gathering.run([1]) }
        await latch.arrival()
        let others = [[1], [2], [2, 3], [1, 4]].map { items in
            Task.immediate { try await gathering.run(Set(items)) }
        }
        latch.open()
        for task in [first] + others { try await task.value }
        #expect(calls.withLock { $0 } == [[1], [1, 2, 3, 4]])
    }

    @Test func `no call has more items than it may, unless one caller asks for as many`() async throws {
        let latch = Latch()
        let calls = Mutex<[Set<Int>]>([])
        let gathering = Gathering<Int, Void>(joinsCurrent: true, maxItems: 3) { items in
            calls.withLock { $0.append(items) }
            await latch.wait()
        }
        let first = Task.immediate { try await gathering.run([0]) }
        await latch.arrival()
        let others = [[1, 2], [3], [4, 5, 6, 7], [8]].map { items in
            Task.immediate { try await gathering.run(Set(items)) }
        }
        latch.open()
        for task in [first] + others { try await task.value }
        #expect(calls.withLock { $0 } == [[0], [1, 2, 3], [4, 5, 6, 7], [8]])
    }

    @Test func `who needs freshness never joins a call that began before`() async throws {
        let latch = Latch()
        let calls = Mutex(0)
        let gathering = Gathering<Int, Void>(joinsCurrent: false) { _ in
            calls.withLock { $0 += 1 }
            await latch.wait()
        }
        let first = Task.immediate { try await gathering.run([0]) }
        await latch.arrival()
        let others = (0..<20).map { _ in Task.immediate { try await gathering.run([0]) } }
        #expect(calls.withLock { $0 } == 1)
        latch.open()
        for task in [first] + others { try await task.value }
        #expect(calls.withLock { $0 } == 2)
    }

    @Test func `a failure reaches everyone who waited for that call, and nobody else`() async throws {
        let latch = Latch()
        let calls = Mutex(0)
        let gathering = Gathering<Int, Void>(joinsCurrent: true) { _ throws(GatewayError) in
            let number = calls.withLock { calls in
                calls += 1
                return calls
            }
            await latch.wait()
            if number == 1 { throw .unavailable(retryAfter: 1) }
        }
        let first = Task.immediate { try await gathering.run([1]) }
        await latch.arrival()
        let same = Task.immediate { try await gathering.run([1]) }
        let other = Task.immediate { try await gathering.run([2]) }
        latch.open()
        await #expect(throws: GatewayError.unavailable(retryAfter: 1)) { try await first.value }
        await #expect(throws: GatewayError.unavailable(retryAfter: 1)) { try await same.value }
        try await other.value
    }

    @Test func `a request that is cancelled while it leads fails alone`() async throws {
        let latch = Latch()
        let calls = Mutex(0)
        let gathering = Gathering<Int, Void>(joinsCurrent: true) { _ throws(GatewayError) in
            calls.withLock { $0 += 1 }
            await latch.wait()
            if Task.isCancelled { throw .unavailable(retryAfter: 1) }
        }
        let leader = Task.immediate { try await gathering.run([1]) }
        await latch.arrival()
        let follower = Task.immediate { try await gathering.run([1]) }
        leader.cancel()
        latch.open()
        await #expect(throws: GatewayError.self) { try await leader.value }
        try await follower.value
        #expect(calls.withLock { $0 } == 2)
    }
}

import Dispatch
import Foundation
import HTTPServing
import HTTPTesting
import MicroHTTPD
import Synchronization
import Testing
import TestSupport

/// Deadlines while nothing can run that needs a thread of Swift's pool or of Dispatch's.
@Suite(.timeLimit(.minutes(2))) struct BlockedPoolTests {
    /// Blocks the threads that a process shares, until it is told to stop.
    private final class Blockade: Sendable {
        private let isOver = Atomic(false)
        private let blocked = Atomic(0)
        private let passed = Atomic(0)

        /// Returns once every thread of Swift's pool is blocked.
        func begin() {
            let wanted = ProcessInfo.processInfo.activeProcessorCount
            // Dispatch adds threads while its threads sleep; there is enough work for each of them.
            for _ in 0..<1000 { Task.detached { self.block() } }
            while blocked.load(ordering: .acquiring) < wanted { usleep(1000) }
            for _ in 0..<256 { DispatchQueue.global().async { self.block() } }
            Task.detached { self.passed.store(1, ordering: .releasing) }
        }

        /// Whether no work got through.
        var holds: Bool { passed.load(ordering: .acquiring) == 0 }

        func end() { isOver.store(true, ordering: .releasing) }

        private func block() {
            blocked.add(1, ordering: .acquiringAndReleasing)
            while !isOver.load(ordering: .acquiring) { usleep(1000) }
        }
    }

    /// Sends a request on a separate thread, so that nobody waits for it on a blocked one.
    private static func ask(_ port: UInt16, during blockade: Blockade?) async throws -> (Int, Duration) {
        try await withCheckedThrowingContinuation { continuation in
            Thread {
                blockade?.begin()
                let result = Result {
                    var connection = try RawConnection(port: port, timeoutSeconds: 5)
                    try connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    let start = ContinuousClock.now
                    let status = try connection.response().status
                    guard blockade?.holds != false else {
                        throw AsyncConnectionError.malformed("the blockade has gaps")
                    }
                    return (status, .now - start)
                }
                blockade?.end()
                continuation.resume(with: result)
            }.start()
        }
    }

    /// In a process of its own, since it blocks every thread on which other tests would run.
    @Test func `an answer that takes too long becomes 503 though every shared thread is blocked`() async throws {
        await #expect(processExitsWith: .success) {
            let latch = Latch()
            let responder = TestResponder { _ in
                await latch.wait()
                return .text("late")
            }
            let deadline = Duration.milliseconds(300)
            try await TestServer.with(responder) {
                $0.answerDeadline = deadline
            } body: { server in
                // What starts with the server has started once a deadline was kept.
                #expect(try await Self.ask(server.port, during: nil).0 == 503)
                let (status, duration) = try await Self.ask(server.port, during: Blockade())
                #expect(status == 503)
                #expect(duration < deadline * 10)
                latch.open()
            }
        }
    }
}

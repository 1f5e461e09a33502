import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import sluice

@Suite(.timeLimit(.minutes(1)))
struct BackgroundServicesTests {
    private final class Told: Sendable {
        let count = Atomic(0)
    }

    /// Ends once as many services have been told to stop.
    private struct Sociable: Service {
        let told: Told
        let all: Int

        func run() async throws {
            try await gracefulShutdown()
            told.count.add(1, ordering: .relaxed)
            while told.count.load(ordering: .relaxed) < all { await Task.yield() }
        }
    }

    private struct Short: Service {
        func run() async throws {}
    }

    private func group(of services: [any Service]) -> ServiceGroup {
        let logger = Logger(label: "sluice.test")
        return ServiceGroup(running: [BackgroundServices(services: services)], logger: logger)
    }

    @Test func `All are told to stop before any of them has ended`() async throws {
        let told = Told()
        let group = group(of: (0..<3).map { _ in Sociable(told: told, all: 3) })
        await group.triggerGracefulShutdown()
        try await group.run()
        #expect(told.count.load(ordering: .relaxed) == 3)
    }

    @Test func `One that ends by itself ends the gateway`() async throws {
        let group = group(of: [Sociable(told: Told(), all: 1), Short()])
        await #expect(throws: (any Error).self) { try await group.run() }
    }
}

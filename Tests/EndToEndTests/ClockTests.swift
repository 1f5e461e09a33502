import Foundation
import HTTPTesting
import PostgresTesting
import TestSupport
import Testing

/// Clocks that disagree. The clocks of gateway and database are really shifted; the store uses this machine's clock.
/// Whatever they say, the store receives no more bytes than the quota allows.
@Suite struct ClockTests {
    /// Seconds by which the clocks of gateway and database run ahead of the store's once a link is issued. It is more
    /// than the lifetime of the link plus the time that uploads have afterwards.
    struct Shift: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let gateway: Int
        let database: Int

        var isTold: Bool { gateway != database }
    }

    static let far = 4000
    static let all = [
        Shift(testDescription: "the database's is ahead", gateway: 0, database: far),
        Shift(testDescription: "the database's is behind", gateway: 0, database: -far),
        Shift(testDescription: "the gateway's is ahead", gateway: far, database: 0),
        Shift(testDescription: "the gateway's is behind", gateway: -far, database: 0),
        Shift(testDescription: "the store's is ahead", gateway: -far, database: -far),
        Shift(testDescription: "the store's is behind", gateway: far, database: far),
    ]
    /// A gateway under libfaketime sometimes hangs at start and must be restarted, so these cases take long.
    static let shifts =
        ProcessInfo.processInfo.environment["SLUICE_TEST_CLOCKS"] == nil ? all.filter { $0.gateway == 0 } : all

    @Test func `No more bytes land than a quota allows, whosever clock is wrong`() async throws {
        try Surroundings.require(StoreKind.radosgw.isExpected, orElse: "radosgw does not run")
        try Surroundings.require(FakeClock.isThere, orElse: "libfaketime is not installed")
        var options = ClusterOptions()
        options.hasClock = true
        let cluster = try await TestCluster(options)
        try await StoreBench.with(.radosgw, cluster: cluster, reachesStore: true) { bench in
            for (number, shift) in Self.shifts.enumerated() {
                try await expectNoMoreLands(at: bench, user: "user-\(number)", shift)
            }
        }
        try await cluster.kill()
    }

    private func expectNoMoreLands(at bench: StoreBench, user name: String, _ shift: Shift) async throws {
        let site = bench.deployment
        let body = [UInt8](repeating: 0x61, count: 1000)
        let user = try await site.makeUser(name)
        try await site.grant(["PutObject"], to: user.principal, in: bench.bucket)
        try await site.quota(body.count, for: user.principal, options: ["metric": "bytes"])
        func ask(_ client: APIClient) async throws -> Answer {
            let upload = JSON.upload(bench.freshKey(), to: bench.bucket).with(["contentLength": .number(body.count)])
            let answer = try await client.ask(upload)
            site.keepSecret(urlOf: answer)
            return answer
        }
        let first = try await ask(user.client)
        try #require(first.status == 201, "\(first.text)")

        try site.cluster.setClock(ahead: shift.database)
        let second = try await site.withSettling(FakeClock.environment(ahead: shift.gateway)) { gateway in
            try await ask(user.client.at(gateway.port))
        }
        try site.cluster.setClock(ahead: 0)
        #expect(second.status == (shift.isTold ? 503 : 429), "\(shift.testDescription): \(second.text)")
        #expect(second.text.contains("clock") == shift.isTold, "\(second.text)")
        var landed = 0
        for answer in [first, second] where answer.status == 201 {
            if try await Link(answer.json).use(body).status == 200 { landed += body.count }
        }
        #expect(landed == body.count, "\(shift.testDescription)")
    }
}

extension Deployment {
    /// Starts one more gateway, which immediately settles what is due, and ends it after `body`.
    func withSettling<Value>(
        _ settings: [String: String] = [:], _ body: (GatewayProcess) async throws -> Value
    ) async throws -> Value {
        var attempt = 1
        while true {
            let gateway = try await startGateway(settings.merging(["SLUICE_LOG_LEVEL": "debug"]) { $1 })
            do {
                try await waitUntil("it has settled what it may", seconds: 20) {
                    gateway.log.contains("no reservation is due")
                }
            } catch  where attempt < 3 {
                // A thread under libfaketime sometimes waits for ever.
                attempt += 1
                await end(gateway) { await gateway.crash() }
                continue
            }
            let value = try await body(gateway)
            await end(gateway) { await gateway.crash() }
            return value
        }
    }
}

import Foundation
import HTTPTesting
import LibPQ
import PostgresTesting
import Testing

/// The running program on a primary whose standby is gone.
@Suite(.timeLimit(.minutes(2))) struct StandbyTests {
    @Test func `links and revokes whose wait for the standby is cut short are answered with 503`() async throws {
        let pair = try await SynchronousPair()
        try await Deployment.with(cluster: pair.primary) { site in
            let alice = try await site.makeUser("alice")
            try await site.allowAsking(by: [alice], in: "pair")
            let grant = try await site.grant(["GetObject"], to: "user:bob", in: "pair")
            let (before, after) = (Tally(), Tally())
            try await ask(before, by: alice, at: site)
            try await pair.standby.stop()
            let revokes = try await cuttingWaitsShort(at: site) {
                try await ask(after, by: alice, at: site)
                return [try await revoke(grant, at: site), try await revoke(grant, at: site)]
            }
            try await pair.failOver()

            let recorded = try await site.recordedNames(in: pair.standby)
            #expect(before.statuses == [201: 10] && before.wrong.isEmpty)
            #expect(Set(before.issued).isSubset(of: recorded))
            let lost = after.issued.filter { !recorded.contains($0) }
            #expect(lost.isEmpty, "\(lost.count) of \(after.issued.count) links have no row on the survivor")
            #expect(Set(after.statuses.keys) == [503], "\(after.statuses)")
            let live = try await site.session(in: pair.standby)
                .number("SELECT count(*) FROM grants WHERE id = '\(grant)' AND removed_at IS NULL")
            #expect(revokes.map(\.status) == [503, 503], "the grant is there \(live) times on the survivor")
            for answer in revokes { #expect(answer["Retry-After"] == "1") }
            #expect(site.log.contains("outcome unknown: WARNING 01000"))
        }
        try await pair.standby.kill()
    }

    /// Asks in each way, for ten links.
    private func ask(_ tally: Tally, by user: User, at site: Deployment) async throws {
        for way in Way.byURL {
            let request = try way.request(for: "k", by: Asker(user: user, bucket: "pair"))
            let answer = try await request.answer(fromPort: user.client.port)
            tally.note(answer, expected: [201])
            if answer.status == 503 { #expect(answer["Retry-After"] == "1", "\(way)") }
        }
    }

    private func revoke(_ grant: String, at site: Deployment) async throws -> Answer {
        try await site.admin.call("DELETE", "/admin/v1/grants/\(grant)")
    }

    /// Runs `body` while a database admin cancels statements that wait for the standby.
    private func cuttingWaitsShort<Result: Sendable>(
        at site: Deployment, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let isOver = Flag()
        let session = try site.session()
        async let admin: Void = {
            while !isOver.isRaised {
                _ = try? await session.texts(
                    "SELECT pg_cancel_backend(pid)::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
                try? await Task.sleep(for: .milliseconds(5))
            }
        }()
        defer { isOver.raise() }
        let result = try await body()
        isOver.raise()
        await admin
        return result
    }
}

import Foundation
import GatewayCore
import Testing

/// What admins see of the use of quotas, whatever the store would answer.
@Suite struct QuotaCountersTests {
    private let counters = QuotaCounters(store: TwoHolders())

    @Test func `a delegated admin does not see who used what, and a filter that does not exist is refused`() async {
        await #expect(throws: GatewayError.outsideAdminScope) {
            try await counters.uses(of: Fixture.id(1), ListQuery(reach: .limited([])))
        }
        for filters in [["user": "bob"], ["holder": "a\0"]] {
            await #expect(throws: GatewayError.self) {
                try await counters.uses(of: Fixture.id(1), ListQuery(filters: filters))
            }
        }
    }

    @Test func `the token of a page leads to the rest, and belongs to one quota`() async throws {
        var query = ListQuery(pageSize: 1)
        let first = try await counters.uses(of: Fixture.id(1), query)
        query.pageToken = first.nextPageToken
        let rest = try await counters.uses(of: Fixture.id(1), query)
        #expect((first.items + rest.items).map(\.holder.rawValue) == ["user:a", "user:b"])
        #expect(first.nextPageToken != nil && rest.nextPageToken == nil)
        await #expect(throws: GatewayError.self) { try await counters.uses(of: Fixture.id(2), query) }
    }
}

/// Two holders of every quota, who used the same.
private struct TwoHolders: QuotaCounterStore {
    func summaries(of quotas: [UUID]) async throws(GatewayError) -> [UUID: QuotaUseSummary] { [:] }

    func uses(
        of quota: UUID, holder: String?, after place: QuotaUse.Place?, limit: Int
    ) async throws(GatewayError) -> [QuotaUse] {
        let all = [
            QuotaUse(holder: try .user("a"), used: 5, reserved: 0),
            QuotaUse(holder: try .user("b"), used: 5, reserved: 0),
        ]
        return Array(all.filter { $0.holder.rawValue > place?.holder ?? "" }.prefix(limit))
    }

    func reset(
        _ quota: UUID, of holders: QuotaHolders, by change: ChangeContext
    ) async throws(GatewayError) -> QuotaReset {
        QuotaReset(holders: 0, released: 0)
    }
}

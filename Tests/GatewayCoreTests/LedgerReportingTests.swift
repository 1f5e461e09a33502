import Foundation
import GatewayCore
import Synchronization
import Testing

/// Which period a report searches, and where its pages end.
@Suite struct LedgerReportingTests {
    /// 2024-05-17T08:30:00Z.
    private static let now = Fixture.now
    private static let day: TimeInterval = 86_400

    private let reports = AskedReports()

    private let grants = Rows<Grant>(.grant) { $0.id.lowercaseText }

    private var reporting: LedgerReporting { LedgerReporting(reports: reports, grants: grants, now: { Self.now }) }

    private func filter(from: Date? = nil, to: Date? = nil) -> IssuanceFilter {
        var filter = IssuanceFilter()
        (filter.from, filter.to) = (from, to)
        return filter
    }

    private func since(_ time: TimeInterval) -> Date { Self.now.addingTimeInterval(-time) }

    @Test func `usage without a start begins a day before its end, or a month where days are counted`() async throws {
        let (halfHour, eightAndAHalf) = (1800.0, 30_600.0)
        let hours = try await reporting.usage(UsageQuery(by: .hour)).range
        #expect(hours.from == since(Self.day + halfHour) && hours.to == nil)
        #expect(try await reporting.usage(UsageQuery(by: .range)).range == hours)
        #expect(try await reporting.usage(UsageQuery(by: .day)).range.from == since(31 * Self.day + eightAndAHalf))
        let ended = try await reporting.usage(UsageQuery(filter(to: since(Self.day)), by: .hour)).range
        #expect(ended.from == since(2 * Self.day + halfHour) && ended.to == since(Self.day))
        let stated = try await reporting.usage(UsageQuery(filter(from: since(61)), by: .day)).range
        #expect(stated.from == since(61))
        await #expect(throws: GatewayError.self) {
            try await reporting.usage(UsageQuery(filter(from: Self.now, to: Self.now)))
        }
        #expect(try await reporting.denials(DenialQuery()).range.from == since(Self.day))
    }

    @Test func `grants are unused for a week in a period of 32 days, unless the query says otherwise`() async throws {
        let range = try await reporting.grantUse(GrantUseQuery()).range
        #expect(range.from == since(32 * Self.day + 1800) && range.to == nil)
        #expect(reports.unusedSince.withLock { $0 } == since(7 * Self.day))
        let edge = since(10)
        _ = try await reporting.grantUse(GrantUseQuery(from: edge, unusedSince: edge))
        #expect(reports.unusedSince.withLock { $0 } == edge)
        await #expect(throws: GatewayError.self) {
            try await reporting.grantUse(GrantUseQuery(from: edge.addingTimeInterval(1), unusedSince: edge))
        }
        let early = try await reporting.grantUse(GrantUseQuery(unusedSince: since(60 * Self.day))).range
        #expect(early.from == since(60 * Self.day + 1800))
    }

    /// Forms that leave the name to the client are recorded with a place for it, which is in no prefix.
    @Test(arguments: [
        ("uploads/${filename}", "uploads/${filename}", "uploads/"), ("a/x-${filename}", "a/x-${filename}", "a/"),
        ("${filename}", "${filename}", ""), ("a/${filename}", "a/b/c", "a/"), ("a/b/c", "a/b/c", "a/b/c"),
        ("a/b/c", "a/b/d", "a/b/"),
    ])
    func `the tightest prefix is one that a grant can have`(first: String, last: String, prefix: String) throws {
        let use = GrantUse.Use(urls: 2, lastAt: Self.now, firstKey: first, lastKey: last, actions: [.getObject])
        #expect(use.tightestPrefix == ExactText(prefix))
        _ = try KeyPrefix(literal: use.tightestPrefix.rawValue)
        // A listing may end inside a name, and a grant for listings covers folders.
        let listing = GrantUse.Use(
            urls: 2, lastAt: Self.now, firstKey: first, lastKey: last, actions: [.getObject, .listObjects])
        let folder = prefix.hasSuffix("/") || prefix.isEmpty ? prefix : String(prefix.dropLast())
        #expect(listing.tightestPrefix == ExactText(folder))
    }

    @Test func `a page has the rows that were asked for, and the next one the period of the first`() async throws {
        reports.rows.withLock { $0 = 3 }
        #expect(try await reporting.usage(UsageQuery(pageSize: 3)).nextPageToken == nil)
        #expect(reports.limits.withLock { $0 } == [4])
        var query = UsageQuery(pageSize: 2)
        let first = try await reporting.usage(query)
        #expect(first.items.count == 2)
        query.pageToken = first.nextPageToken
        #expect(query.pageToken != nil)
        let later = LedgerReporting(reports: reports, grants: grants, now: { Self.now.addingTimeInterval(7200) })
        #expect(try await later.usage(query).range == first.range)
        let place = try #require(reports.place.withLock { $0 })
        #expect(place.start == Self.now && place.urls == 2 && place.names == ["user:alice", "", "", "", ""])
        query.step = .day
        await #expect(throws: GatewayError.self) { try await later.usage(query) }
    }

    @Test func `a delegated admin asks for the reach of grants inside only, others for that of any`() async throws {
        let change = ChangeContext(actor: .anyone, requestID: "r")
        let grant = try await grants.create(Fixture.grant(1, on: "team/"), by: change).row
        func isAsked(_ id: UUID, within reach: AdminReach) async -> Bool {
            let before = reports.causes.withLock { $0 }
            _ = try? await reporting.blastRadius(ofGrant: id, within: reach)
            return reports.causes.withLock { $0 } > before
        }
        let scopes = try ["team/", "other/"].map { try AdminScope(bucket: grant.bucket, prefix: $0) }
        #expect(await isAsked(grant.id, within: .limited([scopes[0]])))
        #expect(await !isAsked(grant.id, within: .limited([scopes[1]])))
        #expect(await !isAsked(Fixture.id(2), within: .limited(scopes)))
        #expect(await isAsked(Fixture.id(2), within: .unlimited))
    }

    @Test(arguments: [(-1, 2), (0, 2), (1, 2), (1000, 1001), (1001, 1001)])
    func `a page has 1 to 1000 rows`(_ asked: Int, _ limit: Int) async throws {
        _ = try await reporting.usage(UsageQuery(pageSize: asked))
        #expect(reports.limits.withLock { $0 } == [limit])
    }
}

/// Reports of some rows, which remember what they were asked for.
private final class AskedReports: LedgerReports {
    let rows = Mutex(0)
    let limits = Mutex<[Int]>([])
    let place = Mutex<UsageQuery.Place?>(nil)
    let unusedSince = Mutex<Date?>(nil)
    /// How many causes of what is alive were asked for.
    let causes = Mutex(0)

    func usage(
        _ query: UsageQuery, in range: LedgerRange, after place: UsageQuery.Place?, limit: Int
    ) async throws(GatewayError) -> [Usage] {
        limits.withLock { $0.append(limit) }
        self.place.withLock { $0 = place }
        return (0..<rows.withLock { $0 }).map { number in
            Usage(
                start: Fixture.now, principal: "user:alice", urls: Int64(3 - number), bytesBound: 0, bytesReserved: 0,
                bytesUnsettled: 0, bytesLanded: 0)
        }
    }

    func denials(
        _ query: DenialQuery, in range: LedgerRange, after place: DenialQuery.Place?, limit: Int
    ) async throws(GatewayError) -> [CountedDenial] {
        []
    }

    func settlingBacklog() async throws(GatewayError) -> SettlingBacklog {
        throw .unavailable(retryAfter: 1)
    }

    func grantUse(
        _ query: GrantUseQuery, from: Date, unusedSince since: Date, after place: UUID?, limit: Int
    ) async throws(GatewayError) -> [GrantUse] {
        unusedSince.withLock { $0 = since }
        return []
    }

    func blastRadius(
        of cause: BlastRadius.Cause, within reach: AdminReach, deadline: ContinuousClock.Instant?
    ) async throws(GatewayError) -> BlastRadius {
        causes.withLock { $0 += 1 }
        throw .unavailable(retryAfter: 1)
    }
}

import Foundation
import GatewayCore

/// A ledger to read, with three rows on two pages and reports of one line.
struct StubLedgerReader: IssuanceReader, LedgerReports, ReplaySource {
    static let range = LedgerRange(at: TestGateway.now)

    static func row(_ key: String, principal: String = "user:alice") -> RecordedIssuance {
        RecordedIssuance(
            id: StubPolicy.grantID, issuedAt: TestGateway.now, expiresAt: TestGateway.now.addingTimeInterval(900),
            delivery: "sts", principal: principal, matchedPrincipal: "*", grantID: StubPolicy.grantID,
            credentialID: StubPolicy.credentialID, actions: ["PutObject", "GetObject"], method: "*", bucket: "photos",
            key: key, contentType: "image/png", contentMD5: [UInt8](repeating: 1, count: 16), contentLength: 12,
            requestID: "request-1", policySequence: 7,
            charges: [.init(quotaID: StubPolicy.quotaID, amount: 1)])
    }

    func issuances(_ query: IssuanceQuery) async throws(GatewayError) -> LedgerPage<RecordedIssuance> {
        if query.filter.prefix?.rawValue == "broken/", query.pageToken != nil { throw .unavailable(retryAfter: 1) }
        guard query.pageToken == nil else {
            return LedgerPage(
                items: [Self.row("=cmd|'/c calc'!A1"), Self.row("a \"b\", c", principal: "user:-x")],
                nextPageToken: nil, range: Self.range)
        }
        return LedgerPage(items: [Self.row("uploads/")], nextPageToken: "next", range: Self.range)
    }

    func issuance(_ id: UUID) async throws(GatewayError) -> RecordedIssuance {
        guard id == StubPolicy.grantID else { throw .notFound(.issuance) }
        return Self.row("uploads/")
    }

    func issuances(_ query: ReplayQuery) async throws(GatewayError) -> LedgerPage<RecordedIssuance> {
        LedgerPage(
            items: [Self.row("uploads/"), Self.row("uploads/private/")], nextPageToken: nil,
            range: try LedgerRange(from: query.from, to: query.to, span: 0, now: query.to))
    }

    func templates(among grants: [UUID]) async throws(GatewayError) -> [UUID: [PastTemplate]] { [:] }

    func memberships(
        among memberships: [PolicyProposal.Membership]
    ) async throws(GatewayError) -> [PolicyProposal.Membership: [Range<Int64>]] { [:] }

    func usage(
        _ query: UsageQuery, in range: LedgerRange, after place: UsageQuery.Place?, limit: Int
    ) async throws(GatewayError) -> [Usage] {
        [
            Usage(
                start: TestGateway.now, principal: query.dimensions.contains(.principal) ? "user:alice" : nil,
                grantID: query.dimensions.contains(.grant) ? StubPolicy.grantID : nil,
                actions: query.dimensions.contains(.action) ? ["PutObject", "GetObject"] : nil, urls: 3, bytesBound: 2,
                bytesReserved: 1, bytesUnsettled: 0, bytesLanded: 2)
        ]
    }

    func denials(
        _ query: DenialQuery, in range: LedgerRange, after place: DenialQuery.Place?, limit: Int
    ) async throws(GatewayError) -> [CountedDenial] {
        [
            CountedDenial(
                start: TestGateway.now, principal: query.dimensions.contains(.principal) ? "user:alice" : nil,
                bucket: nil, code: query.dimensions.contains(.code) ? "AccessDenied" : nil,
                count: query.step == .minute ? 3 : 30)
        ]
    }

    func settlingBacklog() async throws(GatewayError) -> SettlingBacklog {
        SettlingBacklog(reservations: 3, bytes: 300, due: 1, dueSince: TestGateway.now)
    }

    func grantUse(
        _ query: GrantUseQuery, from: Date, unusedSince since: Date, after place: UUID?, limit: Int
    ) async throws(GatewayError) -> [GrantUse] {
        let use = GrantUse.Use(
            urls: 2, lastAt: TestGateway.now, firstKey: "uploads/a", lastKey: "uploads/b", actions: [.getObject])
        guard let grant = try? StubPolicy().grant() else { throw .unavailable(retryAfter: 1) }
        return [GrantUse(grant: grant, use: nil), GrantUse(grant: grant, use: use)]
    }

    func blastRadius(
        of cause: BlastRadius.Cause, within reach: AdminReach, deadline: ContinuousClock.Instant?
    ) async throws(GatewayError) -> BlastRadius {
        // Of this user the ledger has more than can be read in a short time.
        if case .principal(let user) = cause, user.rawValue == "user:unread", deadline != nil {
            throw .slowDown(retryAfter: 1)
        }
        let known: [BlastRadius.Cause] = [.grant(StubPolicy.grantID), .credential(StubPolicy.credentialID)]
        if case .principal = cause {} else if !known.contains(cause) { throw .notFound(.grant) }
        let share = BlastRadius.Share(name: "user:alice", count: 1, aliveUntil: TestGateway.now)
        let session = BlastRadius.Session(
            principal: "user:alice", bucket: "photos", prefix: "uploads/", actions: ["PutObject", "GetObject"],
            credentialID: StubPolicy.credentialID, expiresAt: TestGateway.now)
        return BlastRadius(
            count: 1, aliveUntil: TestGateway.now, principalCount: 1, principals: [share], deliveries: [], buckets: [],
            credentials: [], grants: [], sessionCount: 1, sessions: [session])
    }
}

extension LedgerRange {
    fileprivate init(at now: Date) {
        guard let range = try? LedgerRange(from: nil, to: now, span: 60, now: now) else { preconditionFailure() }
        self = range
    }
}

/// A history of five years in which nothing ever changed.
struct StubHistory: PolicyHistory {
    func moment(at instant: Date) async throws(GatewayError) -> PolicyMoment? {
        instant < TestGateway.now.addingTimeInterval(-5 * 365 * 86_400) ? nil : PolicyMoment(sequence: 1, at: instant)
    }

    func moment(ofChange sequence: Int64) async throws(GatewayError) -> PolicyMoment? {
        PolicyMoment(sequence: sequence, at: TestGateway.now)
    }

    func groups(of principal: Principal, after sequence: Int64) async throws(GatewayError) -> [Principal] { [] }

    func grants(
        of principals: [Principal], in bucket: BucketName, for key: ObjectKey, listing folder: ExactText?,
        after sequence: Int64
    ) async throws(GatewayError) -> [Grant] {
        (try? StubPolicy().grant()).map { [$0] } ?? []
    }

    func grant(_ id: UUID, after sequence: Int64) async throws(GatewayError) -> Grant? { try? StubPolicy().grant() }

    func grants(
        near key: ObjectKey, in bucket: BucketName, of principals: [Principal]
    ) async throws(GatewayError) -> [Grant] {
        []
    }
}

import Foundation
import GatewayCore
import Synchronization
import TestSupport

/// Parses an identifier written in a test.
func uuid(_ text: String) -> UUID {
    guard let id = UUID(uuidString: text) else { preconditionFailure("'\(text)' is no UUID.") }
    return id
}

/// Rows of policy: one bucket, one credential, one grant and one quota of `user:alice`.
struct StubPolicy: KeyedPolicy {
    static let position = PolicyPosition(
        sequence: 1, tag: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
    static let credentialID = uuid("018f0000-0000-7000-8000-00000000000c")
    static let cdnCredentialID = uuid("018f0000-0000-7000-8000-00000000cd00")
    static let quotaID = uuid("018f0000-0000-7000-8000-00000000000d")
    static let grantID = uuid("018f0000-0000-7000-8000-00000000000e")
    static let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

    var conditions = GrantConditions(allowResponseContentType: true)
    var effect = Grant.Effect.allow
    var actions: Set<Action> = [.putObject, .getObject]
    var publicEndpoints: [PublicEndpoint.Name: PublicEndpoint] = [:]
    /// The protocols that the bucket `photos` opens.
    var protocols = Set(ClientProtocol.allCases)
    var scheme = Bucket.Scheme.awsV4
    var provider = Bucket.Provider.s3
    var addressing = Bucket.Addressing.path
    var honoursUnsignedHeaders = false
    var quota: Quota?
    /// Whether the storage credential of the buckets exists.
    var hasCredential = true
    var failure: GatewayError?

    var position: PolicyPosition { Self.position }

    static func bucket() throws -> Bucket {
        Bucket(
            name: try BucketName("photos"), provider: .s3, endpoint: "https://store.example", region: "eu-west-1",
            addressing: .path, scheme: .awsV4, credentialID: credentialID, allowsRedirects: true,
            protocols: Set(ClientProtocol.allCases), createdAt: TestGateway.now
        )
    }

    private func photos() throws -> Bucket {
        var bucket = try Self.bucket()
        bucket.publicEndpoints = publicEndpoints
        bucket.protocols = protocols
        bucket.honoursUnsignedHeaders = honoursUnsignedHeaders
        bucket.scheme = scheme
        bucket.provider = provider
        bucket.addressing = addressing
        return bucket
    }

    /// The bucket `oss-photos` at Alibaba OSS.
    static func ossBucket() throws -> Bucket {
        var bucket = try bucket()
        bucket.name = try BucketName("oss-photos")
        bucket.provider = .oss
        bucket.scheme = .ossV1
        return bucket
    }

    /// Policy under which every example of the contract is issued.
    static var ofExamples: StubPolicy {
        StubPolicy(
            conditions: GrantConditions(allowResponseContentType: true, allowVersions: true),
            actions: Set(Action.allCases), publicEndpoints: [.cdn: cdn])
    }

    /// The bucket's CDN, for which links and cookies are signed.
    static let cdn = PublicEndpoint(
        url: "https://cdn.example", signing: CDNSigning(scheme: .cloudFront, credentialID: cdnCredentialID))

    static func cdnCredential() -> StorageCredential {
        StorageCredential(
            id: cdnCredentialID, name: "cdn", kind: .keyPair, accessKeyID: "K2JCJMDEHXQW5F",
            secretAccessKey: Secret(TestKey.pem), createdAt: TestGateway.now)
    }

    static func credential() -> StorageCredential {
        StorageCredential(
            id: credentialID, name: "main", accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret(secret),
            sessionRole: SessionRole(
                roleARN: "acs:ram::1234567890123456:role/uploader", service: .alibaba,
                endpoint: "https://sts.example", region: "eu-west-1"),
            createdAt: TestGateway.now
        )
    }

    static func quota() throws -> Quota {
        Quota(
            id: quotaID, principal: try .user("alice"), bucket: nil, action: nil, metric: .urls, period: .day,
            sharing: .each, limit: 100, createdAt: TestGateway.now
        )
    }

    func grant() throws -> Grant {
        Grant(
            id: Self.grantID, principal: try .user("alice"), bucket: try BucketName("photos"),
            prefix: try KeyPrefix(literal: "uploads/"), actions: actions, effect: effect,
            conditions: conditions, createdBy: "user:root", createdAt: TestGateway.now
        )
    }

    private func ossGrant() throws -> Grant {
        var grant = try grant()
        grant.id = uuid("018f0000-0000-7000-8000-00000000000f")
        grant.bucket = try BucketName("oss-photos")
        return grant
    }

    private func rows(of key: PolicyKey) throws -> PolicyRows {
        switch key {
        case .principal(let principal):
            principal.rawValue == "user:alice"
                ? .principal(PrincipalRows(grants: [try grant(), try ossGrant()], quotas: [try quota ?? Self.quota()]))
                : .principal(PrincipalRows())
        case .bucket(let name):
            switch name.rawValue {
            case "photos": .bucket(try photos())
            case "oss-photos": .bucket(try Self.ossBucket())
            default: .bucket(nil)
            }
        case .credential(Self.cdnCredentialID): .credential(Self.cdnCredential())
        case .credential: .credential(hasCredential ? Self.credential() : nil)
        case .issuer: .issuer(nil)
        case .apiKey: .apiKey(nil)
        case .ticket: .ticket(nil)
        }
    }

    func load(
        _ keys: [PolicyKey], literalGrantLimit: Int
    ) async throws(GatewayError) -> PolicyLoad<[PolicyRows]> {
        if let failure { throw failure }
        do {
            return PolicyLoad(position: Self.position, rows: try keys.map(rows))
        } catch {
            throw .unavailable(retryAfter: 1)
        }
    }

    func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges {
        if let failure { throw failure }
        return position == nil ? .restart(at: Self.position) : .scopes([], upTo: Self.position)
    }
}

/// Records everything unless the test says otherwise.
final class StubLedger: IssuanceLedger, QuotaUsageSource {
    private let verdict: (@Sendable (IssuanceProposal) -> RecordVerdict)?
    private let failure: GatewayError?
    /// What proposals get by their places in a call; `nil`, and at further places, what the others say.
    private let outcomes: [Result<RecordVerdict, GatewayError>?]
    let proposals = Mutex<[IssuanceProposal]>([])
    /// The deadline of each call.
    let deadlines = Mutex<[ContinuousClock.Instant]>([])

    init(verdict: RecordVerdict? = nil, failure: GatewayError? = nil) {
        self.verdict = if let verdict { { @Sendable _ in verdict } } else { nil }
        self.failure = failure
        outcomes = []
    }

    /// A ledger that answers proposals by their places in a call; it records those without an outcome.
    init(_ outcomes: [Result<RecordVerdict, GatewayError>?]) {
        self.outcomes = outcomes
        verdict = nil
        failure = nil
    }

    /// A ledger with a verdict of its own on each proposal.
    init(judging verdict: @escaping @Sendable (IssuanceProposal) -> RecordVerdict) {
        self.verdict = verdict
        failure = nil
        outcomes = []
    }

    func record(
        _ proposals: [IssuanceProposal], deadline: ContinuousClock.Instant
    ) async -> [Result<RecordVerdict, GatewayError>] {
        if let failure { return proposals.map { _ in .failure(failure) } }
        self.proposals.withLock { $0 += proposals }
        deadlines.withLock { $0.append(deadline) }
        return proposals.enumerated().map { place, proposal in
            if place < outcomes.count, let outcome = outcomes[place] { return outcome }
            let remaining = proposal.charges.map {
                QuotaRemainder(quotaID: $0.quota.id, remaining: Int64(99 - place), resetsIn: 3600)
            }
            return .success(verdict?(proposal) ?? .recorded(remaining: remaining))
        }
    }

    func usage(of holdings: [QuotaHolding]) async throws(GatewayError) -> [QuotaRemainder] {
        holdings.map { QuotaRemainder(quotaID: $0.quota.id, remaining: 42, resetsIn: 60) }
    }
}

/// Counts no refusal.
struct NoDenials: DenialCounting {
    func count(_ denial: Denial) {}
}

/// Rows of one kind, in memory.
final class MemoryStore<Resource: ValidatedRow>: AdminStore {
    private let kind: ResourceKind
    private let identify: @Sendable (Resource) -> String
    /// Whether two rows say the same, for kinds of which no two rows may.
    private let areTwins: @Sendable (Resource, Resource) -> Bool
    private let rows = Mutex<[(id: String, row: Stored<Resource>)]>([])
    let queries = Mutex<[ListQuery]>([])
    let changes = Mutex<[ChangeContext]>([])
    /// Every row ever written, with its author.
    let history = Mutex<[(row: Resource, maker: CredentialUse.Maker)]>([])

    init(
        _ kind: ResourceKind, areTwins: @escaping @Sendable (Resource, Resource) -> Bool = { _, _ in false },
        _ identify: @escaping @Sendable (Resource) -> String
    ) {
        self.kind = kind
        self.areTwins = areTwins
        self.identify = identify
    }

    func create(
        _ validated: Validated<Resource>, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource> {
        let resource = validated.row
        changes.withLock { $0.append(change) }
        let id = identify(resource)
        let stored = Stored(row: resource, revision: UUID())
        if let twin = rows.withLock({ rows in rows.first { areTwins($0.row.row, resource) } }) {
            throw .alreadyExists(kind, id: twin.id)
        }
        let isNew = rows.withLock { rows in
            guard !rows.contains(where: { $0.id == id }) else { return false }
            rows.append((id, stored))
            return true
        }
        guard isNew else { throw .alreadyExists(kind) }
        let maker = CredentialUse.Maker(actor: change.actor, credential: change.credential)
        history.withLock { $0.append((resource, maker)) }
        return stored
    }

    func get(_ id: String) async throws(GatewayError) -> Stored<Resource> {
        guard let row = rows.withLock({ rows in rows.first { $0.id == id }?.row }) else { throw .notFound(kind) }
        return row
    }

    func update(
        _ validated: Validated<Resource>, from revision: UUID, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource> {
        let resource = validated.row
        let id = identify(resource)
        guard try await get(id).revision == revision else { throw .preconditionFailed }
        changes.withLock { $0.append(change) }
        let stored = Stored(row: resource, revision: UUID())
        rows.withLock { rows in
            for index in rows.indices where rows[index].id == id { rows[index].row = stored }
        }
        let maker = CredentialUse.Maker(actor: change.actor, credential: change.credential)
        history.withLock { $0.append((resource, maker)) }
        return stored
    }

    func list(_ query: ListQuery) async throws(GatewayError) -> Page<Resource> {
        queries.withLock { $0.append(query) }
        let all = rows.withLock { rows in rows.map(\.row.row) }
        let start = query.pageToken.flatMap { Int($0) } ?? 0
        let items = Array(all.dropFirst(start).prefix(query.pageSize))
        let end = start + items.count
        return Page(items: items, nextPageToken: end < all.count ? String(end) : nil)
    }

    func delete(_ id: String, revision: UUID?, by change: ChangeContext) async throws(GatewayError) {
        let current = try await get(id).revision
        guard revision == nil || revision == current else { throw .preconditionFailed }
        changes.withLock { $0.append(change) }
        let wasThere = rows.withLock { rows in
            let index = rows.firstIndex { $0.id == id }
            if let index { rows.remove(at: index) }
            return index != nil
        }
        guard wasThere else { throw .notFound(kind) }
    }
}

/// One store of each kind.
struct MemoryStores {
    let buckets = MemoryStore<Bucket>(.bucket) { $0.name.rawValue }
    let credentials = MemoryStore<StorageCredential>(.storageCredential) { $0.id.uuidString.lowercased() }
    let grants = MemoryStore<Grant>(
        .grant,
        areTwins: { left, right in
            var right = right
            (right.id, right.note, right.createdBy) = (left.id, left.note, left.createdBy)
            right.createdAt = left.createdAt
            return left == right
        }
    ) { $0.id.uuidString.lowercased() }
    let grantBulk = MemoryGrantBulk()
    let members = MemoryStore<GroupMember>(.groupMember) { $0.identifier }
    let quotas = MemoryStore<Quota>(
        .quota,
        areTwins: { left, right in
            var right = right
            (right.id, right.limit, right.createdAt) = (left.id, left.limit, left.createdAt)
            return left == right
        }
    ) { $0.id.uuidString.lowercased() }
    let issuers = MemoryStore<Issuer>(.issuer) { $0.id.uuidString.lowercased() }
    let apiKeys = MemoryStore<APIKey>(.apiKey) { $0.id.uuidString.lowercased() }
    let offboarding = StubOffboarding()
    let tickets = MemoryStore<Ticket>(.ticket) { $0.id.uuidString.lowercased() }

    /// The stores, with another source for the pages of the console if there is one.
    func all(console: (any ConsoleDirectory)? = nil) -> AdminStores {
        AdminStores(
            buckets: buckets, credentials: credentials, grants: grants, grantBulk: grantBulk, members: members,
            quotas: quotas, issuers: issuers, apiKeys: apiKeys, tickets: tickets, ticketRevocation: tickets,
            offboarding: offboarding, groups: StubGroups(), quotaCounters: StubQuotaCounters(),
            dependency: StubDependency(buckets: buckets, credentials: credentials), gateways: StubGateways(),
            audit: StubAudit(), console: console ?? StubConsoleDirectory(issuers: issuers, buckets: buckets)
        )
    }
}

extension MemoryStore<Ticket>: TicketRevocation {
    func lastRevocation(of principal: Principal) async throws(GatewayError) -> Date? { nil }

    func revokeTickets(of principal: Principal, by change: ChangeContext) async throws(GatewayError) -> Int {
        let ids = try await list(ListQuery(pageSize: 1000)).items.filter { $0.principal == principal }
            .map { $0.id.uuidString.lowercased() }
        for id in ids { try await delete(id, by: change) }
        return ids.count
    }
}

/// One live gateway, and one that has only begun to run.
struct StubGateways: GatewayDirectory {
    func gateways(_ query: ListQuery) async throws(GatewayError) -> Page<KnownGateway> {
        let row = KnownGateway(
            id: StubPolicy.quotaID, version: "1.0.0", startedAt: TestGateway.now, lastSeenAt: TestGateway.now,
            isLive: true, position: StubPolicy.position, clockDifference: -0.0425, masterKeyIDs: ["k2", "k1"])
        var other = row
        other.id = StubPolicy.grantID
        other.isLive = false
        other.position = nil
        other.clockDifference = 1.5
        return Page(items: [row, other], nextPageToken: nil)
    }
}

/// One group.
struct StubGroups: GroupDirectory {
    func groups(_ query: ListQuery) async throws(GatewayError) -> Page<GroupSummary> {
        let row = GroupSummary(group: try .group("staff"), memberCount: 2, grantCount: 1)
        return Page(items: [row], nextPageToken: query.pageToken == nil ? "next" : nil)
    }
}

/// Reports every quota as used by one of its holders.
struct StubQuotaCounters: QuotaCounterStore {
    func summaries(of quotas: [UUID]) async throws(GatewayError) -> [UUID: QuotaUseSummary] { [:] }

    func uses(
        of quota: UUID, holder: String?, after place: QuotaUse.Place?, limit: Int
    ) async throws(GatewayError) -> [QuotaUse] {
        [QuotaUse(holder: try .user("alice"), used: 7, reserved: 3)]
    }

    func reset(
        _ quota: UUID, of holders: QuotaHolders, by change: ChangeContext
    ) async throws(GatewayError) -> QuotaReset {
        QuotaReset(holders: 1, released: 7)
    }
}

/// A credential with one bucket, and the use of credentials in memory.
struct StubDependency: CredentialDependency {
    let buckets: MemoryStore<Bucket>
    let credentials: MemoryStore<StorageCredential>

    func use(of credential: UUID, at endpoint: String) async throws(GatewayError) -> CredentialUse {
        _ = try await credentials.get(credential.lowercaseText)
        let live = try await buckets.list(ListQuery(pageSize: 1000)).items
        let wasUsed = buckets.history.withLock { $0.contains { $0.row.credentialID == credential } }
        let makers = credentials.history.withLock { history in
            Set(history.filter { $0.row.id == credential }.map(\.maker))
        }
        return CredentialUse(
            signsForEndpoint: live.contains { $0.credentialID == credential && $0.endpoint == endpoint },
            soleMaker: wasUsed || makers.count != 1 ? nil : makers.first)
    }

    func dependents(of credential: UUID) async throws(GatewayError) -> CredentialDependents {
        CredentialDependents(
            buckets: [try BucketName("photos")], alive: .init(count: 1, until: TestGateway.now),
            aliveOfPreviousKey: .init(count: 0, until: nil))
    }
}

/// An audit of one line.
struct StubAudit: AuditReader {
    func changes(_ query: ListQuery) async throws(GatewayError) -> Page<AuditRecord> {
        let row = AuditRecord(
            id: StubPolicy.grantID, at: TestGateway.now, actor: "user:root", requestID: "request-1",
            credential: "apikey:abcdefghij01",
            operation: "update", kind: "Quota", resourceID: StubPolicy.quotaID.lowercaseText,
            before: #"{"limit": 1}"#, after: #"{"limit": 2, "note": "a\nb"}"#)
        return Page(items: [row], nextPageToken: query.pageToken == nil ? "next" : nil)
    }
}

/// Opens sessions that show their own order.
final class StubOpener: SessionOpener {
    private let failure: GatewayError?
    let orders = Mutex<[SessionOrder]>([])

    init(failure: GatewayError? = nil) {
        self.failure = failure
    }

    func open(_ order: SessionOrder) async throws(GatewayError) -> SessionCredential {
        orders.withLock { $0.append(order) }
        if let failure { throw failure }
        return SessionCredential(
            accessKeyID: "STS.N1", secretAccessKey: Secret("session-secret"), sessionToken: Secret("session-token/+="),
            expiresAt: TestGateway.now.addingTimeInterval(TimeInterval(order.duration) + 0.75))
    }
}

import FoundationEssentials
import GatewayCore
import LibCrypto

/// What the people of the demo's week may do: the groups, grants, quotas and keys, and the changes that admins make to
/// them. All pass through the stores of the admin API, at the time that the clock of the week shows.
struct WeekRules: Sendable {
    let stores: AdminStores
    let clock: WeekClock
    let dice: Dice

    /// Who sets up the demo's week and changes it.
    private enum Admin: String { case olivia, samir }

    private func change(by admin: Admin) throws -> ChangeContext {
        ChangeContext(
            actor: try .user(admin.rawValue), requestID: newID().uuidString.lowercased(), isAudited: true)
    }

    private func newID() -> UUID { .version7(at: clock.now, randomBytes: dice.bytes(count: 10)) }

    /// Creates what is in force when the week begins.
    func make() async throws {
        for group in WeekGroup.allCases {
            for name in group.members { try await join(name, group) }
        }
        try await allowRedirects()
        try await makeGrants()
        try await makeQuotas()
    }

    private func join(_ name: String, _ group: WeekGroup, by admin: Admin = .olivia) async throws {
        let member = GroupMember(group: try Principal(group.principal), member: try .user(name), createdAt: clock.now)
        _ = try await stores.members.create(Validated(member), by: change(by: admin))
    }

    private func allowRedirects() async throws {
        let bucket = try await stores.buckets.get(DemoWorld.bucket)
        var row = bucket.row
        row.allowsRedirects = true
        _ = try await stores.bucketChanges.update(
            Validated(row), over: bucket, showing: ShownSecrets(), by: change(by: .olivia))
    }

    private func makeGrants() async throws {
        try await grant(
            "group:photographers", "photos/", [.putObject, .getObject], note: "Pictures of the day",
            GrantConditions(contentTypes: ["image/*"], maxBytes: 25 << 20))
        try await grant("group:editors", "photos/", [.getObject], note: "Picture desk")
        try await grant(
            "group:editors", "videos/", [.putObject, .getObject], in: DemoWorld.ossBucket, note: "Video desk",
            GrantConditions(contentTypes: ["video/*"], maxBytes: 5 << 30))
        try await grant("group:analysts", "reports/", [.putObject, .getObject], note: "Figures")
        try await grant(
            "group:mobile", "app/${sub}/", [.putObject, .getObject], in: DemoWorld.ossBucket,
            note: "Everybody's own folder in the app", GrantConditions(allowResponseContentType: true))
        try await grant(
            "group:partners", "reports/", [.getObject], note: "Monthly figures", GrantConditions(maxTTL: 300))
        try await grant("group:partners", "reports/board/", [.getObject], effect: .deny, note: "Not for partners")
        try await grant(
            "group:operations", "reports/exports/", [.putObject, .getObject], note: "Nightly export",
            GrantConditions(maxBytes: 1 << 30))
        // Nobody ever uses this one.
        try await grant("group:interns", "photos/incoming/", [.putObject], note: "Summer interns")
    }

    private func grant(
        _ principal: String, _ prefix: String, _ actions: Set<Action>, in bucket: String = DemoWorld.bucket,
        effect: Grant.Effect = .allow, note: String, _ conditions: GrantConditions = GrantConditions(),
        notAfter: Date? = nil, by admin: Admin = .olivia
    ) async throws {
        let isTemplate = prefix.contains("${")
        let grant = Grant(
            id: newID(), principal: try Principal(principal), bucket: try BucketName(bucket),
            prefix: try isTemplate ? KeyPrefix(template: prefix) : KeyPrefix(literal: prefix), actions: actions,
            effect: effect, conditions: conditions, notAfter: notAfter, note: note, createdBy: "user:\(admin.rawValue)",
            createdAt: clock.now)
        _ = try await stores.grants.create(Validated(grant), by: change(by: admin))
    }

    private func makeQuotas() async throws {
        try await quota("group:photographers", in: DemoWorld.bucket, .bytes, .month, .shared, limit: 1 << 40)
        try await quota("group:photographers", in: DemoWorld.bucket, .bytes, .day, .each, limit: 4 << 30)
        try await quota("group:editors", .urls, .day, .each, limit: 1_500)
        try await quota("group:analysts", in: DemoWorld.bucket, .urls, .month, .shared, limit: 20_000)
        try await quota("group:mobile", in: DemoWorld.ossBucket, .urls, .day, .each, limit: 30)
        try await quota("group:partners", .urls, .hour, .each, limit: 12)
        try await quota("group:partners", .urls, .total, .shared, limit: 5_000)
        try await quota("group:operations", in: DemoWorld.bucket, .bytes, .total, .shared, limit: 1 << 42)
    }

    private func quota(
        _ principal: String, in bucket: String? = nil, _ metric: Quota.Metric, _ period: Quota.Period,
        _ sharing: Quota.Sharing, limit: Int64
    ) async throws {
        let quota = Quota(
            id: newID(), principal: try Principal(principal), bucket: try bucket.map { try BucketName($0) },
            action: metric == .bytes ? .putObject : nil, metric: metric, period: period, sharing: sharing, limit: limit,
            createdAt: clock.now)
        _ = try await stores.quotas.create(Validated(quota), by: change(by: .olivia))
    }
}

extension WeekRules {
    /// The changes that admins make in the course of the week, with the part of the week after which each comes.
    var changes: [(after: Double, make: @Sendable () async throws -> Void)] {
        [
            (0.12, { try await join("kofi", .editors, by: .samir) }),
            (
                0.25,
                {
                    try await grant(
                        "user:old-laptop", "photos/", [.getObject], note: "Until it is returned",
                        notAfter: clock.now.addingTimeInterval(86_400), by: .samir)
                }
            ),
            (
                0.4,
                {
                    try await grant(
                        "user:wanda", "photos/archive/", [.getObject], note: "Asked for by the picture desk",
                        by: .olivia)
                }
            ),
            (0.55, { try await setLimit(of: "group:mobile", to: 24, by: .samir) }),
            (0.7, { try await removeGrant(of: "user:wanda", at: "photos/archive/") }),
            (0.8, { try await join("nadia", .partners, by: .olivia) }),
            (
                0.85,
                {
                    let id = GroupMember(
                        group: try Principal("group:partners"), member: try .user("nadia"), createdAt: clock.now
                    ).identifier
                    try await stores.members.delete(id, by: change(by: .samir))
                }
            ),
        ]
    }

    private func removeGrant(of principal: String, at prefix: String) async throws {
        let query = ListQuery(
            filters: ["principal": principal, "bucket": DemoWorld.bucket, "prefix": prefix], pageSize: 1)
        for grant in try await stores.grants.list(query).items {
            try await stores.grants.delete(grant.id.uuidString.lowercased(), by: change(by: .samir))
        }
    }

    private func setLimit(of principal: String, to limit: Int64, by admin: Admin) async throws {
        let query = ListQuery(filters: ["principal": principal, "metric": "urls"], pageSize: 1)
        for quota in try await stores.quotas.list(query).items {
            try await set(limit, of: quota, by: admin)
        }
    }

    private func set(_ limit: Int64, of quota: Quota, by admin: Admin) async throws {
        let held = try await stores.quotas.get(quota.id.uuidString.lowercased())
        var row = held.row
        row.limit = limit
        _ = try await stores.quotas.update(Validated(row), from: held.revision, by: change(by: admin))
    }

    /// Creates what needs attention when the week ends: quotas near their limit, and keys that expire soon.
    func finish() async throws {
        let shares: [(principal: String, period: String, share: Double)] = [
            ("group:photographers", "month", 0.93), ("group:analysts", "month", 0.86),
            ("group:partners", "total", 0.98), ("group:operations", "total", 0.81),
        ]
        for (principal, period, share) in shares {
            let query = ListQuery(filters: ["principal": principal, "period": period], pageSize: 1)
            for quota in try await stores.quotas.list(query).items {
                let used = try await stores.quotaCounters.summaries(of: [quota.id])[quota.id]?.used ?? 0
                guard used > 0 else { continue }
                try await set(Int64((Double(used) / share).rounded(.up)), of: quota, by: .samir)
            }
        }
        try await makeKeys()
    }

    private func makeKeys() async throws {
        // The dice are known to everybody; keys have to be secret.
        let keyChanges = stores.apiKeyChanges(now: { [clock] in clock.now }) { try randomBytes(count: $0) }
        for (name, user, days) in [("Photo booth in the lobby", "amara", 4.0), ("Report mailer", "kofi", 300)] {
            let key = APIKey(
                id: newID(), prefix: "", hash: Digest(), name: name, principal: try .user(user),
                expiresAt: clock.now.addingTimeInterval(days * 86_400), createdAt: clock.now)
            _ = try await keyChanges.create(Validated(key), by: change(by: .olivia))
        }
        let credential = StorageCredential(
            id: newID(), name: "partner-transfer", accessKeyID: "ASIADEMOEXAMPLE",
            secretAccessKey: Secret("not-a-real-secret"), sessionToken: Secret("not-a-real-token"),
            expiresAt: clock.now.addingTimeInterval(5 * 86_400), createdAt: clock.now)
        _ = try await stores.credentials.create(Validated(credential), by: change(by: .olivia))
    }
}

import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Filters of lists, page tokens that are bound to them, and groups.
@Suite struct FilterTests {
    @Test(.database(.migrated)) func grantsAreFoundByEachOfTheirFilters() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        func make(_ change: (inout Grant) -> Void) async throws -> UUID {
            var grant = try Grant.sample()
            grant.notBefore = nil
            grant.notAfter = nil
            change(&grant)
            return try await world.stores.grants.create(grant, by: AdminWorld.change).id
        }
        let always = try await make { $0.effect = .deny }
        let writing = try await make { $0.actions = [.putObject] }
        let early = try await make { $0.notAfter = Date(timeIntervalSince1970: 1_800_000_000) }
        let late = try await make { $0.notBefore = Date(timeIntervalSince1970: 1_800_000_000) }
        func found(_ filters: [String: String]) async throws -> Set<UUID> {
            Set(try await world.stores.grants.list(ListQuery(filters: filters)).items.map(\.id))
        }
        #expect(try await found(["action": "GetObject"]) == [always, early, late])
        #expect(try await found(["action": "PutObject"]) == [always, writing, early, late])
        #expect(try await found(["effect": "deny"]) == [always])
        // A grant is valid from its first instant, and no longer at its end.
        #expect(try await found(["activeAt": "2027-01-15T07:59:59.999Z"]) == [always, writing, early])
        #expect(try await found(["activeAt": "2027-01-15T08:00:00Z"]) == [always, writing, late])
        #expect(
            try await found(["activeAt": "2027-01-15T08:00:00Z", "effect": "allow", "action": "GetObject"]) == [late])
        await #expect(throws: GatewayError.self) { try await found(["activeAt": "yesterday"]) }
    }

    @Test(.database(.migrated)) func otherRowsAreFoundByTheirFilters() async throws {
        let world = try AdminWorld()
        let stores = world.stores
        try await world.makeBucket()
        #expect(try await stores.buckets.list(ListQuery(filters: ["scheme": "aws-v4"])).items.count == 1)
        #expect(try await stores.buckets.list(ListQuery(filters: ["scheme": "aws-v2"])).items.isEmpty)
        #expect(try await stores.credentials.list(ListQuery(filters: ["kind": "access-key"])).items.count == 1)
        #expect(try await stores.credentials.list(ListQuery(filters: ["kind": "service-account"])).items.isEmpty)
        _ = try await stores.quotas.create(.sample(limit: 1), by: AdminWorld.change)
        let quota = try #require(await stores.quotas.list(ListQuery()).items.first)
        for (filters, count) in [
            (["metric": quota.metric.rawValue, "period": quota.period.rawValue], 1), (["period": "minute"], 0),
            (["action": "GetObject"], quota.action == .getObject ? 1 : 0),
        ] {
            #expect(try await stores.quotas.list(ListQuery(filters: filters)).items.count == count, "\(filters)")
        }
        _ = try await stores.apiKeys.create(.sample(), by: AdminWorld.change)
        for (filters, count) in [
            (["prefix": "abcdefghij01"], 1), (["prefix": "abcdefghij02"], 0), (["role": "auditor"], 1),
            (["role": "admin"], 0), (["activeAt": "2033-05-18T03:33:19Z"], 1),
            (["activeAt": "2033-05-18T03:33:20Z"], 0), (["expiresBefore": "2033-05-18T03:33:20Z"], 0),
            (["expiresBefore": "2033-05-18T03:33:21Z"], 1),
        ] {
            #expect(try await stores.apiKeys.list(ListQuery(filters: filters)).items.count == count, "\(filters)")
        }
    }

    @Test(.database(.migrated)) func `Temporary credentials are found before they end`() async throws {
        let stores = try AdminWorld().stores
        for (name, days) in [("soon", 2.0), ("late", 40), ("never", nil)] {
            let credential = StorageCredential(
                id: UUID(), name: name, accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("not-a-real-secret"),
                sessionToken: days.map { _ in Secret("not-a-real-token") },
                expiresAt: days.map { Date(timeIntervalSinceNow: $0 * 86_400) }, createdAt: .now)
            _ = try await stores.credentials.create(credential, by: AdminWorld.change)
        }
        func found(beforeDays days: Double) async throws -> Set<String> {
            let end = Date(timeIntervalSinceNow: days * 86_400).formatted(.iso8601)
            return Set(
                try await stores.credentials.list(ListQuery(filters: ["expiresBefore": end])).items.map(\.name))
        }
        #expect(try await found(beforeDays: 1) == [])
        #expect(try await found(beforeDays: 14) == ["soon"])
        #expect(try await found(beforeDays: 100) == ["soon", "late"])
    }

    @Test(.database(.migrated)) func `Quotas near their limit are those of which one holder has used so much now`()
        async throws
    {
        let world = try AdminWorld()
        let stores = world.stores
        let limits: [(principal: String, limit: Int64)] = [
            ("user:a", 100), ("user:b", 100), ("user:c", 100), ("user:d", 0),
        ]
        for (principal, limit) in limits {
            _ = try await stores.quotas.create(
                .sample(limit: limit, principal: try Principal(principal)), by: AdminWorld.change)
        }
        // The second has two holders, who are far from the limit each; the third was used in an earlier period.
        try await world.connection.runScript(
            """
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            SELECT q.id, u.holder, quota_period_start(q.period, now() - u.ago), false, u.used
            FROM quotas q
            JOIN (VALUES
                ('user:a', 'user:a', interval '0', 80), ('user:b', 'user:b', interval '0', 60),
                ('user:b', 'user:x', interval '0', 60), ('user:c', 'user:c', interval '40 days', 100)
            ) AS u (principal, holder, ago, used) ON u.principal = q.principal
            """)
        func near(_ share: String) async throws -> [String] {
            try await stores.quotas.list(ListQuery(filters: ["nearLimit": share])).items.map(\.principal.rawValue)
                .sorted()
        }
        #expect(try await near("0.8") == ["user:a"])
        #expect(try await near("0.81") == [])
        #expect(try await near("0.6") == ["user:a", "user:b"])
        await #expect(throws: GatewayError.self) { try await near("much") }
    }

    @Test(.database(.migrated)) func aTokenGoesOnUnderItsOwnFiltersOnly() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        for (index, name) in ["user:a", "user:a", "user:b", "user:b"].enumerated() {
            _ = try await world.stores.grants.create(.sample(name, maxTTL: index + 1), by: AdminWorld.change)
        }
        func page(_ filters: [String: String], _ token: String?) async throws -> Page<Grant> {
            try await world.stores.grants.list(ListQuery(filters: filters, pageSize: 1, pageToken: token))
        }
        let token = try #require(await page(["principal": "user:a"], nil).nextPageToken)
        #expect(try await page(["principal": "user:a"], token).items.count == 1)
        for filters in [
            [:], ["principal": "user:b"], ["principal": "user:a", "effect": "allow"], ["bucket": "user:a"],
        ] {
            let error = await #expect(throws: GatewayError.self) { try await page(filters, token) }
            guard case .invalidArgument("pageToken", _) = error else {
                Issue.record("\(filters): \(String(describing: error))")
                return
            }
        }
    }

    @Test(.database(.migrated)) func groupsAreThoseWithMembersOrGrants() async throws {
        let world = try AdminWorld()
        let stores = world.stores
        try await world.makeBucket()
        func add(_ user: String, to group: String) async throws {
            let row = GroupMember(group: try .group(group), member: try .user(user), createdAt: Date())
            _ = try await stores.members.create(row, by: AdminWorld.change)
        }
        try await add("alice", to: "b")
        try await add("bob", to: "b")
        try await add("alice", to: "ÿ")
        for (index, principal) in ["group:a", "group:b", "group:b", "user:c", "*"].enumerated() {
            _ = try await stores.grants.create(.sample(principal, maxTTL: index + 1), by: AdminWorld.change)
        }
        let gone = try await stores.grants.create(.sample("group:gone"), by: AdminWorld.change)
        try await stores.grants.delete(gone.id.lowercaseText, by: AdminWorld.change)
        let all = [("group:a", 0, 1), ("group:b", 2, 2), ("group:ÿ", 1, 0)].map { "\($0.0) \($0.1) \($0.2)" }
        func pages(_ size: Int, _ filters: [String: String] = [:]) async throws -> [String] {
            var rows: [String] = []
            var token: String?
            repeat {
                let page = try await stores.groups.groups(ListQuery(filters: filters, pageSize: size, pageToken: token))
                #expect(page.items.count <= size)
                rows += page.items.map { "\($0.group.rawValue) \($0.memberCount) \($0.grantCount)" }
                token = page.nextPageToken
            } while token != nil && rows.count < 10
            return rows
        }
        for size in 1...4 { #expect(try await pages(size) == all) }
        for size in 1...3 { #expect(try await pages(size, ["member": "user:alice"]) == [all[1], all[2]]) }
        #expect(try await pages(3, ["member": "user:nobody"]).isEmpty)
        for query in [
            ListQuery(filters: ["bucket": "demo"]), ListQuery(filters: ["member": "a\0b"]), ListQuery(pageToken: "x"),
        ] {
            await #expect(throws: GatewayError.self) { try await stores.groups.groups(query) }
        }
    }
}

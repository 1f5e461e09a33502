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
            (["activeAt": "2033-05-18T03:33:20Z"], 0),
        ] {
            #expect(try await stores.apiKeys.list(ListQuery(filters: filters)).items.count == count, "\(filters)")
        }
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

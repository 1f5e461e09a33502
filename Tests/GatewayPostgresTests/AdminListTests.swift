import Foundation
import GatewayCore
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Pages, filters and tokens of lists.
@Suite struct AdminListTests {
    /// Reads all pages of a list.
    private func pages<Row: ManagedRow>(
        of store: PostgresAdminStore<Row>, size: Int, filters: [String: String] = [:]
    ) async throws -> [[Row]] {
        var pages: [[Row]] = []
        var token: String?
        repeat {
            let page = try await store.list(ListQuery(filters: filters, pageSize: size, pageToken: token))
            pages.append(page.items)
            token = page.nextPageToken
        } while token != nil && pages.count < 100
        return pages
    }

    @Test(.database(.migrated)) func grantsComeInPagesOnceEach() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        try await world.makeBucket("photos")
        var ids: Set<UUID> = []
        for index in 0..<12 {
            // Many rows share one prefix, so that a page ends among equal prefixes. The names contain bytes that base64
            // writes with '+' and '/'.
            let grant = try Grant.sample(
                "user:\(index % 2 == 0 ? "ÿþ?>~" : "bob")", index % 3 == 0 ? "" : "équipe/",
                bucket: index % 4 == 0 ? "photos" : "demo", maxTTL: index + 1)
            ids.insert(try await world.stores.grants.create(grant, by: AdminWorld.change).id)
        }
        for size in [1, 3, 4, 12, 13] {
            let pages = try await pages(of: world.stores.grants, size: size)
            #expect(pages.dropLast().allSatisfy { $0.count == size })
            #expect(pages.last?.isEmpty == false)
            let rows = pages.flatMap(\.self)
            #expect(rows.count == 12 && Set(rows.map(\.id)) == ids)
            let keys = rows.map { [$0.principal.rawValue, $0.bucket.rawValue, $0.prefix.text, $0.id.uuidString] }
            #expect(
                keys.elementsEqual(
                    keys.sorted { $0.lexicographicallyPrecedes($1) { $0.utf8.lexicographicallyPrecedes($1.utf8) } }))
        }
        let some = try await pages(
            of: world.stores.grants, size: 2, filters: ["principal": "user:bob", "bucket": "demo", "prefix": ""]
        ).flatMap(\.self)
        #expect(some.count == 2)
        #expect(some.allSatisfy { $0.principal.rawValue == "user:bob" && $0.prefix.text == "" })
    }

    @Test(.database(.migrated)) func everyListKnowsItsFiltersAndGoesOn() async throws {
        let world = try AdminWorld()
        let stores = world.stores
        let first = try await world.makeBucket("alpha")
        try await world.makeBucket("beta0")
        #expect(try await pages(of: stores.buckets, size: 1).map { $0.map(\.name.rawValue) } == [["alpha"], ["beta0"]])
        let filter = ["provider": "s3", "credentialID": first.credentialID.uuidString]
        #expect(try await pages(of: stores.buckets, size: 1, filters: filter).flatMap(\.self) == [first])
        #expect(try await pages(of: stores.buckets, size: 1, filters: ["provider": "aws"]).flatMap(\.self).isEmpty)
        #expect(
            try await pages(of: stores.credentials, size: 1).flatMap(\.self).map(\.name) == ["of beta0", "of alpha"])
        #expect(
            try await pages(of: stores.credentials, size: 1, filters: ["name": "of beta0"]).flatMap(\.self).count == 1)
        for name in ["user:a", "user:b", "user:c"] {
            let group = try Principal("group:g")
            _ = try await stores.members.create(
                GroupMember(group: group, member: try Principal(name), createdAt: Date()), by: AdminWorld.change)
            _ = try await stores.quotas.create(
                .sample(limit: 1, principal: try Principal(name)), by: AdminWorld.change)
            _ = try await stores.apiKeys.create(
                .sample(prefix: "key" + name, principal: name), by: AdminWorld.change)
            _ = try await stores.issuers.create(.sample("https://\(name)", prefix: name), by: AdminWorld.change)
        }
        let members = try await pages(of: stores.members, size: 2, filters: ["group": "group:g"])
        #expect(members.map { $0.map(\.member.rawValue) } == [["user:a", "user:b"], ["user:c"]])
        #expect(try await pages(of: stores.members, size: 2, filters: ["group": "group:h"]) == [[]])
        #expect(try await pages(of: stores.members, size: 2, filters: ["member": "user:b"]).flatMap(\.self).count == 1)
        #expect(try await pages(of: stores.quotas, size: 2).map(\.count) == [2, 1])
        #expect(try await pages(of: stores.quotas, size: 2, filters: ["principal": "user:b"]).map(\.count) == [1])
        #expect(try await pages(of: stores.quotas, size: 2, filters: ["bucket": "alpha"]).map(\.count) == [0])
        #expect(try await pages(of: stores.apiKeys, size: 2).map(\.count) == [2, 1])
        #expect(try await pages(of: stores.apiKeys, size: 2, filters: ["principal": "user:b"]).map(\.count) == [1])
        #expect(try await pages(of: stores.issuers, size: 2).map(\.count) == [2, 1])
        #expect(try await pages(of: stores.issuers, size: 2, filters: ["issuer": "https://user:b"]).map(\.count) == [1])
    }

    @Test(.database(.migrated)) func refusesFiltersAndTokensThatAreNotOurs() async throws {
        let world = try AdminWorld()
        try await world.makeBucket("alpha")
        try await world.makeBucket("beta0")
        let token = try #require(await world.stores.buckets.list(ListQuery(pageSize: 1)).nextPageToken)
        for (filters, field) in [
            (["name": "alpha"], "name"), (["provider": "s\03"], "provider"), (["credentialID": "7"], "credentialID"),
        ] {
            let error = await #expect(throws: GatewayError.self) {
                try await world.stores.buckets.list(ListQuery(filters: filters))
            }
            guard case .invalidArgument(field, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        for text in ["", "x", token + "A", "QnVja2V0", String(token.dropLast()), "QnVja2V0H2EfYg", "\u{e9}"] {
            let error = await #expect(throws: GatewayError.self) {
                try await world.stores.buckets.list(ListQuery(pageToken: text))
            }
            guard case .invalidArgument("pageToken", _) = error else {
                Issue.record("\(text): \(String(describing: error))")
                return
            }
        }
        // A token of one list is not valid for another.
        await #expect(throws: GatewayError.self) {
            try await world.stores.quotas.list(ListQuery(pageToken: token))
        }
        for id in ["7", "a\0b", "' OR true", "", "00000000-0000-0000-0000-000000000000"] {
            await #expect(throws: GatewayError.notFound(.grant)) { try await world.stores.grants.get(id) }
            await #expect(throws: GatewayError.notFound(.groupMember)) { try await world.stores.members.get(id) }
            await #expect(throws: GatewayError.notFound(.bucket)) { try await world.stores.buckets.get(id) }
        }
    }
}

import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import TestSupport
import Testing

@testable import GatewayPostgres

/// Who may do what, page by page, compared with a reading of all rows.
@Suite struct AccessRowsTests {
    @Test(.database(.migrated)) func `pages hold what a reading of all grants finds`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        try await world.makeBucket("other")
        var random = SeededGenerator(seed: 7)
        let grants = try await fill(world, &random)
        let rows = try access()
        let bucket = try BucketName("demo")
        // No value of a variable is a segment such as `a%b`: it might change what a key or a condition means.
        for key in [
            "a/b/c", "a", "users/alice/x", "b/users/bob", "users/a%b/x", "a%b", "users/a\\b", "users/a*/x", "a?/b",
            "$a/users", "users/a\u{85}/x", "users/é/x",
        ] {
            let reaching = grants.filter { $0.bucket == bucket && Self.covers($0, key) }
            let found = try await all {
                try await rows.principals(
                    reaching: ObjectKey(key), in: bucket, includesMembers: false, $0)
            }
            #expect(found == Self.sorted(Set(reaching.map(\.principal))), "\(key)")
            let groups = Set(reaching.map(\.principal).filter(\.isGroup))
            let members = try groups.isEmpty ? [] : [Principal("user:m1"), Principal("user:m2")]
            let expanded = try await all {
                try await rows.principals(
                    reaching: ObjectKey(key), in: bucket, includesMembers: true, $0)
            }
            #expect(expanded == Self.sorted(Set(reaching.map(\.principal) + members)), "\(key)")
            let own = try await rows.grants(of: found, reaching: ObjectKey(key), in: bucket, limit: 1000)
            #expect(Set(own.map(\.id)) == Set(reaching.map(\.id)) && own.count == reaching.count)
            let listed = try await all { query in
                var query = query
                query.filters = ["bucket": "demo", "covers": key]
                return try await world.stores.grants.list(query)
            }
            #expect(listed.map(\.id) == own.map(\.id), "\(key)")
            let allows = try await all { query in
                var query = query
                query.filters = ["bucket": "demo", "covers": key, "effect": "deny"]
                return try await world.stores.grants.list(query)
            }
            #expect(allows.map(\.id) == own.filter { $0.effect == .deny }.map(\.id))
        }
        for prefix in ["", "a/", "a/b/", "users/", "users/alice/", "users/a%b/", "nothing/"] {
            let found = try await all { try await rows.grants(around: ExactText(prefix), in: bucket, $0) }
            let expected = grants.filter { $0.bucket == bucket && Self.relation(of: $0, to: prefix) != nil }
            #expect(Set(found.map(\.grant.id)) == Set(expected.map(\.id)) && found.count == expected.count, "\(prefix)")
            #expect(found.allSatisfy { $0.relation == Self.relation(of: $0.grant, to: prefix) }, "\(prefix)")
            let places = found.map { Array($0.grant.prefix.text.utf8) }
            #expect(zip(places, places.dropFirst()).allSatisfy { !$1.lexicographicallyPrecedes($0) })
        }
        let acting = try [Principal("user:alice"), .group("g"), .anyone]
        for place in [nil, bucket] {
            let found = try await all { try await rows.grants(of: acting, in: place, $0) }
            let expected = grants.filter { acting.contains($0.principal) && (place == nil || place == $0.bucket) }
            #expect(Set(found.map(\.id)) == Set(expected.map(\.id)) && found.count == expected.count)
            #expect(found.map(\.principal) == Self.sorted(found.map(\.principal)))
        }
        #expect(try await rows.memberCounts(of: [.group("g"), .group("none")]) == [.group("g"): 2, .group("none"): 0])
    }

    @Test(.database(.migrated)) func `a token continues the same question only`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        try await world.makeBucket("other")
        var random = SeededGenerator(seed: 8)
        _ = try await fill(world, &random)
        let rows = try access()
        let bucket = try BucketName("demo")
        let query = ListQuery(filters: ["bucket": "demo", "key": "a"], pageSize: 1)
        let page = try await rows.principals(reaching: ObjectKey("a"), in: bucket, includesMembers: false, query)
        var other = ListQuery(filters: ["bucket": "demo", "key": "b"], pageSize: 1, pageToken: page.nextPageToken)
        #expect(page.nextPageToken != nil)
        await #expect(throws: GatewayError.self) {
            try await rows.principals(reaching: ObjectKey("b"), in: bucket, includesMembers: false, other)
        }
        other.filters = ["bucket": "demo", "prefix": ""]
        await #expect(throws: GatewayError.self) { try await rows.grants(around: ExactText(""), in: bucket, other) }
    }

    private func access() throws -> PostgresAccess {
        let database = try TestDatabase.current
        let settings = PostgresAdminStores.sessionSettings + [("role", "sluice_gateway")]
        return PostgresAccess(
            pool: PostgresPool(try database.configuration(sessionSettings: settings), size: 2, logger: .silent),
            logger: .silent)
    }

    /// Makes grants at random places, and a group of two.
    private func fill(_ world: AdminWorld, _ random: inout SeededGenerator) async throws -> [Grant] {
        for member in ["user:m1", "user:m2"] {
            let row = GroupMember(group: try .group("g"), member: try Principal(member), createdAt: Date())
            _ = try await world.stores.members.create(row, by: AdminWorld.change)
        }
        var grants: [Grant] = []
        let pool = ["a", "b", "users", "alice", "${sub}", "${claim:team}"]
        let names = ["user:alice", "user:bob", "user:m1", "group:g", "*"]
        for _ in 0..<250 {
            let parts = (0..<Int.random(in: 0...3, using: &random)).map { _ in pool.randomElement(using: &random) ?? "a"
            }
            let text = parts.isEmpty ? "" : parts.joined(separator: "/") + (Bool.random(using: &random) ? "/" : "")
            var grant = try Grant.sample(
                names.randomElement(using: &random) ?? "*", text,
                bucket: Int.random(in: 0..<5, using: &random) == 0 ? "other" : "demo", template: text.contains("${"))
            if Bool.random(using: &random) {
                grant.effect = .deny
                grant.conditions = GrantConditions()
            }
            do {
                grants.append(try await world.stores.grants.create(grant, by: AdminWorld.change).row)
            } catch {
                #expect(grants.contains { error == .alreadyExists(.grant, id: $0.id.lowercaseText) })
            }
        }
        #expect(grants.count > 100 && grants.count < 250)
        return grants
    }

    /// Reads all pages of a list, of two rows each.
    private func all<Item: Sendable>(_ read: (ListQuery) async throws -> Page<Item>) async throws -> [Item] {
        var items: [Item] = []
        var query = ListQuery(pageSize: 2)
        repeat {
            let page = try await read(query)
            #expect(page.items.count <= 2)
            items += page.items
            query.pageToken = page.nextPageToken
        } while query.pageToken != nil
        return items
    }

    private static func sorted(_ principals: some Sequence<Principal>) -> [Principal] {
        principals.sorted { $0.rawValue.utf8.lexicographicallyPrecedes($1.rawValue.utf8) }
    }

    /// Whether a grant covers a key, where a variable may have any value. A variable without a usable value ends the
    /// text of a grant that denies.
    private static func covers(_ grant: Grant, _ key: String) -> Bool {
        var template = grant.prefix.text.components(separatedBy: "/")
        let parts = key.components(separatedBy: "/")
        guard grant.prefix.text != "" else { return true }
        if grant.effect == .deny, let first = template.firstIndex(where: { $0.hasPrefix("${") }) {
            return parts.count > first && template.prefix(first).elementsEqual(parts.prefix(first))
        }
        let isWide = template.last == ""
        if isWide { template.removeLast() }
        guard isWide ? parts.count > template.count : parts.count == template.count else { return false }
        return fits(template, parts)
    }

    /// Whether segments of a template fit those of a place, as far as both go.
    private static func fits(_ template: some Sequence<String>, _ parts: some Sequence<String>) -> Bool {
        zip(template, parts).allSatisfy { segment, part in
            guard segment.hasPrefix("${") else { return segment == part }
            return !part.unicodeScalars.contains { scalar in
                "/\\*?$%".unicodeScalars.contains(scalar) || scalar.properties.generalCategory == .control
            }
        }
    }

    private static func relation(of grant: Grant, to prefix: String) -> PlacedGrant.Relation? {
        // A key that nothing names, so that only prefixes above cover it.
        let mayBeWide = grant.prefix.text.hasSuffix("/") || grant.prefix.text.isEmpty || grant.effect == .deny
        if mayBeWide, covers(grant, prefix + "key of nobody") { return .covers }
        let parts = prefix.components(separatedBy: "/").dropLast()
        let template = grant.prefix.text.components(separatedBy: "/")
        let count = template.count - (template.last == "" ? 1 : 0)
        guard count > parts.count else { return nil }
        return fits(template, parts) ? .below : nil
    }
}

import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import TestSupport
import Testing

@testable import GatewayPostgres

/// Imports and exports of grants.
@Suite(.timeLimit(.minutes(5))) struct GrantImportTests {
    /// The line and the error with which an import is refused.
    private func refusal(_ body: () async throws -> Void) async -> ItemRefusal? {
        do {
            try await body()
        } catch GatewayError.itemsRefused(let first, _) {
            return first
        } catch {
            Issue.record("\(error)")
        }
        return nil
    }

    private func world() async throws -> AdminWorld {
        let world = try AdminWorld()
        try await world.makeBucket()
        try await world.makeBucket("photos")
        return world
    }

    @Test(.database(.migrated)) func anExportImportedAgainChangesNothing() async throws {
        let world = try await world()
        var odd = try Grant.sample("user:é\u{301} \"'\\", "=-@,\t/".replacing("\t", with: " "), bucket: "photos")
        odd.notAfter = Date(timeIntervalSince1970: 3_000_000_000.123456)
        try await world.apply([
            (nil, .sample()), (nil, .sample("user:bob")), (nil, odd), (nil, .plain("*", "")),
            (nil, .plain("*", "u/${sub}/")),
        ])
        let before = (try await world.logLength(), try await world.audit().count)
        let exported = try await world.exported()
        #expect(exported.count == 5)
        // A file keeps instants only to the millisecond.
        let read = exported.map { grant in
            var grant = grant
            grant.notAfter = grant.notAfter.map {
                Date(timeIntervalSince1970: ($0.timeIntervalSince1970 * 1000).rounded() / 1000)
            }
            return grant
        }
        let result = try await world.importing(read.map { ($0.id, $0) }, prunes: true)
        #expect(result == GrantImportResult(change: nil, counts: GrantCounts([.unchanged: 5]), samples: []))
        #expect(try await world.logLength() == before.0)
        #expect(try await world.audit().count == before.1)
        let unnamed = try await world.importing(read.map { (nil, $0) })
        #expect(unnamed.counts == GrantCounts([.unchanged: 5]))
    }

    @Test(.database(.migrated)) func theOrderOfActionsIsNoDifference() async throws {
        let world = try await world()
        let both = try Grant.plain(actions: [.putObject, .getObject])
        try await world.connection.runScript(
            """
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, created_by)
            VALUES ('\(both.id)', 'user:alice', 'demo', 'team/', false, '{PutObject,GetObject}', 'allow', 'x');
            SELECT append_policy_log('{user:alice}', 'x', '');
            """)
        #expect(try await world.importing([(both.id, both)]).counts == GrantCounts([.unchanged: 1]))
        #expect(try await world.importing([(both.id, .plain())]).counts == GrantCounts([.updated: 1]))
    }

    @Test(.database(.migrated)) func linesAreMatchedByIdentifierThenContentThenKey() async throws {
        let world = try await world()
        let named = try await world.stores.grants.create(.plain("user:named"), by: AdminWorld.change)
        let same = try await world.stores.grants.create(.plain("user:same"), by: AdminWorld.change)
        let keyed = try await world.stores.grants.create(.plain("user:keyed", note: "old"), by: AdminWorld.change)
        let both = try await world.apply([
            (nil, .plain("user:two", actions: [.getObject])), (nil, .plain("user:two", actions: [.putObject])),
        ])
        let left = try await world.stores.grants.create(.plain("user:left"), by: AdminWorld.change)
        let fresh = UUID()
        let lines: [(UUID?, Grant)] = [
            (named.id, try .plain("user:renamed")), (nil, try .plain("user:same")),
            (nil, try .plain("user:keyed", note: "new")), (nil, try .plain("user:fresh")),
            (fresh, try .plain("user:fresh", "b/")), (nil, try .plain("user:two", actions: [.putObject])),
            (nil, try .plain("user:two", note: "changed")),
        ]
        let dry = try await world.importing(lines, prunes: true, isDryRun: true)
        let counts = GrantCounts([.created: 2, .updated: 3, .deleted: 1, .unchanged: 2])
        #expect(dry.counts == counts && dry.change == nil)
        #expect(dry.samples.map(\.outcome) == [.created, .created, .updated, .updated, .updated, .deleted])
        #expect(dry.samples.map(\.line) == [4, 5, 1, 3, 7, nil])
        #expect(dry.samples[2].before == named.row && dry.samples[2].after?.principal.rawValue == "user:renamed")
        #expect(dry.samples[3].before?.id == keyed.id && dry.samples[3].after?.note == "new")
        #expect(dry.samples[4].before?.id == both.writes[0].id && dry.samples[5].before == left.row)

        let before = try await world.logLength()
        let result = try await world.importing(lines, prunes: true)
        #expect(result.counts == counts && result.change != nil)
        #expect(try await world.logLength() == before + 1)
        #expect(
            Set(try await world.lastScopes()) == [
                "user:named", "user:renamed", "user:keyed", "user:fresh", "user:two", "user:left",
            ])
        let grants = try await world.exported()
        #expect(grants.count == 7)
        #expect(grants.first { $0.note == "new" }?.id == keyed.id)
        #expect(grants.first { $0.principal.rawValue == "user:same" }?.id == same.id)
        #expect(grants.contains { $0.id == fresh } && !grants.contains { $0.id == left.id })
        let summary = try #require(try await world.audit().last { $0.hasPrefix("import") })
        #expect(summary.contains("import Grant \(result.change?.lowercaseText ?? "-") user:root request-7"))
        #expect(summary.contains("\"updated\": 3") && summary.contains("\"prune\": true"))
        #expect(try await world.importing(lines, prunes: true).counts == GrantCounts([.unchanged: 7]))
    }

    @Test(.database(.migrated)) func withoutPruningWhatNoLineIsAboutStays() async throws {
        let world = try await world()
        try await world.apply([(nil, .plain("user:stays"))])
        let result = try await world.importing([(nil, .plain("user:comes"))])
        #expect(result.counts == GrantCounts([.created: 1]))
        #expect(try await world.exported().count == 2)
    }

    @Test(.database(.migrated)) func whatCouldBeMeantTwiceIsRefusedUnlessAllIsReplaced() async throws {
        let world = try await world()
        func plain(_ note: String, _ maxTTL: Int) throws -> Grant {
            var grant = try Grant.plain(note: note)
            grant.conditions.maxTTL = maxTTL
            return grant
        }
        try await world.apply([(nil, plain("a", 1)), (nil, plain("b", 2))])
        let line = await refusal { try await world.importing([(nil, .plain("*")), (nil, plain("c", 3))]) }
        #expect(line?.place == .line(2))
        #expect(line?.error.code == "Conflict")
        let result = try await world.importing([(nil, .plain("*")), (nil, plain("c", 3))], prunes: true)
        #expect(result.counts == GrantCounts([.created: 2, .deleted: 2]))
        #expect(try await world.exported().map(\.note) == ["", "c"])
    }

    @Test(.database(.migrated)) func linesThatRepeatOthersAreRefused() async throws {
        let world = try await world()
        let id = UUID()
        let identifiers = await refusal {
            try await world.importing([(id, .plain()), (nil, .plain("user:b")), (id, .plain(note: "other"))])
        }
        #expect(identifiers?.place == .line(3))
        #expect("\(String(describing: identifiers))".contains("as line 1"))
        let contents = await refusal {
            try await world.importing([(nil, .plain("user:b")), (id, .plain()), (nil, .plain("user:b"))])
        }
        #expect(contents?.place == .line(3))
        #expect(try await world.exported().isEmpty)
    }

    @Test(.database(.migrated)) func onlyTheScopeIsTouched() async throws {
        let world = try await world()
        let made = try await world.apply([
            (nil, .plain("user:a")), (nil, .plain("user:a", bucket: "photos")), (nil, .plain("user:b", "x/")),
        ])
        let scope = GrantImportOptions.Scope(bucket: try BucketName("demo"))
        let result = try await world.importing([(nil, .plain("user:new"))], prunes: true, scope: scope)
        #expect(result.counts == GrantCounts([.created: 1, .deleted: 2]))
        #expect(try await world.exported().map(\.principal.rawValue) == ["user:a", "user:new"])
        let moved = await refusal {
            try await world.importing([(made.writes[1].id, .plain("user:a"))], prunes: true, scope: scope)
        }
        #expect(moved?.place == .line(1))
        let one = GrantImportOptions.Scope(principal: try Principal("user:a"), prefix: ExactText("team/"))
        #expect(
            try await world.importing([(nil, .plain("user:a"))], prunes: true, scope: one).counts
                == GrantCounts([.created: 1, .deleted: 1]))
    }

    @Test(.database(.migrated)) func flawsThatOnlyRowsTellAreNamedByTheirLine() async throws {
        let world = try await world()
        let bucketless = await refusal {
            try await world.importing([(nil, .plain()), (nil, .plain(bucket: "nowhere"))])
        }
        #expect(bucketless == ItemRefusal(.line(2), .conflict(reason: "The bucket does not exist.")))
        let templates = await refusal {
            try await world.importing(try (0..<65).map { (nil, try .plain("*", "t\($0)/${sub}/")) })
        }
        #expect(templates?.place == .line(65))
        #expect(
            try await world.importing(try (0..<64).map { (nil, try .plain("*", "t\($0)/${sub}/")) }).counts[.created]
                == 64)
    }

    @Test(.database(.migrated)) func anErrorWhileReadingChangesNothing() async throws {
        struct Broken: Error {}
        let world = try await world()
        let isFirst = Mutex(true)
        await #expect(throws: Broken.self) {
            try await world.bulk().importGrants(
                GrantImportOptions(prunes: true, isDryRun: false), by: AdminWorld.change,
                renewing: { AdminWorld.change }
            ) {
                guard
                    isFirst.withLock({ isFirst in
                        defer { isFirst = false }; return isFirst
                    })
                else { throw Broken() }
                return [ProposedGrant(place: 1, id: nil, grant: try .plain())]
            }
        }
        #expect(try await world.exported().isEmpty)
        // The session that had the temporary tables ends by itself.
        try await eventually {
            try await world.connection.number("SELECT count(*) FROM pg_class WHERE relname LIKE 'bulk%'") == 0
        }
    }

    @Test(.database(.migrated)) func anExportIsOfOneInstant() async throws {
        let world = try await world()
        try await world.apply(try (0..<2500).map { (nil, try .plain("user:\($0)")) })
        let reader = try await world.bulk().export([:], within: .unlimited)
        let first = try await reader.next()
        let change = try await world.importing([(nil, .plain("user:new"))], prunes: true)
        #expect(change.counts[.deleted] == 2500)
        var count = first.count
        while case let page = try await reader.next(), !page.isEmpty { count += page.count }
        #expect(count == 2500)
        let left = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
        #expect(try await world.connection.number(left) == 0)
    }

    @Test(.database(.migrated)) func anExportTakesTheFiltersOfTheList() async throws {
        let world = try await world()
        try await world.apply([
            (nil, .plain("user:a")), (nil, .plain("user:a", bucket: "photos")),
            (nil, .plain("user:b", actions: [.putObject])),
        ])
        #expect(try await world.exported(["principal": "user:a", "bucket": "photos"]).count == 1)
        #expect(try await world.exported(["action": "PutObject"]).map(\.principal.rawValue) == ["user:b"])
        await #expect(throws: GatewayError.self) { try await world.exported(["color": "red"]) }
    }
}

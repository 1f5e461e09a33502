import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import TestSupport
import Testing

@testable import GatewayPostgres

/// The audit of bulk changes, over the product of what a change does to a grant and of the ways to send it.
@Suite struct BulkAuditTests {
    /// What a change does to one grant.
    private enum Deed: String, CaseIterable {
        case create, update, keep, delete
    }

    /// How a change is sent.
    private enum Way: CaseIterable {
        case batch, importing, pruning, single
    }

    /// A line of the audit: what was done, and how the test writes the grant down before and after.
    private struct Line: Hashable {
        let operation: String
        let id: UUID
        let before: String?
        let after: String?
    }

    /// The model: what each grant must be now. It is changed here, and compared with lines that PostgreSQL wrote.
    private struct Model {
        var grants: [UUID: Grant] = [:]
        var random = SeededGenerator(seed: 20)
        private var count = 0

        init() {}

        /// Returns a grant that no other one equals.
        mutating func fresh() throws -> Grant {
            count += 1
            var grant = try Grant.plain(
                "user:\(Int.random(in: 0..<5, using: &random))", "p\(count)/", note: "é \"\(count)\" \\ 'x'")
            grant.createdBy = AdminWorld.change.actor.rawValue
            return grant
        }

        /// Changes one field or several.
        mutating func changed(_ grant: Grant) throws -> Grant {
            var grant = grant
            count += 1
            let fields = Int.random(in: 1..<64, using: &random)
            if fields & 1 != 0 { grant.note = "note \(count)" }
            if fields & 2 != 0 { grant.prefix = try KeyPrefix(literal: "p\(count)/") }
            if fields & 4 != 0 { grant.principal = try Principal("group:g\(count)") }
            if fields & 8 != 0 { grant.actions = grant.actions == [.getObject] ? [.putObject] : [.getObject] }
            if fields & 16 != 0 { grant.effect = grant.effect == .allow ? .deny : .allow }
            if fields & 32 != 0 { grant.conditions.maxTTL = 60 + count }
            return grant
        }
    }

    @Test(.database(.migrated))
    func `lines before and after are those of each grant, however it is changed`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        var model = Model()
        var seen = try await lines(world).count
        var done: [Deed: Int] = [:]
        for round in 0..<32 {
            let way = Way.allCases[round % Way.allCases.count]
            var expected: Set<Line> = []
            var writes: [(id: UUID?, grant: Grant)] = []
            var deletes: [UUID] = []
            var after: [UUID: Grant] = [:]
            for (id, grant) in model.grants.sorted(by: { $0.key < $1.key }) {
                var deed = Deed.allCases.dropFirst().randomElement(using: &model.random) ?? .keep
                // Without pruning, an import leaves alone what it does not name.
                if deed == .delete, way == .importing { deed = .keep }
                done[deed, default: 0] += 1
                switch deed {
                case .update:
                    let changed = try model.changed(grant)
                    writes.append((id, changed))
                    after[id] = changed
                    expected.insert(
                        Line(operation: "update", id: id, before: text(of: grant), after: text(of: changed)))
                case .delete:
                    deletes.append(id)
                    expected.insert(Line(operation: "delete", id: id, before: text(of: grant), after: nil))
                case .create, .keep:
                    writes.append((id, grant))
                    after[id] = grant
                }
            }
            let created = try (0..<Int.random(in: 1...4, using: &model.random)).map { _ in try model.fresh() }
            done[.create, default: 0] += created.count
            writes = (writes + created.map { (nil, $0) }).shuffled(using: &model.random)
            try await send(writes, deletes, way, to: world, holding: model.grants)

            // Of new grants only the content is known before; the export tells which identifiers they have.
            for grant in try await world.exported() where after[grant.id] == nil {
                after[grant.id] = grant
                expected.insert(Line(operation: "create", id: grant.id, before: nil, after: text(of: grant)))
            }
            let new = Set(after.values.map { text(of: $0) }).subtracting(model.grants.values.map { text(of: $0) })
            #expect(new.isSuperset(of: created.map { text(of: $0) }))
            #expect(after.count == model.grants.count - deletes.count + created.count)
            let all = try await lines(world)
            let found = all.dropFirst(seen)
            #expect(found.count == expected.count, "\(way)")
            #expect(Set(found) == expected, "\(way)")
            seen = all.count
            model.grants = after
        }
        #expect(Deed.allCases.allSatisfy { done[$0, default: 0] > 20 }, "\(done)")
    }

    private func send(
        _ writes: [(id: UUID?, grant: Grant)], _ deletes: [UUID], _ way: Way, to world: AdminWorld,
        holding grants: [UUID: Grant]
    ) async throws {
        switch way {
        case .batch: try await world.apply(writes, deletes: deletes)
        case .importing: try await world.importing(writes)
        case .pruning: try await world.importing(writes, prunes: true)
        case .single:
            for (id, grant) in writes {
                guard let id else {
                    _ = try await world.stores.grants.create(grant, by: AdminWorld.change)
                    continue
                }
                guard grants[id] != grant else { continue }
                let revision = try await world.stores.grants.get(id.lowercaseText).revision
                _ = try await world.stores.grants.update(grant, from: revision, by: AdminWorld.change)
            }
            for id in deletes { try await world.stores.grants.delete(id.lowercaseText, by: AdminWorld.change) }
        }
    }

    /// The lines of the audit that are about single grants, in order.
    private func lines(_ world: AdminWorld) async throws -> [Line] {
        let rows = try await world.connection.execute(
            Statement<Void, (String, UUID, String?, String?)>(
                """
                SELECT operation, resource_id::uuid, before::text, after::text FROM admin_audit
                WHERE kind = 'Grant' AND operation IN ('create', 'update', 'delete') ORDER BY id
                """
            ) { row throws(PostgresError) in
                (try row.decode(0), try row.decode(1), try row.decode(2), try row.decode(3))
            })
        return try rows.map { operation, id, before, after in
            Line(operation: operation, id: id, before: try before.map(text(of:)), after: try after.map(text(of:)))
        }
    }

    /// A grant as the test writes it down.
    private func text(of grant: Grant) -> String {
        let actions = grant.actions.map(\.rawValue).sorted().joined(separator: "+")
        let ttl = grant.conditions.maxTTL.map(String.init) ?? "-"
        return [
            grant.principal.rawValue, grant.bucket.rawValue, grant.prefix.text, actions, grant.effect.rawValue, ttl,
            grant.note,
        ].joined(separator: "|")
    }

    /// The same from a document of the audit.
    private func text(of document: String) throws -> String {
        let parsed = try #require(try JSONSerialization.jsonObject(with: Data(document.utf8)) as? [String: Any])
        let conditions = try #require(parsed["conditions"] as? [String: Any])
        let actions = try #require(parsed["actions"] as? [String])
        #expect(parsed["isTemplate"] as? Bool == false && parsed["createdBy"] as? String == "user:root")
        func field(_ name: String) throws -> String { try #require(parsed[name] as? String) }
        return [
            try field("principal"), try field("bucket"), try field("prefix"),
            actions.sorted().joined(separator: "+"), try field("effect"),
            (conditions["maxTTL"] as? Int).map(String.init) ?? "-", try field("note"),
        ].joined(separator: "|")
    }
}

import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

extension Ticket {
    /// A ticket of `user:alice`, valid for an hour by default.
    static func sample(
        uses: Int64 = 10, life: TimeInterval = 3600, key: [UInt8]? = nil
    ) throws -> Ticket {
        let random = (0..<TicketText.randomByteCount).map { _ in UInt8.random(in: 0...255) }
        let text = try #require(TicketText(randomBytes: random))
        return Ticket(
            id: UUID(), name: text.name, hash: text.digest, principal: try Principal("user:alice"),
            groups: [try Principal("group:staff")], claims: ["tenant": "é\"x"], issuedOn: .issuer("https://id.example"),
            bucket: try BucketName("demo"), prefix: ExactText("users/alice/"), actions: [.putObject, .getObject],
            maxUses: uses, expiresAt: Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + life).rounded()),
            responseKey: key.map { Secret($0) }, createdAt: Date())
    }
}

/// Tickets as gateways store them.
@Suite struct TicketTests {
    private func loaded(_ ticket: Ticket, from world: AdminWorld) async throws -> (PolicyPosition, Ticket?) {
        let load = try await world.source.load([.ticket(name: ticket.name)], literalGrantLimit: 1)
        guard case .ticket(let row)? = load.rows.first else { throw GatewayError.accessDenied }
        return (load.position, row)
    }

    @Test(.database(.migrated)) func areReadAsTheyWereMadeWithoutALineInTheLog() async throws {
        let world = try AdminWorld()
        let before = try await world.connection.position()
        let plain = try await world.stores.tickets.create(.sample(), by: AdminWorld.change).row
        let sealed = try await world.stores.tickets.create(
            .sample(key: [UInt8](0..<32)), by: AdminWorld.change
        ).row
        for ticket in [plain, sealed] {
            let (position, row) = try await loaded(ticket, from: world)
            #expect(row == ticket && position == before)
            #expect(try await world.stores.tickets.get(ticket.id.uuidString.lowercased()).row == ticket)
        }
        #expect(sealed.responseKey?.reveal() == [UInt8](0..<32))
        let page = try await world.stores.tickets.list(ListQuery(filters: ["principal": "user:alice"], pageSize: 1))
        #expect(page.items.count == 1 && page.nextPageToken != nil)
        #expect(try await world.stores.tickets.list(ListQuery(filters: ["bucket": "other"])).items.isEmpty)
        let leaks = "SELECT count(*) FROM tickets WHERE sealed = '\\x\(Digest.hex([UInt8](0..<32)))'"
        #expect(try await world.connection.number(leaks) == 0)
    }

    @Test(.database(.migrated)) func aRevokedOneIsGoneAndWhatRestedOnItIsStale() async throws {
        let world = try AdminWorld()
        let database = try TestDatabase.current
        let ticket = try await world.stores.tickets.create(.sample(), by: AdminWorld.change).row
        let (position, _) = try await loaded(ticket, from: world)
        try await withLedger(database.connectionString) { ledger, _ in
            func proposal() throws -> IssuanceProposal {
                let proposal = try IssuanceProposal.sample(at: position, charges: [ticket.charge])
                return proposal.with(scopes: proposal.scopes + [.ticket(name: ticket.name)])
            }
            guard case .recorded = try await ledger.record(proposal(), deadline: .soon) else {
                Issue.record("A live ticket was not accepted.")
                return
            }
            try await world.stores.tickets.delete(ticket.id.uuidString.lowercased(), by: AdminWorld.change)
            #expect(try await ledger.record(proposal(), deadline: .soon) == .stale)
        }
        #expect(try await world.lastScopes() == ["ticket:" + ticket.name])
        #expect(try await loaded(ticket, from: world).1 == nil)
        let audit = try await world.audit()
        #expect(audit.count == 1 && audit[0].contains("delete Ticket") && audit[0].contains("users/alice/"))
    }

    @Test(.database(.migrated)) func whatUsersDoWithTheirsIsNoAdminsAudit() async throws {
        let world = try AdminWorld()
        let ticket = try await world.stores.tickets.create(.sample(), by: AdminWorld.change).row
        var change = AdminWorld.change
        change.isAudited = false
        try await world.stores.tickets.delete(ticket.id.lowercaseText, by: change)
        #expect(try await world.lastScopes() == ["ticket:" + ticket.name])
        #expect(try await world.audit() == [])
    }

    @Test(.database(.migrated)) func allOfAPrincipalEndAtOnce() async throws {
        let world = try AdminWorld()
        var tickets: [Ticket] = []
        for _ in 0..<3 { tickets.append(try await world.stores.tickets.create(.sample(), by: AdminWorld.change).row) }
        _ = try await world.stores.tickets.create(.sample(life: -1200), by: AdminWorld.change)
        var foreign = try Ticket.sample()
        foreign.principal = try Principal("user:bob")
        foreign = try await world.stores.tickets.create(foreign, by: AdminWorld.change).row
        let cache = PolicyCache(source: world.source)
        for ticket in tickets { #expect(try await cache.ticket(name: ticket.name).rows == ticket) }
        let position = try #require(cache.position)
        func proposals() throws -> [IssuanceProposal] {
            try (tickets + [foreign]).map { ticket in
                try IssuanceProposal.sample(at: position, charges: [ticket.charge])
                    .with(scopes: [.ticket(name: ticket.name)])
            }
        }
        #expect(try await world.connection.record(proposals()).allSatisfy(\.isRecorded))
        let alice = try Principal("user:alice")
        #expect(try await world.stores.tickets.lastRevocation(of: alice) == nil)
        #expect(try await world.stores.tickets.revokeTickets(of: alice, by: AdminWorld.change) == 3)
        let first = try #require(try await world.stores.tickets.lastRevocation(of: alice))
        #expect(abs(first.timeIntervalSinceNow) < 60)
        #expect(try await world.stores.tickets.lastRevocation(of: foreign.principal) == nil)
        #expect(try await Set(world.lastScopes()) == Set(tickets.map { "ticket:" + $0.name }))
        let end = try await world.connection.position()
        #expect(end.sequence == position.sequence + 1)
        let verdicts = try await world.connection.record(proposals())
        #expect(verdicts.prefix(3) == [.stale, .stale, .stale] && verdicts[3].isRecorded)
        try await cache.advance()
        for ticket in tickets { #expect(try await cache.ticket(name: ticket.name).rows == nil) }
        let audit = try await world.audit()
        #expect(audit.count == 1 && audit[0].hasPrefix("delete Ticket user:alice"))
        for ticket in tickets { #expect(audit[0].contains(ticket.id.lowercaseText)) }

        #expect(try await world.stores.tickets.revokeTickets(of: alice, by: AdminWorld.change) == 0)
        #expect(try #require(try await world.stores.tickets.lastRevocation(of: alice)) > first)
        #expect(try await world.connection.position() == end)
        // It has a lasting effect, so the audit tells who did it.
        #expect(try await world.audit().count { $0.hasPrefix("delete Ticket user:alice user:root request-7") } == 2)
    }

    /// A gateway issues while its clock is behind PostgreSQL's by as much as `SLUICE_CLOCK_MAX_DIFFERENCE` allows.
    @Test(.database(.migrated), arguments: [false, true])
    func `one that a slow gateway still accepts ends with the others`(byOffboarding: Bool) async throws {
        let world = try AdminWorld()
        let alice = try Principal("user:alice")
        let late = try await world.stores.tickets.create(.sample(life: -600), by: AdminWorld.change).row
        let ended = try await world.stores.tickets.create(.sample(life: -1200), by: AdminWorld.change).row
        if byOffboarding {
            let store = world.stores.offboarding
            let rows = try await store.rows(of: alice)
            #expect(rows.counts == [.ticket: 1] && rows.rows.map(\.id) == [late.id.lowercaseText])
            #expect(try await store.remove(allOf: alice, seenAs: rows.tag, by: AdminWorld.change) == 1)
        } else {
            #expect(try await world.stores.tickets.revokeTickets(of: alice, by: AdminWorld.change) == 1)
        }
        #expect(try await world.lastScopes().contains("ticket:" + late.name))
        #expect(try await loaded(late, from: world).1 == nil)
        #expect(try await loaded(ended, from: world).1 == ended)
    }

    /// Making a ticket does not wait for the lock of the log, and nobody waits for it.
    @Test(.database(.migrated)) func areMadeBesideRecordingsAndChangesOfPolicy() async throws {
        let world = try AdminWorld()
        let holder = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await holder.number("SELECT count(pg_advisory_lock(advisory_lock('policy')))")
        _ = try await world.stores.tickets.create(.sample(), by: AdminWorld.change)
        _ = try await holder.number("SELECT count(pg_advisory_unlock(advisory_lock('policy')))")
    }

    /// Three gateways with several connections use one ticket as fast as they can.
    @Test(.database(.migrated)) func areNeverUsedMoreOftenThanAllowed() async throws {
        let world = try AdminWorld()
        let database = try TestDatabase.current
        let ticket = try await world.stores.tickets.create(.sample(uses: 57), by: AdminWorld.change).row
        let (position, _) = try await loaded(ticket, from: world)
        let recorded = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    try await withLedger(
                        database.connectionString, limits: .init(connections: 3, maxBatch: 8, spillsAt: 4)
                    ) {
                        ledger, _ in
                        try await withThrowingTaskGroup(of: Int.self) { users in
                            for _ in 0..<40 {
                                users.addTask {
                                    let proposal = try IssuanceProposal.sample(at: position, charges: [ticket.charge])
                                    let verdict = try await ledger.record(proposal, deadline: .soon)
                                    guard case .recorded = verdict else { return 0 }
                                    return 1
                                }
                            }
                            return try await users.reduce(0, +)
                        }
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(recorded == 57)
        let used = "SELECT used FROM quota_usage WHERE quota_id = '\(ticket.id)'"
        #expect(try await world.connection.number(used) == 57)
        #expect(try await QuotaAuditor(connection: world.connection).audit() == [])
    }

    @Test(.database(.migrated)) func endedOnesArePrunedWithTheirCountersAndLiveOnesKept() async throws {
        let world = try AdminWorld()
        let live = try await world.stores.tickets.create(.sample(), by: AdminWorld.change).row
        let ended = try await world.stores.tickets.create(.sample(life: -90_000), by: AdminWorld.change).row
        let proposals = try await [
            IssuanceProposal.sample(at: world.connection.position(), charges: [live.charge]),
            IssuanceProposal.sample(at: world.connection.position(), charges: [ended.charge]),
        ]
        _ = try await world.connection.record(proposals)
        let upkeep = PartitionUpkeep(
            connection: world.connection, sums: world.connection, schedule: .init(keepDays: nil), clock: .right,
            logger: .silent)
        await upkeep.runRound()
        #expect(try await world.connection.number("SELECT count(*) FROM tickets") == 1)
        let counters = "SELECT count(*) FROM quota_usage WHERE quota_id = '\(live.id)'"
        #expect(try await world.connection.number(counters) == 1)
        #expect(try await world.connection.number("SELECT count(*) FROM quota_usage") == 1)
    }

    @Test(.database(.migrated)) func aUserHasSoManyAtATime() async throws {
        let world = try AdminWorld()
        try await world.connection.runScript(
            """
            INSERT INTO tickets (id, name, hash, principal, groups, claims, bucket, prefix, actions, max_uses, expires_at)
            SELECT gen_random_uuid(), 'n' || n, sha256('x'), 'user:alice', '{}', '{}', 'demo', '', '{GetObject}', 1,
                now() + interval '1 hour' * (CASE WHEN n < 1000 THEN 1 ELSE -1 END)
            FROM generate_series(1, 1000) AS n
            """)
        _ = try await world.stores.tickets.create(.sample(), by: AdminWorld.change)
        let error = await #expect(throws: GatewayError.self) {
            try await world.stores.tickets.create(.sample(), by: AdminWorld.change)
        }
        guard case .conflict = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(.database(.migrated)) func ticketsMadeAtOnceAreNotMoreThanThat() async throws {
        let world = try AdminWorld()
        try await world.connection.runScript(
            """
            INSERT INTO tickets (id, name, hash, principal, groups, claims, bucket, prefix, actions, max_uses, expires_at)
            SELECT gen_random_uuid(), 'n' || n, sha256('x'), 'user:alice', '{}', '{}', 'demo', '', '{GetObject}', 1,
                now() + interval '1 hour'
            FROM generate_series(1, 998) AS n
            """)
        let made = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 {
                group.addTask { (try? await world.stores.tickets.create(.sample(), by: AdminWorld.change)) != nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(made == 2)
        #expect(try await world.connection.number("SELECT count(*) FROM tickets") == 1000)
    }

    @Test(.database(.migrated)) func theKeysOfTheirAnswersAreSealedAnewByRotation() async throws {
        let world = try AdminWorld()
        let ticket = try await world.stores.tickets.create(.sample(key: [UInt8](0..<32)), by: AdminWorld.change).row
        let newer = try MasterKeyRing.sample("k2", "k1")
        let outcome = try await MasterKeyRotation(connection: world.connection, keys: newer, now: { Date() }).run(
            requestID: "r")
        #expect(outcome == .init(resealed: 1, unopened: []))
        let after = try AdminWorld(keys: newer)
        #expect(try await after.stores.tickets.get(ticket.id.uuidString.lowercased()).row == ticket)
    }

    @Test(.database(.migrated)) func grantsAroundAPrefixAreThoseAboveAndBelowIt() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        try await world.makeBucket("other")
        for prefix in ["", "a/", "a/b/", "a/b/c/", "a/b/c.txt", "a/bc/", "a/b0", "b/", "a/b", "a", "a/é/"] {
            _ = try await world.stores.grants.create(.sample("user:alice", prefix), by: AdminWorld.change)
        }
        _ = try await world.stores.grants.create(.sample("user:bob", "a/b/"), by: AdminWorld.change)
        _ = try await world.stores.grants.create(
            .sample("user:alice", "a/b/${sub}/", template: true), by: AdminWorld.change)
        let removed = try await world.stores.grants.create(
            .sample("user:alice", "a/b/", maxTTL: 60), by: AdminWorld.change
        ).row
        try await world.stores.grants.delete(removed.id.uuidString.lowercased(), by: AdminWorld.change)
        func around(_ prefix: String, limit: Int = 100, bucket: String = "demo") async throws -> [String] {
            try await world.source.grants(
                of: [Principal("user:alice"), .anyone], in: BucketName(bucket), around: ExactText(prefix), limit: limit
            ).rows.map(\.prefix.text).sorted()
        }
        #expect(try await around("a/b/") == ["", "a/", "a/b/", "a/b/c.txt", "a/b/c/"])
        #expect(try await around("a/b/c.txt") == ["", "a/", "a/b/", "a/b/c.txt"])
        #expect(try await around("a/b") == ["", "a/", "a/b"])
        #expect(try await around("").count == 11)
        #expect(try await around("", limit: 3).count == 3)
        #expect(try await around("a/b/", bucket: "other").isEmpty)
    }
}

/// Formats bytes as hexadecimal text for SQL.
private enum Digest {
    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

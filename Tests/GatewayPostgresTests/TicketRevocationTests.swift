import Foundation
import GatewayCore
import PostgresTesting
import TestSupport
import Testing

@testable import GatewayPostgres

/// Tickets against revocations of all of a user's tickets, by admins and by offboarding. Random histories are compared
/// with a plain account; races are judged by what is left at their end.
@Suite struct TicketRevocationTests {
    fileprivate static func tickets(
        _ world: AdminWorld, for caller: Caller, revocation: (any TicketRevocation)? = nil
    ) -> Tickets {
        Tickets(
            rows: world.stores.tickets, revocation: revocation ?? world.stores.tickets,
            maxLife: 604_800, now: { Date() }, randomBytes: { (0..<$0).map { _ in .random(in: 0...255) } })
    }

    private static func live(_ user: Principal, _ world: AdminWorld) async throws -> [Ticket] {
        try await world.stores.tickets.list(ListQuery(filters: ["principal": user.rawValue], pageSize: 1000)).items
    }

    @Test(.database(.migrated)) func `in every history a ticket lives if and only if the account says so`() async throws
    {
        let world = try AdminWorld()
        try await world.makeBucket()
        let first =
            ProcessInfo.processInfo.environment["SLUICE_TEST_SEED"].flatMap { UInt64($0) }
            ?? UInt64.random(in: 0..<1 << 32)
        var refused = 0
        for seed in first..<first + 12 {
            var history = TicketHistory(
                seed: seed, users: try ["alice", "bob"].map { try Principal("user:\($0)-\(seed)") })
            for _ in 0..<25 {
                try await history.step(world)
                for user in history.users {
                    let live = Set(try await Self.live(user, world).map(\.id))
                    #expect(live == history.live[user] ?? [], "SLUICE_TEST_SEED=\(seed): \(history.story)")
                }
            }
            #expect(history.flaws.isEmpty, "SLUICE_TEST_SEED=\(seed): \(history.flaws) after \(history.story)")
            refused += history.refused
        }
        // The test must have force.
        #expect(refused > 0, "SLUICE_TEST_SEED=\(first)")
    }

    /// Tickets are made with a token that was stolen before, as fast as they can be, while the user's are revoked.
    private func survivors(
        _ world: AdminWorld, _ user: Principal, revocation: (any TicketRevocation)? = nil
    ) async throws -> [Ticket] {
        let stolen = try TicketHistory.caller(user, issuedAt: Date() - 3600, expiresAt: Date() + 1800)
        let wish = TicketRequest(bucket: try BucketName("demo"), prefix: ExactText("a/"), expiresIn: 86_400)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<8 {
                        // Refusals are expected from the revocation on.
                        _ = try? await Self.tickets(world, for: stolen, revocation: revocation)
                            .create(wish, for: stolen, by: AdminWorld.change)
                    }
                }
            }
            group.addTask {
                try await Task.sleep(for: .milliseconds(.random(in: 0...30)))
                _ = try await world.stores.tickets.revokeTickets(of: user, by: AdminWorld.change)
            }
            try await group.waitForAll()
        }
        return try await Self.live(user, world)
    }

    @Test(.database(.migrated)) func `a stolen token's tickets do not survive a revocation, made before or beside it`()
        async throws
    {
        let world = try AdminWorld()
        try await world.makeBucket()
        for round in 0..<12 {
            let left = try await survivors(world, Principal("user:victim-\(round)"))
            #expect(left.isEmpty, "round \(round)")
        }
    }

    /// Looks whether the tickets were revoked only before a ticket is made.
    private struct HastyRevocation: TicketRevocation {
        let store: any TicketRevocation

        func revokeTickets(of principal: Principal, by change: ChangeContext) async throws(GatewayError) -> Int {
            try await store.revokeTickets(of: principal, by: change)
        }

        func lastRevocation(of principal: Principal) async throws(GatewayError) -> Date? { nil }
    }

    @Test(.database(.migrated)) func `the judge convicts a gateway that does not look again`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        var left = 0
        for round in 0..<12 where left == 0 {
            left = try await survivors(
                world, Principal("user:victim-\(round)"), revocation: HastyRevocation(store: world.stores.tickets)
            ).count
        }
        #expect(left > 0)
    }
}

/// Users, admins and tokens in a random order, and an account of which tickets must live.
private struct TicketHistory {
    let users: [Principal]
    /// The tickets that must live.
    private(set) var live: [Principal: Set<UUID>] = [:]
    /// Requests that had to be refused, and were.
    private(set) var refused = 0
    private(set) var flaws: [String] = []
    private(set) var story: [String] = []
    private var revokedAt: [Principal: Date] = [:]
    private var random: SeededGenerator

    init(seed: UInt64, users: [Principal]) {
        self.users = users
        random = SeededGenerator(seed: seed)
    }

    static func caller(
        _ user: Principal, issuedAt: Date?, expiresAt: Date?, scope: PolicyScope = .issuer("https://id.example")
    ) throws -> Caller {
        Caller(
            principal: user, groups: [], roles: [], claims: [:], expiresAt: expiresAt, issuedAt: issuedAt,
            token: Secret("t"), scope: scope, position: PolicyPosition(sequence: 1, tag: UUID()))
    }

    mutating func step(_ world: AdminWorld) async throws {
        let user = users[Int.random(in: 0..<users.count, using: &random)]
        let tickets = TicketRevocationTests.tickets(
            world, for: try Self.caller(user, issuedAt: nil, expiresAt: nil))
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            let count = try await tickets.revokeAll(of: user, by: AdminWorld.change)
            note("\(user) revoked, \(count)", isFlaw: count != live[user]?.count ?? 0)
            (live[user], revokedAt[user]) = ([], Date())
        case 1:
            let rows = try await world.stores.offboarding.rows(of: user)
            let count = try await world.stores.offboarding.remove(
                allOf: user, seenAs: rows.tag, by: AdminWorld.change)
            note("\(user) offboarded, \(count)", isFlaw: count != Int64(live[user]?.count ?? 0))
            (live[user], revokedAt[user]) = ([], Date())
        case 2:
            guard let id = live[user]?.sorted(by: { $0.uuidString < $1.uuidString }).first else { return }
            try await tickets.revoke(
                world.stores.tickets.get(id.uuidString.lowercased()).row, revision: nil, by: AdminWorld.change)
            live[user]?.remove(id)
            note("\(user) revoked one")
        default: try await create(for: user, world)
        }
    }

    private mutating func create(for user: Principal, _ world: AdminWorld) async throws {
        // Far from the minute by which clocks may differ.
        let age: TimeInterval? = [nil, 7200, 300, 0, -30, -120].randomElement(using: &random) ?? nil
        let isToken = Int.random(in: 0..<4, using: &random) > 0
        let tokenLife: TimeInterval? = isToken ? [600, 43_200].randomElement(using: &random) : nil
        let life = [60, 3600, 86_400].randomElement(using: &random) ?? 60
        let now = Date()
        let caller = try Self.caller(
            user, issuedAt: isToken ? age.map { now - $0 } : nil, expiresAt: tokenLife.map { now + $0 },
            scope: isToken ? .issuer("https://id.example") : .apiKey(prefix: "abcdefghij01"))
        let wish = TicketRequest(bucket: try BucketName("demo"), prefix: ExactText("a/"), expiresIn: Int64(life))
        let outlives = tokenLife.map { TimeInterval(life) > $0 } ?? false
        // Of a token that does not say when it was made, nobody knows that it is younger.
        let isOld = revokedAt[user].map { revoked in age.map { now - $0 <= revoked + 60 } ?? true } ?? false
        let what =
            "\(user) asks for \(life) s, \(isToken ? "token" : "key") made \(age ?? -1) s ago, ends in \(tokenLife ?? -1)"
        do throws(GatewayError) {
            let made = try await TicketRevocationTests.tickets(world, for: caller).create(
                wish, for: caller, by: AdminWorld.change)
            live[user, default: []].insert(made.stored.row.id)
            note(what + ", gets it", isFlaw: outlives && isOld)
        } catch {
            refused += 1
            note(what + ", is refused: \(error)", isFlaw: !(outlives && isOld))
        }
    }

    private mutating func note(_ event: String, isFlaw: Bool = false) {
        story.append(event)
        if isFlaw { flaws.append(event) }
    }
}

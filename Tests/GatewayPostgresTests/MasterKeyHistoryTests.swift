import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import TestSupport
import Testing

@testable import GatewayPostgres

/// Random histories of gateways that start, stop, take other master keys, write secrets, and are cut off from the
/// database and come back, and of rotations, with an independent account of the key that each row needs. A gateway that
/// is ready lacks the key of no row, unless another gateway sealed the row after this one last checked its keys.
@Suite struct MasterKeyHistoryTests {
    @Test(.database(.migrated)) func `In every history secrets open with the keys that were checked`() async throws {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["SLUICE_TEST_KEYS"].flatMap { Int($0) } ?? 30
        let first = environment["SLUICE_TEST_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1 << 32)
        let site = try KeySite()
        var counts: [KeyHistory.Event: Int] = [:]
        for seed in first..<first + UInt64(count) {
            var history = KeyHistory(seed: seed, site: site)
            try await history.run()
            #expect(history.faults.isEmpty, "seed \(seed): \(history.faults) after \(history.story)")
            counts.merge(history.counts, uniquingKeysWith: +)
        }
        // The test must have force: everything happens, and so does every refusal.
        for event in KeyHistory.Event.allCases { #expect(counts[event, default: 0] > 0, "\(event), seed \(first)") }
    }
}

/// A master key.
private struct ModelKey: Hashable, CustomStringConvertible {
    let number: Int
    /// Distinguishes keys with one identifier.
    var variant = 0

    var id: String { "k\(number)" }
    var description: String { "\(id)/\(variant)" }
    var line: String { id + ":" + Data(repeating: UInt8(number * 16 + variant), count: 32).base64EncodedString() }

    func fingerprint() throws -> String { try MasterKeyRing.of([self]).currentFingerprint }

    /// Why keys do not open what this one sealed.
    func reason(among keys: [ModelKey]) -> MasterKeyError {
        keys.contains { $0.number == number } ? .doesNotOpen(keyID: id) : .unknownKey(id)
    }
}

extension MasterKeyRing {
    fileprivate static func of(_ keys: [ModelKey]) throws -> MasterKeyRing {
        try MasterKeyRing(parsing: Secret(keys.map(\.line).joined(separator: "\n")))
    }
}

/// What a gateway found when it compared its keys after an absence.
private final class Comparison: Sendable {
    private let flaws = Mutex<[MasterKeyError]?>(nil)

    func note(_ found: [MasterKeyError]?) { flaws.withLock { $0 = found } }

    /// Returns what was found since the last call; `nil` if nothing was compared.
    func take() -> [MasterKeyError]? {
        flaws.withLock { flaws in
            defer { flaws = nil }
            return flaws
        }
    }
}

/// The database and the machines of all histories.
private struct KeySite {
    /// One machine. A gateway on it has the keys, the stores and the policy source of its world.
    struct Machine {
        let world: AdminWorld
        private let connection: PostgresConnection

        init() throws {
            world = try AdminWorld()
            connection = try PostgresConnection(
                testing: TestDatabase.current.connectionString,
                settings: Heartbeat.sessionSettings + [("role", "sluice_gateway")])
        }

        /// Makes the heartbeat of a gateway, which compares its keys as `MasterKeyWatch` does.
        func heartbeat(of id: UUID, noting comparison: Comparison) -> Heartbeat {
            let (keys, connection) = (world.keys, self.connection)
            return Heartbeat(
                connection: connection,
                identity: .init(id: id, version: "1.0.0", startedAt: Date(), masterKeys: { keys.announcement }),
                logger: .silent, now: { Date() }, position: { nil },
                keysFit: {
                    let flaws = try? await keys.flaws(besides: id, over: connection)
                    comparison.note(flaws)
                    return flaws?.isEmpty == true
                })
        }
    }

    let machines: [Machine]
    let owner: PostgresConnection
    /// Logged in as the gateway.
    let gateway: PostgresConnection

    init() throws {
        machines = try (0..<3).map { _ in try Machine() }
        let database = try TestDatabase.current
        owner = try PostgresConnection(testing: database.connectionString)
        gateway = try PostgresConnection(
            testing: database.connectionString, settings: [("role", "sluice_gateway")])
    }
}

/// One history.
private struct KeyHistory {
    enum Event: CaseIterable {
        case started, startRefused, reloaded, reloadRefused, keptTheSame, refusedAtSecondLook
        case lackedAKey, hadAnotherKey, clashed, oneOfTwoRefused
        case wrote, couldNotOpen
        case rotated, leftRows, namesakeRefused, rotationRefused, rotationHeldByReload, rotationHeldByTheDead
        case wasCutOff, cameBack, cameBackUnfit
    }

    private struct Row {
        let id: UUID
        var secret: String
        var key: ModelKey
        /// The gateway that sealed it; `nil` for a rotation.
        var sealer: UUID?
        var sealedAt: Int
    }

    /// What a row of the table `gateways` says.
    private struct Announcement {
        /// The key that seals; `nil` while another one is about to.
        var first: ModelKey?
        var keys: Set<ModelKey>
    }

    private struct Gateway {
        let id: UUID
        let heartbeat: Heartbeat
        let comparison: Comparison
        /// The keys in force; empty while it starts.
        var keys: [ModelKey] = []
        /// The keys that it is about to take, if any. It looks, announces them and looks again.
        var next: [ModelKey] = []
        var hasAnnounced = false
        var checkedAt = 0
        /// Whether it is cut off, for so long that it does not count as running.
        var isAway = false
        /// Whether it has been cut off, and has not found since that its keys fit. It is not ready then, so nobody has
        /// it write.
        var isUnchecked = false

        init(on machine: KeySite.Machine) {
            (id, comparison) = (UUID(), Comparison())
            heartbeat = machine.heartbeat(of: id, noting: comparison)
        }

        var isRunning: Bool { !keys.isEmpty }
        var announcement: Announcement {
            let first = Set([keys.first, next.first].compactMap { $0 })
            return Announcement(first: first.count == 1 ? first.first : nil, keys: Set(keys + next))
        }
    }

    private let site: KeySite
    private var random: SeededGenerator
    private var now = 0
    private var gateways = [Gateway?](repeating: nil, count: 3)
    /// The announcements of gateways that count as running, also of those that were killed.
    private var told: [UUID: Announcement] = [:]
    private var rows: [Row] = []
    /// The keys that the operator replaces and puts in their place, and how far that is: see `lists`.
    private var old = ModelKey(number: 1)
    private var new = ModelKey(number: 2)
    private var stage = 0
    private var isOrderly = false

    private(set) var counts: [Event: Int] = [:]
    private(set) var story: [String] = []
    private(set) var faults: [String] = []

    init(seed: UInt64, site: KeySite) {
        random = SeededGenerator(seed: seed)
        self.site = site
    }

    mutating func run() async throws {
        try await site.owner.runScript("DELETE FROM gateways; DELETE FROM storage_credentials")
        for _ in 0..<72 where faults.isEmpty {
            let seen = story.count
            try await step(at: Int.random(in: 0..<gateways.count, using: &random))
            if story.count > seen { try await look() }
        }
        if faults.isEmpty, random.once(in: 3) { try await followDocuments() }
    }

    private mutating func step(at place: Int) async throws {
        now += 1
        if let gateway = gateways[place], !gateway.next.isEmpty, random.once(in: 3) { return try await advance(place) }
        if let gateway = gateways[place], gateway.isAway, random.once(in: 4) { return await comeBack(place) }
        switch Int.random(in: 0..<27, using: &random) {
        case 0..<6:
            let keys = list()
            try await begin(keys, at: place)
        case 6: try await take([new, old], at: place)
        case 7:
            for place in gateways.indices { try await take(lists[stage], at: place) }
        case 8..<12: try await write(at: place)
        case 12: await stop(place)
        case 13: kill(place)
        case 14: try await forgetDead()
        case 15: await beat(place)
        case 16, 17: plan()
        case 18..<21: try await cutOff(place)
        default:
            var keys = list()
            if random.once(in: 3) { keys = [keys[0]] }
            try await rotate(with: keys)
        }
    }

    /// The stages of a replacement. Machines get their lists at any time and in any order.
    private var lists: [[ModelKey]] { [[old], [old, new], [new, old], [new]] }

    private mutating func plan() {
        if let key = rows.randomElement(using: &random)?.key, random.once(in: 3) {
            // The operator finds out which key a row needs.
            (old, new, stage) = (key, ModelKey(number: key.number % 3 + 1), 1)
        } else if stage < 3 {
            stage += 1
        } else if rows.contains(where: { $0.key != new }) {
            stage = 2
        } else {
            // The next key may have an identifier that had another key before.
            let next = ModelKey(number: new.number % 3 + 1, variant: random.once(in: 4) ? 1 : 0)
            (old, new, stage) = (new, next, 1)
        }
    }

    /// The operator's keys or, in a third of cases, those of another stage, perhaps with a wrong one among them.
    private mutating func list() -> [ModelKey] {
        guard random.once(in: 3) else { return lists[stage] }
        var keys = lists[Int.random(in: 0..<lists.count, using: &random)]
        if Bool.random(using: &random) { keys[Int.random(in: 0..<keys.count, using: &random)].variant ^= 1 }
        return keys
    }

    private mutating func count(_ event: Event) { counts[event, default: 0] += 1 }

    private mutating func note(_ text: String) { story.append("\(now): \(text)") }
}

// MARK: - Gateways

extension KeyHistory {
    /// Starts a gateway, or has the one that runs reload: the same steps as in `Reloading` and `DatabaseConnections`.
    private mutating func begin(_ keys: [ModelKey], at place: Int) async throws {
        var gateway = gateways[place] ?? Gateway(on: site.machines[place])
        guard gateway.next.isEmpty, !gateway.isAway else { return }
        guard keys != gateway.keys else { return count(.keptTheSame) }
        let (ring, next) = (site.machines[place].world.keys, try MasterKeyRing.of(keys))
        if gateway.isRunning { ring.announce(next) } else { ring.replace(with: next) }
        gateway.next = keys
        gateways[place] = gateway
        note("\(gateway.isRunning ? "reload" : "start") of \(place) with \(keys)")
        if try await !passes(place) { await refuse(place) }
    }

    /// Lets a gateway take keys at one go.
    private mutating func take(_ keys: [ModelKey], at place: Int) async throws {
        try await begin(keys, at: place)
        for _ in 0..<2 where gateways[place]?.next.isEmpty == false { try await advance(place) }
    }

    private mutating func advance(_ place: Int) async throws {
        guard var gateway = gateways[place] else { return }
        guard gateway.hasAnnounced else {
            try await gateway.heartbeat.announce()
            gateway.hasAnnounced = true
            gateways[place] = gateway
            told[gateway.id] = gateway.announcement
            return note("\(place) announces")
        }
        guard try await passes(place) else { return await refuse(place) }
        count(gateway.isRunning ? .reloaded : .started)
        site.machines[place].world.keys.replace(with: try MasterKeyRing.of(gateway.next))
        (gateway.keys, gateway.next, gateway.hasAnnounced, gateway.checkedAt) = (gateway.next, [], false, now)
        gateways[place] = gateway
        note("\(place) has its keys")
        await beat(place)
    }

    /// Looks at the rows and the other gateways, and compares the flaws with those that must be found.
    private mutating func passes(_ place: Int) async throws -> Bool {
        guard let gateway = gateways[place] else { return false }
        let ring = try MasterKeyRing.of(gateway.next)
        let found = try await ring.flaws(besides: gateway.id, over: site.gateway)
        let due = refusals(of: gateway.next, at: gateway.id)
        if found != due { faults.append("\(place) with \(gateway.next) finds \(found), not \(due)") }
        guard !due.isEmpty else { return true }
        count(gateway.isRunning ? .reloadRefused : .startRefused)
        if gateway.hasAnnounced { count(.refusedAtSecondLook) }
        for flaw in due {
            switch flaw {
            case .unknownKey: count(.lackedAKey)
            case .doesNotOpen: count(.hadAnotherKey)
            default: count(.clashed)
            }
        }
        note("\(place) is refused: \(due)")
        return false
    }

    /// What stands against some keys of a gateway.
    private func refusals(of keys: [ModelKey], at gateway: UUID) -> [MasterKeyError] {
        let needed = Set(rows.map(\.key)).sorted { $0.number < $1.number }
        let lacking = needed.filter { !keys.contains($0) }.map { $0.reason(among: keys) }
        guard lacking.isEmpty else { return lacking }
        return keys.sorted { $0.number < $1.number }.compactMap { key -> MasterKeyError? in
            let holders = told.filter { entry in
                entry.key != gateway && entry.value.keys.contains { $0.number == key.number && $0 != key }
            }
            return holders.isEmpty ? nil : .differs(keyID: key.id, gateways: Self.sorted(holders.keys))
        }
    }

    private mutating func refuse(_ place: Int) async {
        guard var gateway = gateways[place] else { return }
        (gateway.next, gateway.hasAnnounced) = ([], false)
        guard gateway.isRunning else {
            gateways[place] = nil
            told[gateway.id] = nil
            return await gateway.heartbeat.end()
        }
        gateways[place] = gateway
        site.machines[place].world.keys.withdraw()
        await beat(place)
    }

    private mutating func beat(_ place: Int) async {
        guard var gateway = gateways[place], gateway.isRunning, !gateway.isAway else { return }
        await gateway.heartbeat.beat()
        told[gateway.id] = gateway.announcement
        let found = gateway.comparison.take()
        let due = gateway.isUnchecked ? refusals(of: gateway.keys, at: gateway.id) : nil
        if found != due {
            let (told, expected) = (String(describing: found), String(describing: due))
            faults.append("\(place) with \(gateway.keys) finds \(told), not \(expected)")
        }
        guard let due else { return }
        gateway.isUnchecked = !due.isEmpty
        if due.isEmpty { gateway.checkedAt = now }
        gateways[place] = gateway
        note("\(place) compares its keys: \(due)")
    }

    /// Cuts a gateway off for half a minute and more. A reload that is under way fails.
    private mutating func cutOff(_ place: Int) async throws {
        guard var gateway = gateways[place], gateway.isRunning, !gateway.isAway else { return }
        (gateway.next, gateway.hasAnnounced, gateway.isAway) = ([], false, true)
        gateways[place] = gateway
        site.machines[place].world.keys.withdraw()
        try await loseSight(of: gateway.id)
        count(.wasCutOff)
        note("\(place) is cut off")
    }

    private mutating func comeBack(_ place: Int) async {
        gateways[place]?.isAway = false
        gateways[place]?.isUnchecked = true
        note("\(place) is back")
        await beat(place)
        count(gateways[place]?.isUnchecked == true ? .cameBackUnfit : .cameBack)
    }

    private mutating func stop(_ place: Int) async {
        guard let gateway = gateways[place], gateway.isRunning, !gateway.isAway else { return }
        await gateway.heartbeat.end()
        told[gateway.id] = nil
        gateways[place] = nil
        note("\(place) stops")
    }

    private mutating func kill(_ place: Int) {
        gateways[place] = nil
        note("\(place) is killed")
    }

    /// Lets half a minute pass for the gateways that were killed.
    private mutating func forgetDead() async throws {
        for id in told.keys where !gateways.contains(where: { $0?.id == id }) {
            try await loseSight(of: id)
        }
        note("the dead are forgotten")
    }

    /// Lets half a minute pass since the last heartbeat of a gateway.
    private mutating func loseSight(of id: UUID) async throws {
        try await site.owner.runScript("UPDATE gateways SET last_seen_at = now() - interval '31 s' WHERE id = '\(id)'")
        told[id] = nil
    }

    private static func sorted(_ ids: some Sequence<UUID>) -> [UUID] { ids.sorted { $0.uuidString < $1.uuidString } }
}

// MARK: - Rows

extension KeyHistory {
    /// Adds a credential or gives one another secret, which takes a gateway that opens the row.
    private mutating func write(at place: Int) async throws {
        guard let gateway = gateways[place], gateway.isRunning, !gateway.isAway, !gateway.isUnchecked else { return }
        let credentials = site.machines[place].world.stores.credentials
        let secret = "secret \(random.next())"
        if rows.isEmpty || rows.count < 7 && Bool.random(using: &random) {
            var row = StorageCredential.sample(name: "c\(rows.count)")
            row.secretAccessKey = Secret(secret)
            _ = try await credentials.create(row, by: AdminWorld.change)
            rows.append(Row(id: row.id, secret: secret, key: gateway.keys[0], sealer: gateway.id, sealedAt: now))
        } else {
            let index = Int.random(in: 0..<rows.count, using: &random)
            let opens = gateway.keys.contains(rows[index].key)
            do throws(GatewayError) {
                var stored = try await credentials.get(rows[index].id.lowercaseText)
                stored.row.secretAccessKey = Secret(secret)
                _ = try await credentials.update(stored.row, from: stored.revision, by: AdminWorld.change)
            } catch {
                guard case .unavailable = error, !opens else { throw error }
                return note("\(place) cannot change row \(index)")
            }
            if !opens { faults.append("\(place) changes row \(index) without \(rows[index].key)") }
            rows[index] = Row(
                id: rows[index].id, secret: secret, key: gateway.keys[0], sealer: gateway.id, sealedAt: now)
        }
        count(.wrote)
        note("\(place) writes with \(gateway.keys[0])")
    }

    private mutating func rotate(with keys: [ModelKey]) async throws {
        let lacking = Self.sorted(told.filter { $0.value.first != keys[0] }.keys)
        let resealed = rows.indices.filter { keys.contains(rows[$0].key) && rows[$0].key != keys[0] }
        let isNamesake = rows.contains { $0.key.number == keys[0].number && $0.key != keys[0] }
        note("rotation with \(keys)")
        let rotation = MasterKeyRotation(
            connection: site.gateway, keys: try MasterKeyRing.of(keys), now: { Date() }, batch: 3)
        let outcome: MasterKeyRotation.Outcome
        do {
            outcome = try await rotation.run(requestID: "run-1")
        } catch let flaw as MasterKeyError {
            if !isNamesake || flaw != .doesNotOpen(keyID: keys[0].id) { faults.append("\(flaw)") }
            return count(.namesakeRefused)
        } catch let refusal as MasterKeyRotation.Refusal {
            if refusal.gateways.map(\.id) != lacking || refusal.resealed != 0 { faults.append("\(refusal)") }
            count(.rotationRefused)
            if told.values.contains(where: { $0.first == nil }) { count(.rotationHeldByReload) }
            let alive = gateways.compactMap { $0?.id }
            if Set(lacking).isDisjoint(with: alive) { count(.rotationHeldByTheDead) }
            return
        }
        let unopened = rows.filter { !keys.contains($0.key) }.sorted { $0.id.uuidString < $1.id.uuidString }.map {
            MasterKeyRotation.UnopenedRow(
                table: "storage_credentials", id: $0.id, reason: $0.key.reason(among: keys))
        }
        if isNamesake || !lacking.isEmpty || outcome != .init(resealed: resealed.count, unopened: unopened) {
            faults.append("\(outcome), but \(lacking) run, \(resealed) are due and \(unopened) do not open")
        }
        for index in resealed { (rows[index].key, rows[index].sealer, rows[index].sealedAt) = (keys[0], nil, now) }
        if !resealed.isEmpty { count(.rotated) }
        if !unopened.isEmpty { count(.leftRows) }
    }

    /// Compares the database, the keys of the gateways and what they open with the account.
    private mutating func look() async throws {
        let running = try await DatabaseDiagnosis(connection: site.gateway).runningGateways()
        if running.map(\.id) != Self.sorted(told.keys) { faults.append("other gateways run") }
        for gateway in running {
            guard let announcement = told[gateway.id] else { continue }
            let first = try announcement.first?.fingerprint() ?? ""
            let keys = try Set(announcement.keys.map { try $0.fingerprint() })
            if gateway.masterKeys.first != first || Set(gateway.masterKeys).subtracting([""]) != keys {
                faults.append("\(gateway.masterKeys) are announced, not \(announcement)")
            }
        }
        let used = Set(rows.map(\.key))
        if Set(used.map(\.number)).count < used.count { faults.append("one identifier stands for two of \(used)") }
        let ids = try await site.owner.texts("SELECT key_id FROM storage_credentials ORDER BY id")
        let keys = rows.sorted { $0.id.uuidString < $1.id.uuidString }.map(\.key.id)
        if ids != keys { faults.append("rows are sealed with \(ids), not \(keys)") }
        for (place, gateway) in gateways.enumerated() {
            if let gateway, gateway.isRunning, !gateway.isAway { try await read(as: gateway, at: place) }
        }
    }

    /// Opens all rows as a gateway does.
    private mutating func read(as gateway: Gateway, at place: Int) async throws {
        let world = site.machines[place].world
        if try !world.keys.isSame(as: MasterKeyRing.of(gateway.keys)) { faults.append("\(place) has other keys") }
        if rows.isEmpty { return }
        let load = try await world.source.load(rows.map { PolicyKey.credential($0.id) }, literalGrantLimit: 1)
        for (row, answer) in zip(rows, load.rows) {
            let opens = gateway.keys.contains(row.key)
            guard case .credential(let found) = answer, found?.secretAccessKey.reveal() == (opens ? row.secret : nil)
            else {
                faults.append("\(place) reads \(row.secret), sealed with \(row.key), otherwise")
                continue
            }
            guard !opens else { continue }
            count(.couldNotOpen)
            if gateway.isUnchecked { continue }
            // The only way to this is that another gateway got its keys first, and wrote.
            let isExpected = row.sealer.map { $0 != gateway.id && row.sealedAt > gateway.checkedAt } ?? false
            if isOrderly || !isExpected || gateway.keys.contains(where: { $0.number == row.key.number }) {
                faults.append("\(place) with \(gateway.keys) meets a row of \(row.key)")
            }
        }
    }

    /// Replaces the key as `docs/administration.md` says. Nothing is refused, and every row opens all the time.
    private mutating func followDocuments() async throws {
        let key = ModelKey(number: 9)
        for place in gateways.indices { kill(place) }
        try await rotate(with: [key])
        try await forgetDead()
        isOrderly = true
        let needed = Set(rows.map(\.key)).sorted { $0.number < $1.number }
        let before = needed.isEmpty ? [ModelKey(number: 1)] : needed
        for keys in [before, before + [key], [key] + before, [key]] {
            if keys == [key] {
                try await rotate(with: [key])
                try await rotate(with: [key] + before)
                if rows.contains(where: { $0.key != key }) { faults.append("a row needs an old key") }
            }
            for place in gateways.indices {
                now += 1
                try await take(keys, at: place)
                if gateways[place]?.keys != keys { faults.append("\(place) is refused") }
                now += 1
                try await write(at: place)
                try await look()
            }
        }
        // Two take different keys with one identifier at the same time.
        for place in 0..<2 { try await begin([key, ModelKey(number: 8, variant: place)], at: place) }
        for place in [0, 1, 0, 1] { try await advance(place) }
        try await look()
        if gateways[0]?.keys == [key], gateways[1]?.keys.count == 2 { count(.oneOfTwoRefused) }
    }
}

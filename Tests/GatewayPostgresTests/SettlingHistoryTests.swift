import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import TestSupport
import Testing

@testable import GatewayPostgres

/// Random histories of links, uploads, overwrites, deletions and settling in any order, with an independent account of
/// the bytes that arrived. Never do more arrive than are counted, or than the quota allows.
@Suite struct SettlingHistoryTests {
    @Test(.database(.migrated)) func `In every history what arrived is counted`() async throws {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["SLUICE_TEST_SETTLINGS"].flatMap { Int($0) } ?? 100
        let first = environment["SLUICE_TEST_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1 << 32)
        let ledger = try await HistoryLedger()
        var released: Int64 = 0
        var convicted = 0
        for seed in first..<first + UInt64(count) {
            var history = History(seed: seed, ledger: ledger)
            try await history.run()
            #expect(history.flaws.isEmpty, "seed \(seed): \(history.flaws) after \(history.story)")
            released += history.released
            if history.breaksByFormerRule { convicted += 1 }
        }
        // The test must have force: some bytes are given back, and the former rule fails.
        #expect(released > 0, "seed \(first)")
        #expect(convicted > 0, "the histories would convict no rule; seed \(first)")
    }
}

/// The rows that a history leaves.
private struct HistoryLedger {
    /// Second 0 of each history.
    static let start = LedgerWorld.noon
    static let limit: Int64 = 2000

    let connection: PostgresConnection
    let quota = UUID()

    init() async throws {
        connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let day = Int(Self.start.timeIntervalSince1970)
        try await connection.runScript(
            """
            \(RevokeRaceTests.makeBucket)
            SELECT create_issuances_partition((to_timestamp(\(day)) AT TIME ZONE 'UTC')::date);
            """)
    }

    func clear(deletesElsewhere: Bool) async throws {
        try await connection.runScript(
            """
            DELETE FROM issuances; DELETE FROM reservations; DELETE FROM quota_usage; DELETE FROM multipart_uploads;
            DELETE FROM remote_uploads; DELETE FROM landings;
            SET session_replication_role = replica;
            UPDATE buckets SET external_deletions = \(deletesElsewhere);
            RESET session_replication_role;
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used) VALUES ('\(quota)', 'user:a', 'epoch', false, 0)
            """)
    }

    static func time(_ second: Double) -> String {
        "to_timestamp(\(start.timeIntervalSince1970 + second))"
    }

    /// Writes a row of the ledger with its reservation.
    func issue(_ link: History.Link, databaseAhead: Double) async throws {
        let (issued, expires) = (Self.time(link.issuedAt + databaseAhead), Self.time(link.diesAt))
        let dead = "greatest(\(expires), \(Self.time(link.diesAt + databaseAhead)))"
        try await connection.runScript(
            """
            INSERT INTO issuances (id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery,
                action, method, bucket, object_key, expires_at, request_id)
            VALUES ('\(link.id)', \(issued), (SELECT max(seq) FROM policy_log), 'user:a', 'user:a', '\(link.id)', '\(link.id)',
                '\(link.delivery)', 'PutObject', 'PUT', 'demo', '\(link.key)', \(expires), 'r');
            \(HeldBytes.ofLedger(
                "\(link.amount)", quota: "'\(quota)'", period: "'epoch'", deadAt: dead,
                from: "issuances i WHERE i.id = '\(link.id)' AND \(link.amount) > 0"));
            UPDATE quota_usage SET used = used + \(link.amount)
            """)
    }

    func used() async throws -> Int64 {
        try await connection.number("SELECT used FROM quota_usage")
    }

    /// Settles what is due at a second of the history.
    func settle(at second: Double, _ look: @escaping @Sendable (ObjectKey) -> StoreLook) async {
        let ago = Date().timeIntervalSince(Self.start) - second
        await ReservationSweeper(
            connection: connection, verifier: StubVerifier(answer: look), clock: .right,
            schedule: .init(grace: .seconds(ago + 900), interval: .zero, patience: .seconds(86_400 * 30)),
            logger: .silent
        ).runRound()
    }
}

/// One history, with the content of its store.
private struct History {
    struct Link {
        let id = UUID()
        let key: String
        let delivery: String
        let issuedAt: Double
        let diesAt: Double
        /// `amount` is the number of bytes that the link reserves, 0 where nobody counts it; `most` is the most that it
        /// admits.
        let amount: Int64
        let most: Int64
        var arrived: Int64 = 0
        var isCounted: Bool { amount > 0 }
    }

    struct Object {
        var size: Int64
        var modifiedAt: Double
        var etag = "e"
    }

    private let ledger: HistoryLedger
    private var random: SeededGenerator
    private var now: Double = 0
    private var links: [Link] = []
    private var objects: [String: Object] = [:]
    private var deleted: Set<String> = []
    /// Multipart uploads: key, start, and whether the store's tags reveal the parts.
    private var uploads: [(key: String, began: Double, tag: String)] = []
    private let isVersioned: Bool
    private let deletesElsewhere: Bool
    private let databaseAhead: Double
    private let storeBehind: Double
    /// The amount that the former rule would have given back. It took whatever is there now for what arrived.
    private var formerRelease: Int64 = 0
    private var settled: Set<UUID> = []

    private(set) var story: [String] = []
    private(set) var flaws: [String] = []
    private(set) var released: Int64 = 0

    init(seed: UInt64, ledger: HistoryLedger) {
        var random = SeededGenerator(seed: seed)
        self.ledger = ledger
        isVersioned = Bool.random(using: &random)
        deletesElsewhere = Int.random(in: 0..<3, using: &random) == 0
        databaseAhead = [-5, 0, 5].randomElement(using: &random) ?? 0
        storeBehind = [0, 5].randomElement(using: &random) ?? 0
        self.random = random
    }

    var breaksByFormerRule: Bool {
        let reserved = links.filter { settled.contains($0.id) }.reduce(0) { $0 + $1.amount }
        let arrived = links.filter { settled.contains($0.id) && $0.isCounted }.reduce(0) { $0 + $1.arrived }
        return reserved - formerRelease < arrived
    }

    mutating func run() async throws {
        try await ledger.clear(deletesElsewhere: deletesElsewhere)
        for key in ["a", "b"] where Bool.random(using: &random) {
            objects[key] = Object(
                size: 700, modifiedAt: -Double([1, 3, 7, 60, 9000].randomElement(using: &random) ?? 1))
        }
        for _ in 0..<Int.random(in: 4...14, using: &random) {
            now += Double.random(in: 0...600, using: &random).rounded()
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<4: try await issue()
            case 4..<8: use()
            case 8: try await beginParts()
            case 9: completeParts()
            case 10: disturb()
            default: try await settle()
            }
        }
        now += 30_000
        try await settle()
    }

    private var key: String { mutating get { Bool.random(using: &random) ? "a" : "b" } }

    private mutating func issue() async throws {
        let most = Int64([0, 1, 600, 1000].randomElement(using: &random) ?? 0)
        let isCounted = Int.random(in: 0..<4, using: &random) > 0
        let life = Double([1, 60, 900, 7200].randomElement(using: &random) ?? 60)
        let delivery = ["presigned-url", "post-policy"].randomElement(using: &random) ?? ""
        let link = Link(
            key: key, delivery: delivery, issuedAt: now, diesAt: now + life, amount: isCounted ? most : 0, most: most)
        if isCounted, try await ledger.used() + most > HistoryLedger.limit { return }
        try await ledger.issue(link, databaseAhead: databaseAhead)
        links.append(link)
        story.append("\(now): \(delivery) of \(most) for \(link.key), life \(life), counted \(isCounted)")
    }

    /// Uses a link that is alive by the store's clock. A form admits any length up to its own, a URL only the exact
    /// length.
    private mutating func use() {
        let alive = links.indices.filter { links[$0].diesAt + storeBehind > now }
        guard let place = alive.randomElement(using: &random) else { return }
        let link = links[place]
        let size = link.delivery == "post-policy" ? Int64.random(in: 0...link.most, using: &random) : link.most
        links[place].arrived = max(link.arrived, size)
        write(Object(size: size, modifiedAt: now.rounded(.down)), at: link.key)
        story.append("\(now): \(size) to \(link.key)")
    }

    private mutating func write(_ object: Object, at key: String) {
        objects[key] = object
        deleted.remove(key)
    }

    private mutating func beginParts() async throws {
        let key = self.key
        // The tags of some stores do not reveal parts.
        uploads.append((key, now, Bool.random(using: &random) ? "e-2" : "e"))
        let insertion =
            Bool.random(using: &random)
            ? """
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at, check_at,
                created_at)
            VALUES (gen_random_uuid(), 'user:b', 'demo', '\(key)', 'a/b', 'open', \(HistoryLedger.time(now + 86_400)), now(),
                \(HistoryLedger.time(now)))
            """
            : "SELECT begin_remote_upload('user:b', 'demo', '\(key)', 'a/b')"
        try await ledger.connection.runScript(insertion)
        story.append("\(now): upload in parts of \(key)")
    }

    private mutating func completeParts() {
        guard let upload = uploads.popLast() else { return }
        write(Object(size: 10, modifiedAt: upload.began, etag: upload.tag), at: upload.key)
        story.append("\(now): parts put together for \(upload.key)")
    }

    /// Lets other tools write and, where that was configured or the store reports it, delete.
    private mutating func disturb() {
        let key = self.key
        if Bool.random(using: &random) {
            write(Object(size: 3, modifiedAt: now.rounded(.down)), at: key)
            story.append("\(now): a copy to \(key)")
        } else if objects[key] != nil, isVersioned || deletesElsewhere {
            objects[key] = nil
            if isVersioned { deleted.insert(key) }
            story.append("\(now): \(key) deleted")
        }
    }

    private mutating func settle() async throws {
        let (objects, deleted) = (objects, deleted)
        // The fraction of a second that the store cut off its time.
        let error = Double.random(in: 0..<1, using: &random)
        let before = try await ledger.used()
        for link in links where link.diesAt + 1000 < now && settled.insert(link.id).inserted {
            formerRelease += max(0, link.amount - (objects[link.key]?.size ?? 0))
        }
        await ledger.settle(at: now) { key in
            let found = objects[key.rawValue].map {
                StoredObject(
                    size: $0.size, etag: $0.etag,
                    modifiedAt: HistoryLedger.start.addingTimeInterval($0.modifiedAt + error))
            }
            return StoreLook(object: found, wasDeleted: deleted.contains(key.rawValue), clockDifference: 0)
        }
        let used = try await ledger.used()
        released += before - used
        let arrived = links.reduce(0) { $0 + ($1.isCounted ? $1.arrived : 0) }
        story.append("\(now): settled, \(used) counted, \(arrived) arrived")
        if arrived > used || arrived > HistoryLedger.limit { flaws.append("\(arrived) arrived, \(used) are counted") }
    }
}

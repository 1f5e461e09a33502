import Foundation
import HTTPTesting
import LibPQ
import PostgresTesting
import Synchronization
import Testing

extension LoadTests {
    /// Grants are revoked and given back through the admin API while 72 clients of three gateways ask under them in
    /// every way. The server's own commit times decide.
    ///
    /// The check is shown to work: it finds violations on a copy of the recording function that has lost its lock.
    @Suite struct RevokeRaceTests {
        private static let clients = 72
        private static let users = 8
        private static let admins = 4
        private static let revokes = setting("SLUICE_TEST_REVOKES", default: 240)

        @Test func `nothing is issued under a grant after its revoke`() async throws {
            let findings = try await race(revokes: Self.revokes)
            #expect(findings.revokes >= Self.revokes)
            #expect(findings.issued > Self.revokes)
            #expect(findings.lateRows.isEmpty)
            #expect(findings.lateAnswers == 0)
            #expect(Set(findings.rows.keys) == findings.ways)
            #expect(findings.rows.values.allSatisfy { $0 >= Self.revokes / 4 }, "\(findings.rows)")
            #expect(findings.wrong.isEmpty)
            #expect(!findings.serverLog.contains("deadlock detected"))
            // A gateway that must wait for a processor gives up a change, and the admin asks again.
            #expect(findings.repeats <= Self.revokes / 2, "\(findings.complaints)")
            if Self.revokes > 240 {
                print("\(findings.revokes) revokes, rows \(findings.rows), \(findings.repeats) changes repeated")
            }
        }

        @Test func `the judge finds what a function without the lock lets through`() async throws {
            // Of a slow way of asking, one round may catch none.
            let findings = try await race(revokes: 50, rounds: 12, withoutLock: true)
            if Self.revokes > 240 { print("without the lock: late \(findings.lateRows) of \(findings.rows)") }
            #expect(Set(findings.lateRows.keys) == findings.ways)
        }

        /// The results of a race.
        struct Findings: Sendable {
            var revokes = 0
            var issued = 0
            /// The ways of asking that were used, as in `rows`.
            var ways: Set<String> = []
            /// Rows of the ledger by delivery, batches counted separately.
            var rows: [String: Int] = [:]
            /// Those of these rows that were committed after the revoke of their grant.
            var lateRows: [String: Int] = [:]
            /// URLs and forms that were requested after the revoke of their grant had been answered.
            var lateAnswers = 0
            /// Answers that are neither a URL nor a refusal.
            var wrong: [String] = []
            /// Number of times an admin was told to ask again.
            var repeats = 0
            var serverLog = ""

            /// The messages in the server's log, with their counts.
            var complaints: [String: Int] {
                let lines = serverLog.split(separator: "\n").compactMap { line in
                    (line.firstRange(of: "ERROR: ") ?? line.firstRange(of: "FATAL: ")).map { line[$0.lowerBound...] }
                }
                return Dictionary(grouping: lines) { String($0.prefix(100)) }.mapValues(\.count)
            }
        }

        /// Races in rounds, until rows of every way of asking are late or no round is left.
        private func race(revokes: Int, rounds: Int = 1, withoutLock: Bool = false) async throws -> Findings {
            var options = ClusterOptions()
            options.trackCommitTimestamp = true
            let cluster = try await TestCluster(options)
            let findings = try await Deployment.with(
                cluster: cluster, gateways: 3, settings: AskingGround.settings
            ) { site in
                if withoutLock { try await Sabotage.lock.apply(at: site) }
            } _: { site in
                let ground = try await site.makeAskingGround()
                var users: [Asker] = []
                for number in 0..<Self.users {
                    let (user, grant) = try await site.makeAsker("racer-\(number)", at: ground)
                    try await site.delete("grants", grant)
                    users.append(user)
                }
                let ways = Set(ground.ways.map { $0 == .inBatches ? "batch" : $0.delivery })
                var findings = Findings()
                for _ in 0..<rounds where Set(findings.lateRows.keys) != ways {
                    let course = Course(users: users.count)
                    try await run(course, users, by: ground.ways, revokes: revokes, at: site)
                    findings = try await judge(course, at: site)
                }
                findings.ways = ways
                return findings
            }
            try await cluster.stop()
            return findings
        }

        /// State that the racing clients share.
        private final class Course: Sendable {
            struct Sighting: Sendable {
                let name: String
                let askedAt: ContinuousClock.Instant
            }

            let tally = Tally()
            let isOver = Flag()
            let repeats = Atomic(0)
            let sightings = Mutex<[Sighting]>([])
            /// The time when the revoke of each grant was answered.
            let revoked = Mutex<[String: ContinuousClock.Instant]>([:])
            private let issued: Mutex<[Int]>

            init(users: Int) { issued = Mutex(Array(repeating: 0, count: users)) }

            func issuedCount(of user: Int) -> Int { issued.withLock { $0[user] } }

            func note(_ answer: RawResponse, askedAt: ContinuousClock.Instant, user: Int) {
                let names = tally.note(answer, expected: [201, 403]).compactMap(\.issued)
                guard !names.isEmpty else { return }
                issued.withLock { $0[user] += 1 }
                sightings.withLock { $0 += names.map { Sighting(name: $0, askedAt: askedAt) } }
            }
        }

        private func run(
            _ course: Course, _ users: [Asker], by ways: [Way], revokes: Int, at site: Deployment
        ) async throws {
            let ports = site.gateways.map(\.port)
            let ways = try ways.map { way in try users.map { try way.request(for: "k", by: $0) } }
            let admin = site.admin
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await onThreads(Self.clients) { index in
                        var connection = KeptConnection()
                        let user = index % users.count
                        let requests = ways[index / users.count % ways.count]
                        while !course.isOver.isRaised {
                            let askedAt = ContinuousClock.now
                            let answer = try connection.exchange(requests[user], port: ports[index % ports.count])
                            course.note(answer, askedAt: askedAt, user: user)
                        }
                    }
                }
                group.addTask {
                    defer { course.isOver.raise() }
                    try await onThreads(Self.admins) { index in
                        var connection = KeptConnection()
                        for turn in 0..<(revokes / Self.admins) {
                            let user = (index + turn * Self.admins) % users.count
                            try Self.grantAndRevoke(
                                user, users[user], over: &connection, admin.at(ports[turn % ports.count]), course)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }

        /// Gives and revokes a grant while URLs are issued under it.
        private static func grantAndRevoke(
            _ user: Int, _ asker: Asker, over connection: inout KeptConnection, _ admin: APIClient, _ course: Course
        ) throws {
            let grant = Deployment.askingGrant(asker.user.principal, in: asker.bucket)
            let before = course.issuedCount(of: user)
            let made = try change("POST", "/admin/v1/grants", grant, over: &connection, admin, course)
            guard made.status == 201, let id = try JSON(made.body)["id"].text else {
                return course.tally.complain("grant: \(made.text)")
            }
            while course.issuedCount(of: user) < before + 4 {
                guard course.tally.wrong.isEmpty else { return }
                Thread.sleep(forTimeInterval: 0.0002)
            }
            let removed = try change("DELETE", "/admin/v1/grants/\(id)", over: &connection, admin, course)
            // An admin that was told to ask again may find the change already made.
            guard removed.status == 204 || removed.status == 404 else {
                return course.tally.complain("revoke: \(removed.text)")
            }
            course.revoked.withLock { $0[id] = .now }
        }

        /// Requests a change until it has a final answer. A row is created only once.
        private static func change(
            _ method: String, _ target: String, _ body: JSON? = nil, over connection: inout KeptConnection,
            _ admin: APIClient, _ course: Course
        ) throws -> RawResponse {
            let headers = method == "POST" ? [(name: "Idempotency-Key", value: UUID().uuidString)] : []
            let request = try admin.request(method, target, body, headers: headers)
            while true {
                let answer = try connection.exchange(request, port: admin.port)
                guard answer.status == 503 || answer.text.contains("IdempotencyKeyInUse") else { return answer }
                course.repeats.add(1, ordering: .relaxed)
                Thread.sleep(forTimeInterval: 0.01)
            }
        }

        /// Judges the answers of a round, and the rows of all rounds so far.
        private func judge(_ course: Course, at site: Deployment) async throws -> Findings {
            var findings = Findings()
            findings.revokes = try await site.number("SELECT count(*) FROM grants WHERE removed_at IS NOT NULL")
            findings.issued = course.tally.count(of: 201)
            findings.rows = try await rows(at: site, where: "true")
            findings.lateRows = try await rows(
                at: site,
                where: "g.removed_at IS NOT NULL"
                    + " AND pg_xact_commit_timestamp(i.xmin) > pg_xact_commit_timestamp(g.xmin)")
            let pairs = try await site.session().texts(
                """
                SELECT grant_id || ' ' || id FROM issuances
                UNION ALL SELECT grant_id || ' request ' || request_id FROM issuances
                """)
            let grants = Dictionary(
                pairs.map { ($0.dropFirst(37), $0.prefix(36).lowercased()) }, uniquingKeysWith: { $1 })
            let revoked = course.revoked.withLock { $0 }
            findings.lateAnswers = course.sightings.withLock { $0 }.count { sighting in
                guard let grant = grants[sighting.name[...]] else { return true }
                return revoked[grant].map { sighting.askedAt > $0 } ?? false
            }
            findings.wrong = course.tally.wrong
            findings.repeats = course.repeats.load(ordering: .relaxed)
            findings.serverLog = try site.cluster.log()
            return findings
        }

        /// Counts rows of the ledger with their grants, by delivery. Rows that shared a request with others count as a
        /// batch.
        private func rows(at site: Deployment, where condition: String) async throws -> [String: Int] {
            let counts = try await site.session().texts(
                """
                SELECT way || ' ' || count(*) FROM (
                    SELECT i.*, i.xmin, CASE WHEN count(*) OVER (PARTITION BY i.request_id) > 1 THEN 'batch'
                        ELSE i.delivery::text END AS way FROM issuances i
                ) i JOIN grants g ON g.id = i.grant_id
                WHERE i.delivery <> 'multipart-start' AND \(condition) GROUP BY way
                """)
            return Dictionary(
                uniqueKeysWithValues: counts.compactMap { line in
                    let fields = line.split(separator: " ")
                    return Int(fields[1]).map { (String(fields[0]), $0) }
                })
        }
    }
}

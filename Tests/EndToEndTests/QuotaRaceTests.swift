import Foundation
import HTTPTesting
import LibPQ
import Testing

extension LoadTests {
    /// Hundreds of clients of three gateways use up a quota, to the last URL or byte and not one more.
    @Suite(.deployment(gateways: 3)) struct QuotaRaceTests {
        private static let limit = 1000
        private static let clientsPerGateway = 64

        /// The kinds of limits.
        enum Limits: String, CaseIterable, Sendable {
            case one = "one quota of a user"
            case two = "two quotas for each request"
            case shared = "one quota that all users share"
            case bytes = "a user's quota of bytes"

            /// The ways whose requests count: a redirect carries no bytes of an upload.
            var ways: [Way] { self == .bytes ? Way.byURL.filter { $0 != .byRedirect } : Way.byURL }
        }

        @Test(arguments: Limits.allCases.flatMap { limits in limits.ways.map { (limits, $0) } })
        func `exactly as many URLs and rows as the quota has`(limits: Limits, asking: Way) async throws {
            let site = try Deployment.current
            let bucket = "race-\(UUID().uuidString.lowercased())"
            let users = try await makeUsers(limits == .shared ? 16 : 1, in: bucket, at: site)
            let quotas = try await limit(users, in: bucket, by: limits, at: site)
            let tally = Tally()
            let keys = Array(repeating: "k", count: asking == .inBatches ? 7 : 1)
            let requests = try users.map {
                try asking.request(for: keys, uploads: limits == .bytes, by: Asker(user: $0, bucket: bucket))
            }
            let ports = site.gateways.map(\.port)
            let clients = ports.count * Self.clientsPerGateway
            try await onThreads(clients) { index in
                var connection = KeptConnection()
                var isOver = false
                while !isOver {
                    let answer = try connection.exchange(
                        requests[index % requests.count], port: ports[index % ports.count])
                    isOver = tally.note(answer, expected: [201, 429]).contains { $0.status != 201 }
                }
            }
            #expect(tally.wrong.isEmpty)
            #expect(tally.count(of: 201) == Self.limit)
            #expect(asking == .inBatches ? tally.count(of: 429) > clients : tally.count(of: 429) == clients)
            #expect(Set(tally.issued).count == Self.limit)
            #expect(try await site.number("SELECT count(*) FROM issuances WHERE bucket = '\(bucket)'") == Self.limit)
            #expect(try await site.number("SELECT count(*) FROM audit_quotas()") == 0)
            let counters = "quota_usage WHERE quota_id IN (\(quotas.map { "'\($0)'" }.joined(separator: ", ")))"
            let used = limits == .bytes ? Self.limit * Way.bytes : Self.limit
            #expect(try await site.number("SELECT min(used) FROM \(counters)") == used)
            // Some would bind the users of the next case, too.
            for quota in quotas { try await site.delete("quotas", quota) }
        }

        /// Periods of half a second end while the clients ask.
        @Test(arguments: zip(Limits.allCases, [Way.oneByOne, .inBatches, .oneByOne, .inBatches]))
        func `each period has the whole quota and not more, although it ends during the race`(
            limits: Limits, asking: Way
        ) async throws {
            let site = try Deployment.current
            try await site.session().runScript(Self.shortMinutes)
            let bucket = "periods-\(UUID().uuidString.lowercased())"
            let users = try await makeUsers(limits == .shared ? 16 : 1, in: bucket, at: site)
            let most = 49
            let quotas = try await limit(users, in: bucket, by: limits, to: most, each: "minute", at: site)
            let tally = Tally()
            let keys = Array(repeating: "k", count: asking == .inBatches ? 7 : 1)
            let requests = try users.map {
                try asking.request(for: keys, uploads: limits == .bytes, by: Asker(user: $0, bucket: bucket))
            }
            let ports = site.gateways.map(\.port)
            // The judge is the ledger: what was recorded within each half second.
            let recorded = """
                SELECT date_bin('500 milliseconds', i.issued_at, timestamptz 'epoch') AS period_start, count(*) AS urls
                FROM issuances i WHERE i.bucket = '\(bucket)' GROUP BY 1
                """
            var full = 0
            // A machine that stops for a second takes two periods with it.
            for _ in 1...3 where full < 2 {
                let end = ContinuousClock.now + .seconds(2)
                try await onThreads(ports.count * 8) { index in
                    var connection = KeptConnection()
                    while ContinuousClock.now < end {
                        let answer = try connection.exchange(
                            requests[index % requests.count], port: ports[index % ports.count])
                        let isRefused = tally.note(answer, expected: [201, 429]).contains { $0.status != 201 }
                        if isRefused { Thread.sleep(forTimeInterval: 0.005) }
                    }
                }
                full = try await site.number("SELECT count(*) FROM (\(recorded)) r WHERE r.urls = \(most)")
            }
            #expect(tally.wrong.isEmpty && tally.count(of: 429) > 0)
            #expect(full >= 2, "few periods were used up")
            #expect(try await site.number("SELECT max(r.urls) FROM (\(recorded)) r") == most)
            for quota in quotas {
                let counted = """
                    SELECT u.period_start, u.used / \(limits == .bytes ? Way.bytes : 1) AS urls
                    FROM quota_usage u WHERE u.quota_id = '\(quota)' AND u.used > 0
                    """
                let difference = "((\(recorded)) EXCEPT (\(counted))) UNION ALL ((\(counted)) EXCEPT (\(recorded)))"
                #expect(try await site.number("SELECT count(*) FROM (\(difference)) d") == 0)
                try await site.delete("quotas", quota)
            }
        }

        /// Makes half a second of what quotas call a minute, in this database alone.
        private static let shortMinutes = """
            CREATE OR REPLACE FUNCTION quota_period_start(p_period text, p_at timestamptz) RETURNS timestamptz
            LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
                SELECT CASE p_period
                    WHEN 'minute' THEN date_bin('500 milliseconds', p_at, timestamptz 'epoch')
                    WHEN 'total' THEN timestamptz 'epoch'
                END
            $$;
            CREATE OR REPLACE FUNCTION quota_period_end(p_period text, p_start timestamptz) RETURNS timestamptz
            LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
                SELECT p_start + CASE p_period WHEN 'minute' THEN interval '500 milliseconds' END
            $$;
            """

        private func makeUsers(_ count: Int, in bucket: String, at site: Deployment) async throws -> [User] {
            var users: [User] = []
            for number in 0..<count {
                users.append(try await site.makeUser("\(bucket)-\(number)"))
            }
            try await site.allowAsking(by: users, in: bucket)
            return users
        }

        /// Makes the quotas; returns their identifiers.
        private func limit(
            _ users: [User], in bucket: String, by limits: Limits, to most: Int = limit, each period: JSON = "total",
            at site: Deployment
        ) async throws -> [String] {
            let user = users[0].principal
            func quota(_ most: Int, for principal: String, _ options: [String: JSON] = [:]) async throws -> String {
                try await site.quota(most, for: principal, options: options.merging(["period": period]) { $1 })
            }
            return switch limits {
            case .one: [try await quota(most, for: user)]
            case .two:
                [
                    try await quota(most + 1, for: user),
                    try await quota(most, for: "*", ["sharing": "shared", "bucket": "\(bucket)"]),
                ]
            case .shared: [try await quota(most, for: "*", ["sharing": "shared"])]
            case .bytes: [try await quota(most * Way.bytes, for: user, ["metric": "bytes"])]
            }
        }
    }
}

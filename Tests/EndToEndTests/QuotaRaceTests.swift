import HTTPTesting
import PostgresTesting
import Testing

extension LoadTests {
    /// Hundreds of clients of three gateways use up a quota, to the last URL or byte and not one more.
    @Suite struct QuotaRaceTests {
        private static let limit = 1000
        private static let gateways = 3
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
            try await Deployment.with(gateways: Self.gateways) { site in
                let users = try await makeUsers(limits == .shared ? 16 : 1, at: site)
                try await limit(users, by: limits, at: site)
                let tally = Tally()
                let keys = Array(repeating: "k", count: asking == .inBatches ? 7 : 1)
                let requests = try users.map {
                    try asking.request(for: keys, uploads: limits == .bytes, by: Asker(user: $0, bucket: "race"))
                }
                let ports = site.gateways.map(\.port)
                try await onThreads(Self.gateways * Self.clientsPerGateway) { index in
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
                let clients = Self.gateways * Self.clientsPerGateway
                #expect(asking == .inBatches ? tally.count(of: 429) > clients : tally.count(of: 429) == clients)
                #expect(Set(tally.issued).count == Self.limit)
                #expect(try await site.number("SELECT count(*) FROM issuances") == Self.limit)
                #expect(try await site.number("SELECT count(*) FROM audit_quotas()") == 0)
                let used = limits == .bytes ? Self.limit * Way.bytes : Self.limit
                #expect(try await site.number("SELECT min(used) FROM quota_usage") == used)
            }
        }

        private func makeUsers(_ count: Int, at site: Deployment) async throws -> [User] {
            var users: [User] = []
            for number in 0..<count {
                users.append(try await site.makeUser("racer-\(number)"))
            }
            try await site.allowAsking(by: users, in: "race")
            return users
        }

        private func limit(_ users: [User], by limits: Limits, at site: Deployment) async throws {
            switch limits {
            case .one:
                try await site.quota(Self.limit, for: users[0].principal)
            case .two:
                try await site.quota(Self.limit + 1, for: users[0].principal)
                try await site.quota(Self.limit, for: "*", options: ["sharing": "shared", "bucket": "race"])
            case .shared:
                try await site.quota(Self.limit, for: "*", options: ["sharing": "shared"])
            case .bytes:
                try await site.quota(
                    Self.limit * Way.bytes, for: users[0].principal, options: ["metric": "bytes"])
            }
        }
    }
}

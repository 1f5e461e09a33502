import Foundation
import HTTPTesting
import PostgresTesting
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
            _ users: [User], in bucket: String, by limits: Limits, at site: Deployment
        ) async throws -> [String] {
            let user = users[0].principal
            return switch limits {
            case .one:
                [try await site.quota(Self.limit, for: user)]
            case .two:
                [
                    try await site.quota(Self.limit + 1, for: user),
                    try await site.quota(Self.limit, for: "*", options: ["sharing": "shared", "bucket": "\(bucket)"]),
                ]
            case .shared:
                [try await site.quota(Self.limit, for: "*", options: ["sharing": "shared"])]
            case .bytes:
                [try await site.quota(Self.limit * Way.bytes, for: user, options: ["metric": "bytes"])]
            }
        }
    }
}

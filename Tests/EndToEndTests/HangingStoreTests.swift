import Foundation
import HTTPTesting
import Synchronization
import Testing

/// Stores that hang, and the service that others get meanwhile, at the running program.
@Suite struct HangingStoreTests {
    private static let deadline = 2
    private static let issuers = 5
    private static let users = 10
    private static let calls = 180

    private final class Counter: Sendable {
        private let count = Atomic(0)
        var value: Int { count.load(ordering: .acquiring) }
        func add(_ number: Int) { count.add(number, ordering: .acquiringAndReleasing) }
    }

    /// Calls three operations for which the gateway asks a store; returns how long each answer took.
    private static func askForStores(
        _ site: Deployment, _ users: [User], buckets: [String], calls: Int, _ sent: Counter
    ) async throws -> [Duration] {
        let admin = site.admin
        return try await withThrowingTaskGroup(of: Duration.self) { group in
            for turn in 0..<calls {
                // Each principal may open eight sessions at once.
                let (user, bucket) = (users[turn % users.count], buckets[turn % buckets.count])
                group.addTask {
                    let request =
                        switch turn / buckets.count % 3 {
                        case 0:
                            try admin.request("POST", "/admin/v1/buckets/\(bucket):validate", keepsConnection: false)
                        case 1:
                            try user.client.request(
                                "POST", "/v1/sts", ["bucket": "\(bucket)", "prefix": "p\(turn)/"],
                                keepsConnection: false)
                        default:
                            try user.client.request(
                                "POST", "/v1/multipart-uploads",
                                ["bucket": "\(bucket)", "key": "p\(turn)/k", "contentType": "image/png"],
                                keepsConnection: false)
                        }
                    let port = admin.port
                    return try await onThread {
                        var connection = try RawConnection(port: port)
                        try connection.send(request.bytes)
                        sent.add(1)
                        let start = ContinuousClock.now
                        let answer = try connection.response()
                        // A validation ends with findings; the others end with a 503, of the store or of the deadline.
                        #expect([200, 429, 503].contains(answer.status), "\(answer.status) \(answer.text)")
                        return .now - start
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func makeBuckets(_ site: Deployment, at endpoints: [String]) async throws -> [String] {
        var buckets: [String] = []
        for (place, endpoint) in endpoints.enumerated() {
            let name = "hanging-\(place)"
            site.keepSecret("secret-of-\(name)")
            let credential = try await site.create(
                "storage-credentials",
                [
                    "name": "\(name)", "accessKeyID": "AKIDEXAMPLE", "secretAccessKey": "secret-of-\(name)",
                    "sessionRole": [
                        "roleARN": "arn:aws:iam::123456789012:role/r", "service": "aws", "endpoint": "\(endpoint)",
                        "region": "eu-west-1",
                    ],
                ])
            try await site.create(
                "buckets",
                [
                    "name": "\(name)", "endpoint": "\(endpoint)", "region": "eu-west-1", "addressing": "path",
                    "credentialID": credential["id"],
                ])
            try await site.grant(["PutObject", "GetObject"], to: "*", in: name)
            buckets.append(name)
        }
        return buckets
    }

    /// Makes issuers that are new to the gateway, each with a token.
    private static func makeIssuers(_ site: Deployment, keysAt origin: String, _ signer: TokenTests.TokenIssuer)
        async throws -> [String]
    {
        var tokens: [String] = []
        for place in 0..<issuers {
            try await site.create(
                "issuers",
                [
                    "issuer": "https://id-\(place).example", "audiences": ["sluice"], "algorithms": ["RS256"],
                    "principalPrefix": "id\(place):", "groupPrefix": "id\(place):", "keys": ["url": "\(origin)/"],
                ])
            let token = try await signer.token(["iss": "https://id-\(place).example"])
            site.keepSecret(token)
            tokens.append(token)
        }
        return tokens
    }

    /// A hanging name server is included where this user may run one. Elsewhere, the tests of the outbound client cover
    /// it.
    @Test func `tokens of new issuers are verified at once while stores hang, and every answer comes in time`()
        async throws
    {
        let stores = try HangingServer.Kind.allCases.map { try HangingServer($0) }
        let names = SilentNameServer.isPossible ? SilentNameServer() : nil
        defer { withExtendedLifetime((stores, names)) {} }
        let nameless = names == nil ? [] : (0..<3).map { "https://store-\($0).example" }
        let signer = try await TokenTests.TokenIssuer("https://id.example")
        let keys = PageServer()
        keys.show(String(decoding: try await signer.keySet().bytes, as: UTF8.self))
        try await keys.serve { origin in
            // By name, so that it must be looked up.
            let origin = origin.replacing("127.0.0.1", with: "localhost")
            let settings = [
                "SLUICE_OUTBOUND_ALLOW": (stores.map(\.origin) + [origin]).joined(separator: ","),
                "SLUICE_HTTP_ANSWER_DEADLINE": "\(Self.deadline)",
            ]
            try await Deployment.with(gateways: 0, settings: settings) { site in
                try await site.startGateway(by: names?.command ?? [])
                var users: [User] = []
                for number in 0..<Self.users { users.append(try await site.makeUser("user-\(number)")) }
                let askers = users
                let buckets = try await Self.makeBuckets(site, at: stores.map(\.origin) + nameless)
                let tokens = try await Self.makeIssuers(site, keysAt: origin, signer)
                let sent = Counter()
                async let durations = Self.askForStores(site, askers, buckets: buckets, calls: Self.calls, sent)
                try await waitUntil("everything is asked for") { sent.value == Self.calls }
                var slowest = Duration.zero
                for token in tokens {
                    let start = ContinuousClock.now
                    let answer = try await site.client(token: token).call("GET", "/v1/access")
                    slowest = max(slowest, .now - start)
                    #expect(answer.status == 200, "\(answer.text)")
                }
                #expect(slowest < .seconds(1))
                let slowestAnswer = try await durations.max() ?? .zero
                #expect(slowestAnswer < .seconds(Self.deadline + 1))
            }
        }
    }
}

import Figures
import Foundation
import Glibc
import HTTPTesting
import TestSupport
import Testing

/// Stores that hang, and the service that others get meanwhile, at the running program.
@Suite struct HangingStoreTests {
    private static let deadline = 4
    private static let issuers = 5
    private static let users = 10
    private static let calls = 180

    /// What the gateway must ask a store for.
    private enum Question: CaseIterable {
        case validation, session, upload

        func request(_ turn: Int, in bucket: String, by user: User, or admin: APIClient) throws -> RawRequest {
            switch self {
            case .validation:
                try admin.request("POST", "/admin/v1/buckets/\(bucket):validate", keepsConnection: false)
            case .session:
                try user.client.request(
                    "POST", "/v1/sts", ["bucket": "\(bucket)", "prefix": "p\(turn)/"], keepsConnection: false)
            case .upload:
                try user.client.request(
                    "POST", "/v1/multipart-uploads",
                    ["bucket": "\(bucket)", "key": "p\(turn)/k", "contentType": "image/png"], keepsConnection: false)
            }
        }
    }

    private struct Call: Sendable {
        let question: Question?
        let status: Int
        let took: Duration
    }

    /// Sends requests at once, each over a connection of its own.
    private static func send(
        _ requests: [(question: Question?, request: RawRequest)], to port: UInt16, _ sent: Counter
    ) async throws -> [Call] {
        try await withThrowingTaskGroup(of: Call.self) { group in
            for (question, request) in requests {
                group.addTask {
                    try await onThread {
                        var connection = try RawConnection(port: port)
                        try connection.send(request.bytes)
                        sent.add(1)
                        let start = ContinuousClock.now
                        let answer = try connection.response()
                        return Call(question: question, status: answer.status, took: .now - start)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Calls three operations for which the gateway asks a store.
    private static func askForStores(
        _ site: Deployment, _ users: [User], buckets: [String], _ sent: Counter
    ) async throws -> [Call] {
        let requests = try (0..<calls).map { turn in
            // Each principal may open eight sessions at once.
            let (user, bucket) = (users[turn % users.count], buckets[turn % buckets.count])
            let question = Question.allCases[turn / buckets.count % Question.allCases.count]
            return (
                question: Question?.some(question),
                request: try question.request(turn, in: bucket, by: user, or: site.admin)
            )
        }
        return try await send(requests, to: site.admin.port, sent)
    }

    /// The longest of as many calls for which the gateway asks nobody: what this machine takes now.
    private static func longestUsualCall(_ site: Deployment, _ users: [User]) async throws -> Duration {
        let requests = try (0..<calls).map { turn in
            let request = try users[turn % users.count].client.request("GET", "/v1/access", keepsConnection: false)
            return (question: Question?.none, request: request)
        }
        let usual = try await send(requests, to: site.admin.port, Counter())
        #expect(usual.allSatisfy { $0.status == 200 })
        return usual.map(\.took).max() ?? .zero
    }

    /// Expects that stores were asked, in vain, and that nothing waited for them any longer.
    private static func expectHanging(_ calls: [Call], with margin: Duration) {
        for question in Question.allCases {
            let own = calls.filter { $0.question == question }
            // A validation ends with findings; the others end with a 503, of the store or of the deadline.
            let expected: Set = question == .validation ? [200, 503] : [503]
            #expect(expected.isSuperset(of: own.map(\.status)), "\(question): \(Set(own.map(\.status)))")
            // Some are refused because too many wait.
            let waited = own.count { $0.took >= Duration.seconds(deadline) / 2 }
            #expect(waited >= (question == .validation ? 1 : own.count / 4), "\(question): \(waited) waited")
        }
        let slowest = calls.map(\.took).max() ?? .zero
        #expect(slowest < .seconds(deadline) + margin, "\(slowest)")
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
        #expect(names != nil || geteuid() != 0 || !Surroundings.areRequired, "root may run a name server")
        defer { withExtendedLifetime((stores, names)) {} }
        let nameless = names == nil ? [] : (0..<3).map { "https://store-\($0).example" }
        let signer = try await TokenTests.TokenIssuer("https://id.example")
        let keySet = String(decoding: try await signer.keySet().bytes, as: UTF8.self)
        let keys = StandIn { _ in .bytes(keySet) }
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
                let margin = try await max(.seconds(2), Self.longestUsualCall(site, users) * 5)
                let sent = Counter()
                async let hanging = Self.askForStores(site, askers, buckets: buckets, sent)
                try await waitUntil("everything is asked for") { sent.value == Self.calls }
                var slowest = Duration.zero
                for token in tokens {
                    let start = ContinuousClock.now
                    let answer = try await site.client(token: token).call("GET", "/v1/access")
                    slowest = max(slowest, .now - start)
                    #expect(answer.status == 200, "\(answer.text)")
                }
                #expect(slowest < margin, "\(slowest)")
                Self.expectHanging(try await hanging, with: margin)
            }
        }
    }
}

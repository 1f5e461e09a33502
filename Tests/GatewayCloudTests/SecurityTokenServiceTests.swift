import Foundation
import GatewayCore
import HTTPServing
import HTTPTesting
import HTTPTypes
import InMemoryLogging
import Logging
import Synchronization
import Testing

@testable import GatewayCloud

/// A request that Alibaba published with its own SDKs, or one made with them.
private struct STSVector: Decodable {
    struct Inputs: Decodable {
        enum CodingKeys: String, CodingKey {
            case method
            case secret = "secret_access_key"
        }

        let method: String
        let secret: String
    }

    struct Expected: Decodable {
        enum CodingKeys: String, CodingKey {
            case url, authorization
            case canonicalRequest = "canonical_request"
            case headers = "required_headers"
        }

        let url: String?
        let authorization: String?
        let canonicalRequest: String?
        let headers: [String: String]
    }

    let name: String
    let inputs: Inputs
    let expected: Expected

    static var all: [STSVector] {
        get throws {
            let file = URL(filePath: #filePath).appending(path: "../../SigningTests/Vectors/sts_alibaba.json")
                .standardized
            return try JSONDecoder().decode([STSVector].self, from: Data(contentsOf: file))
        }
    }
}

@Suite("Opening sessions", .timeLimit(.minutes(2)))
struct SecurityTokenServiceTests {
    private static let now = Date(timeIntervalSince1970: 1_900_000_000)

    private func order(
        _ service: SessionRole.Service, at origin: String, accessKeyID: String = AlibabaSTSStandIn.accessKeyID,
        policy: String = #"{"Version":"1","Statement":[{"Resource":["a/é*"]}]}"#
    ) throws -> SessionOrder {
        SessionOrder(
            credential: StorageCredential(
                id: UUID(), name: "ram", accessKeyID: accessKeyID, secretAccessKey: Secret(AlibabaSTSStandIn.secret),
                createdAt: Self.now),
            role: SessionRole(
                roleARN: "acs:ram::1234567890123456:role/uploader", service: service, endpoint: origin,
                region: "cn-hangzhou"),
            name: "alice", policy: policy, duration: 3600, principal: try Principal("user:alice"))
    }

    private func service(
        _ origin: String, now: Date = Self.now, timeout: Duration = .seconds(20), logs: InMemoryLogHandler = .init()
    ) throws -> SecurityTokenService {
        SecurityTokenService(
            client: OutboundClient(policy: try OutboundPolicy(origins: [origin])),
            logger: Logger(label: "test") { _ in logs }, now: { now },
            randomBytes: { count in (0..<count).map { _ in UInt8.random(in: 0...255) } }, timeout: timeout)
    }

    @Test("the stand-in accepts what Alibaba's SDKs sign, and nothing that differs by a character")
    func standInIsRight() throws {
        var checked = 0
        for vector in try STSVector.all {
            let query: String
            var headers = vector.expected.headers
            if let url = vector.expected.url {
                query = String(url.split(separator: "?", maxSplits: 1)[1])
            } else if let authorization = vector.expected.authorization {
                headers["authorization"] = authorization
                headers["host"] = "sts.cn-hangzhou.aliyuncs.com"
                query = String(try #require(vector.expected.canonicalRequest).split(separator: "\n")[2])
            } else {
                continue
            }
            func flaw(_ query: String, _ headers: [String: String]) -> String? {
                AlibabaSTSStandIn.verify(
                    method: vector.inputs.method, query: query, headers: headers,
                    secret: vector.inputs.secret
                ).flaw
            }
            #expect(flaw(query, headers) == nil, "\(vector.name)")
            #expect(flaw(query.replacing("uploader", with: "uploadex"), headers) == "SignatureDoesNotMatch")
            checked += 1
        }
        #expect(checked >= 3)
    }

    @Test("works with both signatures of Alibaba Cloud", arguments: [SessionRole.Service.alibaba, .alibabaRPC])
    func alibaba(kind: SessionRole.Service) async throws {
        let standIn = AlibabaSTSStandIn(now: { Self.now })
        let peer = StandIn { request in standIn.answer(request.head) }
        try await peer.serve { origin in
            let session = try await service(origin).open(order(kind, at: origin))
            #expect(session.accessKeyID == "STS.N1" && session.sessionToken.reveal() == "CAIS/+=")
            #expect(session.expiresAt == Self.now.addingTimeInterval(3600))
        }
        let call = try #require(standIn.calls.first)
        #expect(call["RoleSessionName"] == "alice" && call["DurationSeconds"] == "3600")
        #expect(call["Policy"] == #"{"Version":"1","Statement":[{"Resource":["a/é*"]}]}"#)
        #expect(standIn.codes.isEmpty)
    }

    @Test("500 who ask for one scope at the same time cause one call")
    func oneCall() async throws {
        let standIn = AlibabaSTSStandIn(now: { Self.now })
        let peer = StandIn { request in standIn.answer(request.head) }
        let ends = try await peer.serve { origin in
            let cache = SessionCache(opener: try service(origin), now: { Self.now })
            let order = try order(.alibaba, at: origin)
            return try await withThrowingTaskGroup(of: Date.self) { group in
                for _ in 0..<500 { group.addTask { try await cache.session(order, endingBy: nil).expiresAt } }
                return try await group.reduce(into: Set<Date>()) { $0.insert($1) }
            }
        }
        #expect(ends.count == 1)
        #expect(standIn.calls.count == 1 && peer.requests.count == 1)
    }

    @Test("a wrong clock, key or policy is told to operators by its code, and tried again only where that may help")
    func refusals() async throws {
        let cases:
            [(offset: TimeInterval, key: String, policy: String, code: String, calls: Int, error: GatewayError)] = [
                (
                    3600, AlibabaSTSStandIn.accessKeyID, "{}", "InvalidTimeStamp.Expired", 2,
                    .unavailable(retryAfter: 60)
                ),
                (0, "LTAIother", "{}", "InvalidAccessKeyId.NotFound", 1, .unavailable(retryAfter: 60)),
            ]
        for (offset, key, policy, code, calls, expected) in cases {
            let standIn = AlibabaSTSStandIn(now: { Self.now.addingTimeInterval(offset) })
            let logs = InMemoryLogHandler()
            let peer = StandIn { request in standIn.answer(request.head) }
            try await peer.serve { origin in
                let service = try service(origin, logs: logs)
                await #expect(throws: expected) {
                    try await service.open(order(.alibaba, at: origin, accessKeyID: key, policy: policy))
                }
            }
            #expect(standIn.codes == Array(repeating: code, count: calls))
            let lines = logs.entries.map { "\($0.message) \($0.metadata)" }.joined()
            #expect(lines.contains(code) && !lines.contains("do not show") && !lines.contains(AlibabaSTSStandIn.secret))
        }
        let standIn = AlibabaSTSStandIn(now: { Self.now })
        try await StandIn { request in standIn.answer(request.head) }.serve { origin in
            let service = try service(origin)
            await #expect {
                try await service.open(order(.alibaba, at: origin, policy: "not JSON"))
            } throws: { error in
                if case .notEnforceable? = error as? GatewayError { true } else { false }
            }
        }
    }

    @Test(
        "throttling is passed on at once; trouble of the service is met with one more attempt and another nonce",
        arguments: [
            ("Throttling.User", 400, 1, GatewayError.slowDown(retryAfter: 2)),
            ("Throttling", 429, 1, .slowDown(retryAfter: 2)),
            ("ServiceUnavailable", 503, 2, .unavailable(retryAfter: 5)),
            ("NoPermission", 403, 1, .unavailable(retryAfter: 60)),
            ("EntityNotExist.Role", 404, 1, .unavailable(retryAfter: 60)),
        ])
    func troubles(code: String, status: Int, calls: Int, error: GatewayError) async throws {
        let peer = StandIn { _ in .bytes(#"{"Code":"\#(code)"}"#, status: .init(code: status)) }
        try await peer.serve { origin in
            let service = try service(origin)
            await #expect(throws: error) { try await service.open(order(.alibaba, at: origin)) }
        }
        #expect(peer.requests.count == calls)
        let nonces = peer.heads.compactMap { $0.headerFields[.init("x-acs-signature-nonce")!] }
        #expect(Set(nonces).count == calls)
    }

    @Test("a trouble that passes is not noticed")
    func recovery() async throws {
        let standIn = AlibabaSTSStandIn(now: { Self.now })
        let isFirst = Mutex(true)
        let peer = StandIn { request in
            let isFirst = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            return isFirst ? .bytes("gateway timeout", status: .gatewayTimeout) : standIn.answer(request.head)
        }
        try await peer.serve { origin in
            let session = try await service(origin).open(order(.alibabaRPC, at: origin))
            #expect(session.accessKeyID == "STS.N1")
        }
        #expect(standIn.calls.count == 1 && peer.requests.count == 2)
    }

    @Test("a service that is slow, absent or elsewhere is unavailable")
    func noAnswer() async throws {
        let peer = StandIn { _ in
            try? await Task.sleep(for: .seconds(30))
            return .bytes("{}")
        }
        try await peer.serve { origin in
            let service = try service(origin, timeout: .milliseconds(200))
            await #expect(throws: GatewayError.unavailable(retryAfter: 5)) {
                try await service.open(order(.alibaba, at: origin))
            }
            let other = try self.service("http://127.0.0.1:1")
            await #expect(throws: GatewayError.unavailable(retryAfter: 5)) {
                try await other.open(order(.alibaba, at: "http://127.0.0.1:1"))
            }
            await #expect(throws: GatewayError.unavailable(retryAfter: 60)) {
                try await other.open(order(.alibaba, at: origin))
            }
        }
    }

    @Test(
        "answers without whole credentials are none",
        arguments: [
            "", "{}", "[]", #"{"Credentials":null}"#,
            #"{"Credentials":{"AccessKeyId":"a","AccessKeySecret":"b","SecurityToken":"","Expiration":"2030-01-01T00:00:00Z"}}"#,
            #"{"Credentials":{"AccessKeyId":"a","AccessKeySecret":"b","SecurityToken":"c","Expiration":"soon"}}"#,
            #"{"Credentials":{"AccessKeyId":"a b","AccessKeySecret":"b","SecurityToken":"c","Expiration":"2030-01-01T00:00:00Z"}}"#,
        ])
    func malformed(body: String) {
        #expect(AssumeRoleAnswer(json: Array(body.utf8)).credential == nil)
        #expect(AssumeRoleAnswer(xml: Array(body.utf8)).credential == nil)
    }

    @Test("AWS's answers are read, fractions of a second left out, and its errors by their code")
    func xml() {
        let body = """
            <AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>\
            <AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s&amp;s</SecretAccessKey><SessionToken>t/+=</SessionToken>\
            <Expiration>2030-03-17T18:46:40.359Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>
            """
        let credential = AssumeRoleAnswer(xml: Array(body.utf8)).credential
        #expect(credential?.secretAccessKey.reveal() == "s&s")
        #expect(credential?.expiresAt == Self.now.addingTimeInterval(3600))
        let error = "<ErrorResponse><Error><Type>Sender</Type><Code>PackedPolicyTooLarge</Code></Error></ErrorResponse>"
        #expect(AssumeRoleAnswer(xml: Array(error.utf8)).code == "PackedPolicyTooLarge")
        #expect(AssumeRoleAnswer(xml: Array("<Error><Code>Access Denied\n</Code></Error>".utf8)).code == nil)
        #expect(
            SessionFailure.refused(status: 400, code: "Throttling").asGatewayError == .slowDown(retryAfter: 2))
    }
}

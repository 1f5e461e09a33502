import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@testable import GatewayAPI

/// Refusals of credentials by rows that another gateway has changed, of which this one has not heard.
@Suite(.timeLimit(.minutes(1))) struct FreshRefusalTests {
    /// Refuses as the test says, one attempt after another, and then accepts.
    private final class ScriptedAuthenticator: Authenticator {
        private let refusals: Mutex<[GatewayError]>
        private let count = Mutex(0)
        var attempts: Int { count.withLock { $0 } }

        init(_ refusals: [GatewayError]) {
            self.refusals = Mutex(refusals)
        }

        func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
            count.withLock { $0 += 1 }
            if let refusal = refusals.withLock({ $0.popLast() }) { throw refusal }
            return try await StubAuthenticator().authenticate(token)
        }
    }

    private static func refused(_ reason: RefusalReason) -> GatewayError {
        .unauthenticated(reason: TokenAuthenticator.refusalText, cause: Cause(reason))
    }

    private func request(_ target: String, token: String) -> APIRequest {
        let method = HTTPRequest.Method.post
        let notes = RequestNotes(TestGateway().responder.router.match(method, target))
        return APIRequest(
            id: "r1", start: .now, method: method, headers: [.authorization: "Bearer \(token)"], notes: notes,
            body: .collected([]), sourceAddress: nil)
    }

    /// The outcome of authentication, how often it was tried, and how often policy was read.
    private func outcome(
        _ refusals: [GatewayError], at target: String = "/v1/presigned-urls"
    ) async -> (error: GatewayError?, attempts: Int, readings: Int) {
        let authenticator = ScriptedAuthenticator(refusals)
        let advances = Advances()
        let step = Authenticate(
            authenticator,
            advancePolicy: { () async throws(GatewayError) in advances.count.withLock { $0 += 1 } })
        var refusal: GatewayError?
        do throws(GatewayError) {
            _ = try await step.caller(of: request(target, token: "user-token"))
        } catch {
            refusal = error
        }
        return (refusal, authenticator.attempts, advances.count.withLock { $0 })
    }

    @Test func `an API key that another gateway made or extended is accepted`() async throws {
        let bytes = (0..<UInt8(APIKeyText.randomByteCount)).map { $0 &* 7 }
        let text = try #require(APIKeyText(randomBytes: bytes))
        let key = APIKey(
            id: uuid("018f0000-0000-7000-8000-0000000000aa"), prefix: text.prefix, hash: text.digest, name: "test",
            principal: try .user("robot"), expiresAt: Date(timeIntervalSince1970: IssuerFixture.start + 10),
            createdAt: .distantPast)
        let fixture = IssuerFixture()
        let request = request("/v1/presigned-urls", token: text.text.reveal())
        /// Authenticates as another request would, some time later.
        func caller() async throws -> Caller {
            let cache = fixture.cache
            let step = Authenticate(
                fixture.authenticator,
                advancePolicy: { () async throws(GatewayError) in try await cache.advance() })
            return try await step.caller(of: request)
        }
        await #expect(throws: Self.refused(.unknownAPIKey)) { try await caller() }
        fixture.policy.change(.apiKey(prefix: key.prefix)) { _, keys in keys = [key] }
        #expect(try await caller().principal == key.principal)
        fixture.clock.value += 10
        await #expect(throws: GatewayError.expiredToken) { try await caller() }
        fixture.policy.change(.apiKey(prefix: key.prefix)) { _, keys in keys[0].expiresAt = nil }
        #expect(try await caller().principal == key.principal)
    }

    @Test(arguments: [
        refused(.unknownIssuer), refused(.badSignature), refused(.wrongAudience),
        GatewayError.credentialExpired(Cause(.apiKeyExpired)),
    ])
    func `a refusal that a change may lift is looked at once more`(refusal: GatewayError) async {
        let lifted = await outcome([refusal])
        #expect(lifted.error == nil && lifted.attempts == 2 && lifted.readings == 1)
        let kept = await outcome([refusal, refusal])
        #expect(kept.error == refusal && kept.attempts == 2 && kept.readings == 1)
        // Here policy is read before.
        let fresh = await outcome([refusal], at: "/admin/v1/grants")
        #expect(fresh.error == refusal && fresh.attempts == 1 && fresh.readings == 1)
    }

    @Test(arguments: [
        refused(.malformedToken), refused(.notYetValid), refused(.unknownTicket),
        GatewayError.credentialExpired(Cause(.tokenExpired)), GatewayError.unavailable(retryAfter: 1),
    ])
    func `any other refusal stands`(refusal: GatewayError) async {
        let kept = await outcome([refusal])
        #expect(kept.error == refusal && kept.attempts == 1 && kept.readings == 0)
    }

    @Test func `a flood of false credentials has policy read ten times a second at most`() async {
        let authenticator = ScriptedAuthenticator(Array(repeating: Self.refused(.unknownAPIKey), count: 10_000))
        let gateway = TestGateway(authenticator: authenticator)
        let start = ContinuousClock.now
        for _ in 0..<200 {
            let answer = await gateway.send(.post, "/v1/presigned-urls", token: "user-token", json: "{}")
            #expect(answer.status == 401)
        }
        let most = Int((ContinuousClock.now - start) / .milliseconds(100)) + 1
        let readings = gateway.advances.count.withLock { $0 }
        #expect((1...most).contains(readings) && authenticator.attempts == 200 + readings)
    }
}

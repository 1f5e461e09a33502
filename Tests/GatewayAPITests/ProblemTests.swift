import ContractTesting
import GatewayCore
import HTTPServing
import HTTPTypes
import Testing

@testable import GatewayAPI

@Suite("Problems")
struct ProblemTests {
    static let refusal = QuotaRefusal(
        quotaID: "q1", metric: .bytes, period: .month, limit: 2_000_000_000_000_000, remaining: 5, resetsIn: 0
    )

    /// Every case of the gateway's errors, with the problem that it becomes.
    static let cases: [(GatewayError, Int, String, String)] = [
        (.invalidArgument(field: "key", reason: "why"), 400, "InvalidArgument", "invalid-argument"),
        (.unauthenticated(reason: "why"), 401, "Unauthenticated", "unauthenticated"),
        (.expiredToken, 401, "ExpiredToken", "expired-token"),
        (.accessDenied, 403, "AccessDenied", "access-denied"),
        (.conditionFailed(.contentType(allowed: ["image/*"])), 403, "AccessDenied", "condition-failed"),
        (.conditionFailed(.contentMD5Required), 403, "AccessDenied", "condition-failed"),
        (.conditionFailed(.contentLengthRequired), 403, "AccessDenied", "condition-failed"),
        (.conditionFailed(.sourceAddress), 403, "AccessDenied", "condition-failed"),
        (.conditionFailed(.redirect), 403, "AccessDenied", "condition-failed"),
        (
            .conditionFailed(.scriptableContentType("image/svg+xml", pattern: "image/*")), 403, "AccessDenied",
            "condition-failed"
        ),
        (.conditionFailed(.responseContentType), 403, "AccessDenied", "condition-failed"),
        (.conditionFailed(.forcedDownload), 403, "AccessDenied", "condition-failed"),
        (.conditionFailed(.versions), 403, "AccessDenied", "condition-failed"),
        (.unproven(.header), 500, "InternalError", "internal-error"),
        (.conditionFailed(.notYetValid), 403, "AccessDenied", "condition-failed"),
        (.conditionFailed(.noLongerValid), 403, "AccessDenied", "condition-failed"),
        (.roleRequired("admin"), 403, "AccessDenied", "role-required"),
        (.outsideAdminScope, 403, "OutsideAdminScope", "outside-admin-scope"),
        (.entityTooLarge(maxBytes: 7), 413, "EntityTooLarge", "entity-too-large"),
        (.notEnforceable(reason: "why"), 422, "NotEnforceable", "not-enforceable"),
        (.quotaExceeded(refusal), 429, "QuotaExceeded", "quota-exceeded"),
        (.notFound(.apiKey), 404, "NoSuchAPIKey", "not-found"),
        (.alreadyExists(.bucket), 409, "AlreadyExists", "already-exists"),
        (.conflict(reason: "why"), 409, "Conflict", "conflict"),
        (.itemsRefused(first: ItemRefusal(.line(1), .conflict(reason: "why")), more: []), 409, "Conflict", "conflict"),
        (.storeRefused(status: 403, code: nil), 502, "StoreRefused", "store-refused"),
        (.preconditionFailed, 412, "PreconditionFailed", "precondition-failed"),
        (.idempotency(.otherRequest), 422, "IdempotencyKeyReused", "idempotency-key-reused"),
        (.idempotency(.inFlight(retryAfter: 2)), 409, "IdempotencyKeyInUse", "idempotency-key-in-use"),
        (.idempotency(.answerGone), 409, "IdempotentAnswerGone", "idempotent-answer-gone"),
        (.slowDown(retryAfter: 2), 503, "SlowDown", "slow-down"),
        (.staleCaller, 503, "SlowDown", "slow-down"),
        (.unavailable(retryAfter: 0), 503, "ServiceUnavailable", "service-unavailable"),
        (.clockDiffers(retryAfter: 2), 503, "ServiceUnavailable", "service-unavailable"),
    ]

    @Test("each error has its status, code and type", arguments: cases)
    func rendering(error: GatewayError, status: Int, code: String, type: String) {
        let problem = Problem(error)
        let answer = TestAnswer(problem.response(requestID: "r1"))
        #expect(answer.status == status)
        #expect(answer.number("status") == status)
        #expect(answer.string("code") == code)
        // Answers and counts of denials have the code of the error; pages, and series of metrics, that of the kind.
        #expect(error.code == code && (problem.kind.code == code || problem.kind == .notFound))
        #expect(answer.string("type") == "/problems/" + type)
        #expect(answer.string("requestID") == "r1")
        #expect(answer.string("title")?.isEmpty == false)
        #expect(answer.headers[.contentType] == "application/problem+json")
        #expect(answer.headers[.cacheControl] == "no-store")
        let waits = [429, 503].contains(status) || code == "IdempotencyKeyInUse"
        #expect((answer.headers[.retryAfter] != nil) == waits)
        #expect((answer.headers[.wwwAuthenticate]?.hasPrefix("Bearer") ?? false) == (status == 401))
        #expect((answer.headers[.rateLimit] != nil) == (status == 429))
    }

    @Test("members tell programs what the detail tells people")
    func members() {
        #expect(
            TestAnswer(Problem(.invalidArgument(field: "a.b", reason: "")).response(requestID: "")).string("field")
                == "a.b")
        #expect(TestAnswer(Problem(.entityTooLarge(maxBytes: 7)).response(requestID: "")).number("maxBytes") == 7)
        #expect(
            TestAnswer(Problem(.conditionFailed(.contentMD5Required)).response(requestID: "")).string("condition")
                == "requireContentMD5")
    }

    /// Every condition, and what its text names besides.
    static let conditions: [(ConditionFailure, String)] = [
        (.contentType(allowed: ["image/*"]), "image/*"),
        (.scriptableContentType("image/svg+xml", pattern: "image/*"), "'image/svg+xml'"),
        (.contentMD5Required, "Content-MD5"), (.contentLengthRequired, "'contentLength'"), (.sourceAddress, "network"),
        (.redirect, "redirects"), (.responseContentType, "'response.contentType'"),
        (.forcedDownload, "'response.contentDisposition'"), (.versions, "'versionID'"), (.notYetValid, "not valid yet"),
        (.noLongerValid, "no longer valid"),
    ]

    @Test("a condition has the name of a member of grants or buckets, and the text says what it asks for")
    func conditionNames() throws {
        let schemas = try #require(try ContractDocument.shared.get().root.components?.schemas)
        func members(_ name: String) -> Set<String> { Set((schemas[name]?.properties?.members ?? [:]).keys) }
        let known = members("GrantConditions").union(members("Grant")).union(members("Bucket"))
        let listed = schemas.Problem?.properties?.condition?["enum"]?.items.compactMap(\.text) ?? []
        #expect(Set(listed) == Set(Self.conditions.map { $0.0.name }) && known.isSuperset(of: listed))
        for (failure, text) in Self.conditions {
            #expect(Problem(GatewayError.conditionFailed(failure)).detail?.contains(text) == true, "\(failure)")
        }
    }

    @Test("RateLimit fields are structured fields: bounded integers, no window for a month, never a wait of 0")
    func rateLimit() {
        let answer = TestAnswer(Problem(.quotaExceeded(Self.refusal)).response(requestID: ""))
        #expect(answer.headers[.rateLimit] == #""q1";r=5;t=0"#)
        #expect(answer.headers[.rateLimitPolicy] == #""q1";q=999999999999999;qu="content-bytes""#)
        #expect(answer.headers[.retryAfter] == "1")
        let total = QuotaRefusal(quotaID: "q", metric: .urls, period: .total, limit: 1, remaining: 0, resetsIn: nil)
        let never = TestAnswer(Problem(.quotaExceeded(total)).response(requestID: ""))
        #expect(answer.string("detail")?.contains(" per ") == true)
        #expect(never.string("detail")?.hasSuffix(" in total.") == true)
        #expect(never.headers[.retryAfter] == nil)
        #expect(never.headers[.rateLimit] == #""q";r=0"#)
    }

    @Test(
        "the server's own refusals have the same form, a request id and the server's status",
        arguments: [
            (.badRequest("why"), "MalformedRequest"), (.requestTimeout, "RequestTimeout"),
            (.contentTooLarge(maxBytes: 9), "RequestTooLarge"), (.uriTooLong, "TargetTooLong"),
            (.expectationFailed, "ExpectationFailed"), (.headerFieldsTooLarge(maxBytes: 9), "HeadersTooLarge"),
            (.unavailable(retryAfter: 4, lacking: .time), "SlowDown"),
        ] as [(ServerFailure, String)]
    )
    func serverFailures(failure: ServerFailure, code: String) {
        let answer = TestAnswer(TestGateway().responder.response(to: failure))
        #expect(answer.status == failure.status.code)
        #expect(answer.string("code") == code)
        #expect(answer.headers[.requestID]?.isEmpty == false)
        #expect(answer.string("requestID") == answer.headers[.requestID])
    }

    @Test("any other error is 500 without detail; its type is in the log, its text is not")
    func otherErrors() {
        struct Leak: Error, CustomStringConvertible { var description: String { "password=hunter2" } }
        let gateway = TestGateway(authenticator: FailingAuthenticator())
        let render = RenderProblems(logger: gateway.logger)
        let request = APIRequest(
            id: "r9", start: .now, method: .get, headers: [:], notes: RequestNotes(.unreadable), body: .collected([]),
            sourceAddress: nil
        )
        let answer = TestAnswer(render.response(to: Leak(), of: request))
        #expect(answer.status == 500)
        #expect(answer.string("code") == "InternalError")
        #expect(answer.string("detail") == nil)
        let lines = gateway.logLines
        #expect(lines.contains("Leak") && lines.contains("r9"))
        #expect(!lines.contains("hunter2") && !answer.text.contains("hunter2"))
    }
}

/// Refuses everyone.
struct FailingAuthenticator: Authenticator {
    func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
        throw .unavailable(retryAfter: 1)
    }
}

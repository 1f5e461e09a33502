import Bytes
import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import PrometheusMetrics
import Synchronization
import Testing

@testable import GatewayAPI

/// The reasons of refusals: for operators in the log and by request id, never for callers.
@Suite struct RefusalTests {
    private static let path = "/v1/presigned-urls"
    private static let body = #"{"action":"GetObject","bucket":"photos","key":"uploads/a"}"#

    /// The one refusal that was kept of an answer. Checks that the log line has its reason.
    private func kept(_ answer: TestAnswer, in gateway: TestGateway) throws -> RefusalRecord {
        let id = try #require(answer.headers[.requestID])
        #expect(answer.string("requestID") == id)
        let rows = gateway.refusals.rows.withLock { $0.filter { $0.requestID == id } }
        let line = try #require(gateway.requestLog.requests.withLock { $0.last { $0.id == id } })
        #expect(rows.count == 1 && line.refusals == rows.map(\.note))
        #expect(line.sourceAddress?.description == "192.0.2.7")
        let row = try #require(rows.first)
        #expect(row.status == answer.status && row.note.code == answer.string("code"))
        return row
    }

    // MARK: 401

    /// A token, and what operators learn of it.
    private struct Case {
        let token: String?
        let reason: RefusalReason
        let subject: String
        var detail: String? = "The token is not accepted."
    }

    private static func apiKey(seed: UInt8, id: String, ends: Date? = nil) throws -> (text: String, row: APIKey) {
        let bytes = (0..<UInt8(APIKeyText.randomByteCount)).map { $0 &* 7 &+ seed }
        let text = try #require(APIKeyText(randomBytes: bytes))
        let row = APIKey(
            id: uuid(id), prefix: text.prefix, hash: text.digest, name: "test", principal: try .user("robot"),
            expiresAt: ends, createdAt: .distantPast)
        return (text.text.reveal(), row)
    }

    @Test func `each kind of 401 has its reason in the log and in its row, and the caller learns no more`() async throws
    {
        let signer = TokenSigner()
        let other = TokenSigner()
        let stranger = TokenSigner("ES256", keyID: "k9")
        let start = Date(timeIntervalSince1970: IssuerFixture.start)
        let good = try Self.apiKey(seed: 1, id: "018f0000-0000-7000-8000-0000000000a1")
        let unknown = try Self.apiKey(seed: 9, id: "018f0000-0000-7000-8000-0000000000a2")
        let ended = try Self.apiKey(seed: 3, id: "018f0000-0000-7000-8000-0000000000a3", ends: start)
        let wrong = good.text.prefix(20) + unknown.text.dropFirst(20)
        let fixture = IssuerFixture(
            [IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk())))], apiKeys: [good.row, ended.row])
        var ticket = try TicketTests.row(seed: 21)
        ticket.ticket.expiresAt = start
        fixture.policy.add(ticket.ticket)
        let unknownTicket = try TicketTests.row(seed: 40).text
        func token(_ claims: [String: String?]) throws -> String { signer.token(IssuerFixture.claims(claims)) }
        let now = Int(IssuerFixture.start)
        let expired = "The credential has expired; fetch a new one."
        let issuer = "issuer 018f0000-0000-7000-8000-000000000001"
        let cases = [
            Case(
                token: nil, reason: .noCredential, subject: "Send 'Authorization",
                detail: "Send 'Authorization: Bearer' with a token."),
            Case(token: "nonsense", reason: .malformedToken, subject: ""),
            Case(
                token: try token(["iss": #""https://elsewhere""#]), reason: .unknownIssuer, subject: "https://elsewhere"
            ),
            Case(token: TokenSigner("ES384").token(), reason: .algorithmNotAccepted, subject: "ES384"),
            Case(token: stranger.token(), reason: .unknownKeyID, subject: "k9"),
            Case(token: other.token(), reason: .badSignature, subject: issuer),
            Case(
                token: try token(["aud": #""other""#]), reason: .wrongAudience, subject: issuer,
                detail: "The token is for another audience."),
            Case(
                token: try token(["aud": nil]), reason: .wrongAudience, subject: "no audience",
                detail:
                    "The token has no audience ('aud'); let the provider add one of those that the issuer's row accepts."
            ),
            Case(
                token: try token(["nbf": "\(now + 500)"]), reason: .notYetValid, subject: issuer,
                detail: "The token is not valid yet."),
            Case(
                token: try token(["sub": nil]), reason: .claimNotAccepted, subject: "subject",
                detail: "The token's subject must be one line of 1 to 512 bytes."),
            Case(
                token: try token(["exp": "\(now - 1)"]), reason: .tokenExpired, subject: "018f0000", detail: expired),
            Case(token: unknown.text, reason: .unknownAPIKey, subject: unknown.row.prefix),
            Case(token: String(wrong), reason: .wrongAPIKey, subject: "018f0000-0000-7000-8000-0000000000a1"),
            Case(
                token: ended.text, reason: .apiKeyExpired, subject: "018f0000-0000-7000-8000-0000000000a3",
                detail: expired),
            Case(token: unknownTicket, reason: .unknownTicket, subject: "ticket"),
            Case(token: ticket.text, reason: .ticketExpired, subject: "of user:alice", detail: expired),
        ]
        for known in cases {
            let gateway = TestGateway(authenticator: fixture.authenticator)
            let answer = await gateway.send(.post, Self.path, token: known.token, json: Self.body)
            #expect(answer.status == 401)
            #expect(answer.string("detail") == known.detail, "\(known.reason)")
            let row = try kept(answer, in: gateway)
            #expect(row.note.reason == known.reason, "\(known.reason)")
            let subject = row.note.subject ?? ""
            #expect(known.subject.isEmpty || subject.contains(known.subject), "\(known.reason): \(subject)")
            #expect(row.principal == nil && row.route == Self.path && row.method == "POST")
            #expect(!answer.text.contains("018f0000-0000-7000-8000-0000000000a"))
            // Nothing that proves an identity is in the log or in the rows.
            guard let token = known.token else { continue }
            let told = gateway.logLines + "\(gateway.refusals.rows.withLock { $0 })"
            #expect(!told.contains(token))
            for part in token.split(separator: ".").dropFirst() { #expect(!told.contains(part)) }
            if token.hasPrefix("sluice_") { #expect(!told.contains(token.suffix(30))) }
        }
    }

    // MARK: 403 and the limits of grants

    @Test func `each refusal of a decision names its condition and grant, and not the key`() async throws {
        let upload = #"{"action":"PutObject","bucket":"photos","key":"uploads/secret-name","contentType":"text/plain"#
        let download = #"{"action":"GetObject","bucket":"photos","key":"uploads/secret-name""#
        let cases: [(GrantConditions, String, RefusalReason, String?)] = [
            (.init(contentTypes: ["image/*"]), upload + "\"}", .conditionFailed, "contentTypes"),
            (.init(requireContentMD5: true), upload + "\"}", .conditionFailed, "requireContentMD5"),
            (.init(sourceCIDRs: ["198.51.100.0/24"]), download + "}", .conditionFailed, "sourceCIDRs"),
            (.init(), download + #","versionID":"v1"}"#, .conditionFailed, "allowVersions"),
            (
                .init(), download + #","response":{"contentType":"image/png"}}"#, .conditionFailed,
                "allowResponseContentType"
            ),
            (
                .init(forceDownload: true), download + #","response":{"contentDisposition":"inline"}}"#,
                .conditionFailed, "forceDownload"
            ),
            (.init(maxBytes: 5), upload + #"","contentLength":6}"#, .entityTooLarge, "at most 5 bytes"),
        ]
        for (conditions, body, reason, subject) in cases {
            let gateway = TestGateway(policy: StubPolicy(conditions: conditions))
            let answer = await gateway.send(.post, Self.path, token: "user-token", json: body)
            let row = try kept(answer, in: gateway)
            #expect(row.note.reason == reason && row.note.subject == subject, "\(body): \(row.note)")
            #expect(row.note.grantID == StubPolicy.grantID && row.principal?.rawValue == "user:alice")
            let target = try #require(row.note.target)
            #expect(target.bucket.rawValue == "photos" && target.keyPrefix == "uploads/")
            // printf uploads/secret-name | sha256sum
            #expect(
                Hex.encode(target.keySHA256) == "fe53e52e5cc0eb4fed8aeac85326206248950b4b389b9ba5cd377b518e2b8ac3")
            #expect(!"\(gateway.logLines)\(row)".contains("secret-name"))
        }
    }

    @Test func `a deny, no grant and no bucket look the same to a user and different to operators`() async throws {
        func ask(_ bucket: String, _ key: String, _ policy: StubPolicy = StubPolicy()) async throws -> (
            String, RefusalRecord
        ) {
            let gateway = TestGateway(policy: policy)
            let answer = await gateway.send(
                .post, Self.path, token: "user-token",
                json: #"{"action":"GetObject","bucket":"\#(bucket)","key":"\#(key)"}"#)
            let id = answer.string("requestID") ?? ""
            return (answer.text.replacing(id, with: ""), try kept(answer, in: gateway))
        }
        let denied = try await ask("photos", "uploads/a", StubPolicy(effect: .deny))
        let absent = try await ask("photos", "private/a")
        let nowhere = try await ask("no-such", "uploads/a")
        #expect(denied.0 == absent.0 && absent.0 == nowhere.0 && !denied.0.contains("detail"))
        #expect(denied.1.note.reason == .deniedByGrant && denied.1.note.grantID == StubPolicy.grantID)
        #expect(absent.1.note.reason == .noGrant && absent.1.note.grantID == nil)
        #expect(nowhere.1.note.reason == .noSuchBucket && nowhere.1.note.target?.bucket.rawValue == "no-such")
    }

    @Test func `a missing role is kept, and malformed requests are not`() async throws {
        let gateway = TestGateway()
        let refused = await gateway.send(.get, "/admin/v1/grants", token: "user-token")
        let row = try kept(refused, in: gateway)
        #expect(row.note.reason == .roleMissing && row.note.subject == "auditor" && row.note.target == nil)
        for (method, path, status) in [
            (HTTPRequest.Method.get, "/nowhere", 404), (.post, "/v1/access", 405), (.get, "/v1/access?x=1", 400),
        ] {
            #expect(await gateway.send(method, path, token: "user-token").status == status)
        }
        #expect(gateway.refusals.rows.withLock { $0.count } == 1)
    }

    @Test func `a batch keeps its first ten refusals, though its status is 200`() async throws {
        let gateway = TestGateway()
        let items = (0..<30).map { #"{"action":"GetObject","bucket":"photos","key":"private/\#($0)"}"# }
        let answer = await gateway.send(
            .post, Self.path + "/batch", token: "user-token", json: "{\"items\":[\(items.joined(separator: ","))]}")
        #expect(answer.status == 200)
        let rows = gateway.refusals.rows.withLock { $0 }
        #expect(rows.count == 10 && Set(rows.compactMap { $0.note.target?.keySHA256 }).count == 10)
        #expect(gateway.requestLog.requests.withLock { $0.last?.refusalCount } == 30)
    }

    @Test func `a dropped refusal is counted and answered like any other`() async throws {
        let gateway = TestGateway()
        gateway.refusals.isFull.withLock { $0 = true }
        #expect(await gateway.send(.get, "/v1/access", token: "wrong").status == 401)
        let text = String(decoding: gateway.metrics.text(), as: UTF8.self)
        #expect(text.contains("\nsluice_refusals_dropped_total 1\n"))
    }

    // MARK: 5xx

    @Test func `the cause of a failure is for operators and admins, once the caller is known to be one`() async throws {
        let cause = Cause("PostgreSQL at 10.9.8.7 refuses", advice: "Try later.")
        let failure = GatewayError.unavailable(retryAfter: 1, cause: cause)
        let gateway = TestGateway(policy: StubPolicy(failure: failure))
        let user = await gateway.send(.post, Self.path, token: "user-token", json: Self.body)
        #expect(user.status == 503 && user.string("detail") == "Try later." && !user.text.contains("10.9.8.7"))
        let row = try kept(user, in: gateway)
        #expect(row.note.reason == .failed && row.note.subject == "PostgreSQL at 10.9.8.7 refuses")
        #expect(gateway.requestLog.requests.withLock { $0.last?.cause?.description } == row.note.subject)
        // The log of policy cannot be read, so nobody knows yet who asks.
        let stranger = await gateway.send(.get, "/admin/v1/grants", token: "admin-token")
        #expect(stranger.status == 503 && stranger.string("detail") == "Try later.")
        let known = TestGateway()
        try await known.makeBucket()
        known.audit.failure.withLock { $0 = failure }
        let admin = await known.send(.post, "/admin/v1/buckets/photos:validate", token: "admin-token")
        #expect(admin.status == 503)
        #expect(admin.string("detail") == "Try later. The cause: PostgreSQL at 10.9.8.7 refuses.")
    }

    // MARK: Clients that have gone

    /// Sends a request whose client hangs up before the answer.
    private func abandon(_ token: String, to gateway: TestGateway) async -> TestAnswer {
        let fields: HeaderFields = [.authorization: "Bearer \(token)", .contentType: "application/json"]
        let request = ServerRequest(
            head: RequestHead(method: .post, target: Self.path, headerFields: fields),
            body: .collected(Array(Self.body.utf8)), remoteAddress: "192.0.2.7")
        request.abandon()
        return await TestAnswer(collecting: gateway.responder.respond(to: request))
    }

    private func counted(_ status: String, in gateway: TestGateway) -> Bool {
        String(decoding: gateway.metrics.text(), as: UTF8.self).contains(
            #"sluice_http_requests_total{method="POST",route="\#(Self.path)",status="\#(status)"} 1\#n"#)
    }

    @Test func `a request that was cancelled because its client had gone is no failure, and nothing is kept of it`()
        async throws
    {
        let failure = GatewayError.unavailable(retryAfter: 1, cause: "the statement was cancelled")
        let gateway = TestGateway(policy: StubPolicy(failure: failure))
        #expect(await abandon("user-token", to: gateway).status == 503)
        let line = try #require(gateway.requestLog.requests.withLock { $0.last })
        #expect(line.status == nil && line.code == nil && line.cause == nil && line.refusals.isEmpty)
        #expect(line.method == "POST" && line.route == Self.path && line.sourceAddress?.description == "192.0.2.7")
        #expect(gateway.refusals.rows.withLock { $0.isEmpty })
        #expect(counted("gone", in: gateway) && !counted("5xx", in: gateway))
        let text = String(decoding: gateway.metrics.text(), as: UTF8.self)
        #expect(text.contains("\nsluice_refused_total{code=\"ServiceUnavailable\"} 0\n"))
        // To a client that waits, the gateway fails.
        let told = await gateway.send(.post, Self.path, token: "user-token", json: Self.body)
        #expect(told.status == 503 && counted("5xx", in: gateway))
        #expect(try kept(told, in: gateway).note.reason == .failed)
    }

    @Test func `a client that leaves amid its body is not refused`() async throws {
        let gateway = TestGateway()
        func send(isAbandoned: Bool, _ error: RequestBodyError) async -> TestAnswer {
            let fields: HeaderFields = [.authorization: "Bearer user-token", .contentType: "application/json"]
            let request = ServerRequest(
                head: RequestHead(method: .post, target: Self.path, headerFields: fields),
                body: .stream(RequestBodyStream { throw error }))
            if isAbandoned { request.abandon() }
            return await TestAnswer(collecting: gateway.responder.respond(to: request))
        }
        #expect(await send(isAbandoned: true, .disconnected).status == 400)
        let line = try #require(gateway.requestLog.requests.withLock { $0.last })
        #expect(line.status == nil && line.code == nil && line.refusals.isEmpty)
        #expect(counted("gone", in: gateway) && !counted("4xx", in: gateway))
        let text = String(decoding: gateway.metrics.text(), as: UTF8.self)
        #expect(text.contains("\nsluice_refused_total{code=\"MalformedRequest\"} 0\n"))
        // What the gateway had refused before stays refused.
        #expect(await send(isAbandoned: true, .tooLarge).status == 413 && counted("4xx", in: gateway))
        // The server is stopping, so it was not the client that left.
        #expect(await send(isAbandoned: false, .disconnected).status == 400 && counted("gone", in: gateway))
    }

    /// Otherwise, whoever guesses credentials would only have to hang up.
    @Test func `a refusal is kept and counted whether or not the client waits for it`() async throws {
        let gateway = TestGateway()
        let refused = await abandon("wrong", to: gateway)
        #expect(refused.status == 401 && counted("4xx", in: gateway) && !counted("gone", in: gateway))
        _ = try kept(refused, in: gateway)
    }

    // MARK: Looking up

    @Test func `an admin finds a refusal by the id in the problem, and a user does not`() async throws {
        let gateway = TestGateway()
        let refused = await gateway.send(
            .post, Self.path, token: "user-token", json: #"{"action":"GetObject","bucket":"photos","key":"private/a"}"#)
        let id = try #require(refused.string("requestID"))
        for token in ["auditor-token", "admin-token"] {
            let found = await gateway.send(.get, "/admin/v1/requests/\(id)", token: token)
            #expect(found.status == 200)
            let row = try #require((found.json["refusals"] as? [[String: Any]])?.first)
            #expect(row["reason"] as? String == "noGrant" && row["keyPrefix"] as? String == "private/")
            #expect(found.number("droppedRefusals") == 0 && found.string("from") != nil)
        }
        #expect(await gateway.send(.get, "/admin/v1/requests/\(id)", token: "user-token").status == 403)
    }

    @Test func `an id of a proxy holds no time, so issuances are searched only in a stated period`() async throws {
        let gateway = TestGateway()
        let path = "/admin/v1/requests/0123456789abcdef0123456789abcdef"
        let plain = await gateway.send(.get, path, token: "auditor-token")
        #expect(plain.status == 200 && (plain.json["issuances"] as? [Any])?.isEmpty == true)
        #expect(plain.string("from") == nil && plain.number("droppedRefusals") == 7)
        let period = "?from=2030-03-17T17:00:00Z&to=2030-03-17T18:00:00Z"
        let bounded = await gateway.send(.get, path + period, token: "auditor-token")
        #expect((bounded.json["issuances"] as? [Any])?.count == 1 && bounded.number("droppedRefusals") == 0)
        for (query, field) in [
            ("?from=2030-03-17T17:00:00Z", "to"), ("?to=2030-03-17T17:00:00Z", "from"),
            ("?from=2030-03-17T17:00:00Z&to=2030-03-18T17:00:01Z", "to"),
            ("?from=2030-03-17T17:00:00Z&to=2030-03-17T17:00:00Z", "to"),
        ] {
            let refused = await gateway.send(.get, path + query, token: "auditor-token")
            #expect(refused.status == 400 && refused.string("field") == field, "\(query)")
        }
        for id in ["short", String(repeating: "a", count: 65), "a%20b-c-d-e"] {
            let answer = await gateway.send(.get, "/admin/v1/requests/\(id)", token: "auditor-token")
            #expect(answer.status == 400 && answer.string("field") == "requestID", "\(id)")
        }
    }
}

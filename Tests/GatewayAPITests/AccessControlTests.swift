import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@testable import GatewayAPI

@Suite("Who may call what")
struct AccessControlTests {
    static let routes = TestGateway().responder.router.routes

    private func path(_ route: Route) -> String {
        route.template.replacing("{bucket}", with: "photos").replacing("{group}", with: "group:staff")
            .replacing("{member}", with: "user:alice").replacing("{id}", with: "018f0000-0000-7000-8000-00000000000c")
            .replacing("{key}", with: "uploads/a").replacing("{file}", with: "style.css").replacing(
                "{kind}", with: "access-denied"
            )
            .replacing("{scope}", with: "photos/uploads/").replacing("{number}", with: "1")
            .replacing("{path}", with: "uploads/objects/batch").replacing("{principal}", with: "user:alice")
    }

    @Test("every route asks for a credential unless it is public, and for the role it names", arguments: routes.indices)
    func roles(index: Int) async {
        let route = Self.routes[index]
        // These take no bearer token.
        guard route.access != .ticket, route.access != .webIdentity else { return }
        let refused: [String?: Int] =
            switch route.access {
            case .anyone, .ticket, .webIdentity: [:]
            case .store:
                [
                    nil: 401, "wrong": 401, "expired-token": 401, "user-token": 401, "auditor-token": 401,
                    "admin-token": 401,
                ]
            case .user, .userOrTicket: [nil: 401, "wrong": 401, "expired-token": 401]
            case .auditor: [nil: 401, "wrong": 401, "expired-token": 401, "user-token": 403]
            case .admin: [nil: 401, "wrong": 401, "expired-token": 401, "user-token": 403, "auditor-token": 403]
            }
        let gateway = TestGateway()
        for token in [nil, "wrong", "expired-token", "user-token", "auditor-token", "admin-token"] {
            let answer = await gateway.send(
                route.method, path(route), token: token, json: route.maxBodyBytes > 0 ? "{}" : nil)
            if let status = refused[token] {
                #expect(answer.toldStatus == status, "\(route.method) \(route.template) as \(token ?? "nobody")")
            } else {
                #expect(
                    ![401, 403].contains(answer.toldStatus), "\(route.method) \(route.template) as \(token ?? "nobody")"
                )
            }
        }
    }

    private static let ofRows = routes.indices.filter { index in
        routes[index].template.contains("{id}")
            || routes[index].access.isOfAdmins && routes[index].template.contains("{")
    }

    /// After a restore, the log tells which rows have to be changed again. What is asked by apps is in the ledger.
    @Test("the log names the row in the path of each operation of admins", arguments: ofRows)
    func rowInLog(index: Int) async {
        let route = Self.routes[index]
        let expected: String? =
            switch route.template {
            case _ where !route.access.isOfAdmins, "/admin/v1/requests/{requestID}": nil
            case "/admin/v1/groups/{group}/members" where route.method == .get: nil
            case let path where path.contains("/members"): "group:staff/user:alice"
            case let path where path.contains("{bucket}"): "photos"
            case let path where path.contains("{principal}"): "user:alice"
            default: "018f0000-0000-7000-8000-00000000000c"
            }
        let body = route.template.hasSuffix("/members") ? #"{"member": "user:alice"}"# : "{}"
        let gateway = TestGateway()
        _ = await gateway.send(
            route.method, path(route), token: "admin-token", headers: [.ifMatch: "*"],
            json: route.maxBodyBytes > 0 ? body : nil)
        #expect(
            gateway.requestLog.requests.withLock { $0.map(\.row) } == [expected], "\(route.method) \(route.template)")
    }

    @Test("every body that is not what its route takes is 400 or 415", arguments: routes.indices)
    func badBodies(index: Int) async {
        let route = Self.routes[index]
        guard route.maxBodyBytes > 0, route.access != .store, case .collect = route.bodyPlan else { return }
        // Protocols have bodies and refusals of their own.
        guard route.clientProtocol == nil else { return }
        let gateway = TestGateway()
        let wrong = [
            "{", "[]", "null", #"{"nosuch":1}"#, #"{"name":1,"member":1,"action":1,"principal":1,"issuer":1}"#,
        ]
        // Changes of rows look up the row first.
        for body in route.method != .post ? [] : wrong + (Self.takesNothing.contains(route.template) ? [] : ["", "{}"])
        {
            let answer = await gateway.send(
                route.method, path(route), token: "admin-token", headers: [.ifMatch: "*"], json: body)
            #expect(answer.status == 400, "\(route.template) \(body): \(answer.text)")
            #expect(answer.string("field")?.isEmpty == false)
        }
        for type in ["text/plain", "application/jsonx", "application/json, application/json", ""] {
            let answer = await gateway.send(
                route.method, path(route), token: "admin-token", headers: [.contentType: type, .ifMatch: "*"],
                json: "{}")
            #expect(answer.status == 415, "\(type)")
        }
    }

    /// Operations whose body may be empty, or an object without members.
    private static let takesNothing: Set<String> = [
        "/v1/issuances/{id}:confirm", "/admin/v1/uploads/{id}:confirm", "/admin/v1/buckets/{bucket}:validate",
        "/admin/v1/api-keys/{id}:rotate", "/admin/v1/buckets/{bucket}/event-secret", "/admin/v1/issuers/{id}:validate",
        "/admin/v1/principals/{principal}:offboard",
    ]

    @Test("every route refuses query parameters it does not have", arguments: routes.indices)
    func unknownQuery(index: Int) async {
        let route = Self.routes[index]
        // Clients of protocols may say more than the gateway needs to know.
        guard route.access != .anyone, route.access != .store, route.clientProtocol == nil else { return }
        let answer = await TestGateway().send(
            route.method, path(route) + "?nosuch=1", token: "admin-token", json: route.maxBodyBytes > 0 ? "{}" : nil)
        #expect(answer.toldStatus == 400)
        #expect(route.refusalForm != nil || answer.string("field") == "nosuch")
    }

    @Test("policy is read up to date before an admin is accepted, and an app user for whom nothing is recorded")
    func freshPolicy() async {
        let gateway = TestGateway()
        let link = await gateway.send(
            .post, "/v1/presigned-urls", token: "user-token",
            json: #"{"action": "GetObject", "bucket": "photos", "key": "uploads/a"}"#)
        #expect(link.status == 201, "it is proved when it is recorded: \(link.text)")
        #expect(gateway.advances.count.withLock { $0 } == 0)
        for (count, target) in [(1, "/v1/access"), (2, "/v1/tickets")] {
            _ = await gateway.send(.get, target, token: "user-token")
            #expect(gateway.advances.count.withLock { $0 } == count)
        }
        _ = await gateway.send(.get, "/admin/v1/grants", token: "admin-token")
        #expect(gateway.advances.count.withLock { $0 } == 3)
        let stranded = TestGateway(policy: StubPolicy(failure: .unavailable(retryAfter: 2)))
        let answer = await stranded.send(.get, "/admin/v1/grants", token: "admin-token")
        #expect(answer.status == 503)
        #expect(answer.headers[.retryAfter] == "2")
    }

    @Test(
        "there is one Authorization field with one bounded bearer token, or none is accepted",
        arguments: [
            ["Basic dXNlcjpwYXNz"], ["Bearer"], ["Bearer "], ["user-token"],
            ["Bearer user-token", "Bearer user-token"],
            ["Bearer user-token x"], ["Bearer user-token, Bearer x"],
            ["Bearer \(String(repeating: "a", count: 8193))"],
            ["Bearer user-tøken"],
        ]
    )
    func authorization(values: [String]) async {
        var headers = HeaderFields()
        headers[values: .authorization] = values
        let answer = await TestGateway().send(.get, "/v1/access", headers: headers)
        #expect(answer.status == 401)
        #expect(answer.headers[.wwwAuthenticate]?.hasPrefix("Bearer") == true)
    }

    @Test("the scheme's name is read without regard to case")
    func schemeCase() async {
        let answer = await TestGateway().send(.get, "/v1/access", headers: [.authorization: "bearer user-token"])
        #expect(answer.status == 200)
    }

    @Test("listeners serve their own routes and no others")
    func listeners() async {
        let app = TestGateway(on: .app)
        let inner = TestGateway(on: .inner)
        for route in Self.routes {
            let isApp = ["/v1/", "/lfs/", "/distribute-token.json", "/companion/"]
                .contains { route.template.hasPrefix($0) }
            // The type of a problem is relative to the address that answered with it.
            let isEverywhere = route.template.hasPrefix("/problems/")
            let onApp = await app.send(route.method, path(route)).status
            let onInner = await inner.send(route.method, path(route)).status
            #expect((onApp == 404) == !(isApp || isEverywhere), "\(route.template)")
            #expect((onInner == 404) == isApp, "\(route.template)")
        }
    }

    @Test(
        "the bootstrap key is an admin, whatever it looks like; everything else goes on to the next authenticator",
        arguments: [
            "bootstrap-0123456789abcdef",
            "sluice_abcdefghijkl_0123456789abcdef0123456789abcdef0123456789a",
        ])
    func bootstrap(text: String) async throws {
        let cache = PolicyCache(source: StubPolicy())
        let key = Secret(text)
        let gateway = TestGateway(
            authenticator: BootstrapAuthenticator(key: key, cache: cache, before: StubAuthenticator()))
        #expect(await gateway.send(.get, "/admin/v1/grants", token: key.reveal()).status == 200)
        #expect(await gateway.send(.get, "/admin/v1/grants", token: key.reveal() + "x").status == 401)
        #expect(await gateway.send(.get, "/admin/v1/grants", token: String(key.reveal().dropLast())).status == 401)
        #expect(await gateway.send(.get, "/admin/v1/grants", token: "auditor-token").status == 200)
        #expect(!gateway.logLines.contains("0123456789abcdef"))
        #expect(gateway.logLines.contains("user:bootstrap-admin"))
    }

    @Test("a route without a body reads none, forms of AWS's less, batches more, the others 64 KiB")
    func bodyPlans() {
        let responder = TestGateway().responder
        for route in Self.routes {
            guard case .collect = route.bodyPlan else { continue }
            let head = RequestHead(method: route.method, target: path(route))
            let others = [
                "/batch": 2_097_152, "/parts": 262_144, "/complete": 2_097_152, ":complete": 2_097_152,
                ":apply": 16_777_216, "/simulate": 1_048_576, "/lfs/{bucket}/{path}": 262_144, "/events/s3": 2_097_152,
                "/events/oss": 2_097_152, "/aws/sts": 16_384, "/aws/sts/": 16_384,
            ]
            let takesBody = [.post, .put, .patch].contains(route.method)
            let bytes = takesBody ? others.first { route.template.hasSuffix($0.key) }?.value ?? 65_536 : 0
            let isLong = [":reset", ":offboard"].contains { route.template.hasSuffix($0) }
            #expect(
                responder.begin(head).body
                    == .collect(maxBytes: bytes, answerDeadline: isLong ? .seconds(40) : nil))
        }
    }
}

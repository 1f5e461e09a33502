import ContractTesting
import Foundation
import HTTPTesting
import LibCrypto
import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// The product of deliveries and causes of refusals: whatever is refused, its reason is in the log, and an admin finds
/// it by the identifier of the request.
@Suite struct RefusalReasonTests {
    /// Reasons by delivery and cause, written down by hand. A hyphen is a cause that the delivery cannot have: a
    /// condition on types where nothing is uploaded, or a bucket that the request does not name.
    private static let table = """
                           grant   source          validity        type            deny          quota
        download           noGrant conditionFailed conditionFailed -               deniedByGrant quotaExceeded
        upload             noGrant conditionFailed conditionFailed conditionFailed deniedByGrant quotaExceeded
        batch              noGrant conditionFailed conditionFailed conditionFailed deniedByGrant quotaExceeded
        form               noGrant conditionFailed conditionFailed conditionFailed deniedByGrant quotaExceeded
        redirect           noGrant conditionFailed conditionFailed -               deniedByGrant quotaExceeded
        part               noGrant conditionFailed conditionFailed conditionFailed deniedByGrant quotaExceeded
        session            noGrant conditionFailed conditionFailed -               deniedByGrant quotaExceeded
        credentials-uri    noGrant conditionFailed conditionFailed -               deniedByGrant quotaExceeded
        signature          noGrant conditionFailed conditionFailed -               deniedByGrant quotaExceeded
        ticket-redirect    noGrant conditionFailed conditionFailed -               deniedByGrant quotaExceeded
        ticket-credentials noGrant conditionFailed conditionFailed -               deniedByGrant quotaExceeded

                           expired       issuer         key           signature    outside           bucket
        download           tokenExpired  unknownIssuer  unknownKeyID  badSignature ticketNotAccepted noSuchBucket
        upload             tokenExpired  unknownIssuer  unknownKeyID  badSignature ticketNotAccepted noSuchBucket
        batch              tokenExpired  unknownIssuer  unknownKeyID  badSignature ticketNotAccepted noSuchBucket
        form               tokenExpired  unknownIssuer  unknownKeyID  badSignature ticketNotAccepted noSuchBucket
        redirect           tokenExpired  unknownIssuer  unknownKeyID  badSignature outsideTicket     noSuchBucket
        part               tokenExpired  unknownIssuer  unknownKeyID  badSignature ticketNotAccepted -
        session            tokenExpired  unknownIssuer  unknownKeyID  badSignature ticketNotAccepted noSuchBucket
        credentials-uri    tokenExpired  unknownIssuer  unknownKeyID  badSignature ticketNotAccepted noSuchBucket
        signature          tokenExpired  unknownIssuer  unknownKeyID  badSignature ticketNotAccepted noSuchBucket
        ticket-redirect    ticketExpired ticketOrphaned unknownTicket wrongTicket  outsideTicket     noSuchBucket
        ticket-credentials ticketExpired ticketOrphaned unknownTicket wrongTicket  -                 -
        """

    /// The cells of the table.
    private static func cells() throws -> [(asked: Asked, cause: Cause, reason: String)] {
        var cells: [(asked: Asked, cause: Cause, reason: String)] = []
        var causes: [Cause] = []
        for line in table.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard let asked = Asked(rawValue: words[0]) else {
                causes = try words.map { try #require(Cause(rawValue: $0)) }
                continue
            }
            try #require(words.count == causes.count + 1, "\(line)")
            cells += zip(causes, words.dropFirst()).map { (asked, $0, $1) }
        }
        try #require(cells.count == Asked.allCases.count * Cause.allCases.count)
        return cells.filter { $0.reason != "-" }
    }

    @Test func `each delivery keeps the right reason for each cause`() async throws {
        // Each request says that it has another address, so that sampling drops none.
        let settings = AskingGround.settings.merging(["SLUICE_TRUSTED_PROXIES": "127.0.0.1/32"]) { $1 }
        try await Deployment.with(gateways: 2, settings: settings) { site in
            let world = try await RefusalWorld(site)
            var expected: [(id: String, reason: String, name: String)] = []
            for (asked, cause, reason) in try Self.cells() where world.has(asked, cause) {
                let name = "\(asked.rawValue) × \(cause.rawValue)"
                // Two gateways, since one keeps ten refusals of a user in five seconds.
                let port = site.gateways[(Asked.allCases.firstIndex(of: asked) ?? 0) % 2].port
                let address = "203.0.113.\(expected.count + 1)"
                let answer = try await world.send(asked, cause, from: address, to: port)
                let id = try #require(answer["X-Request-Id"], "\(name)")
                let found = try await world.auditor.at(port).call("GET", "/admin/v1/requests/\(id)")
                #expect(found.json["droppedRefusals"] == 0 && found.json["issuances"].items.isEmpty, "\(name)")
                try #require(found.json["refusals"].items.count == 1, "\(name): \(answer.text) \(found.text)")
                let row = found.json["refusals"].items[0]
                #expect(row == world.row(asked, cause, reason, answer, address, like: row), "\(name)")
                #expect(!answer.text.contains(reason), "\(name): callers do not learn the reason")
                expected.append((id, reason, name))
            }
            #expect(expected.count > 110, "\(expected.count)")
            for (id, reason, name) in expected {
                try await waitUntil("the line of \(name)", seconds: 10) {
                    site.log.split(separator: "\n").contains {
                        $0.contains(" request.id=\(id) ") && $0.contains(" reason=\(reason) ")
                    }
                }
            }
            #expect(!site.log.contains("hidden-name"))
        }
    }
}

/// What is asked for, and how.
private enum Asked: String, CaseIterable {
    case download, upload, batch, form, redirect, part, session
    case credentialsURI = "credentials-uri"
    case signature
    case ticketRedirect = "ticket-redirect"
    case ticketCredentials = "ticket-credentials"

    /// The same among the ways of other tests; `nil` for those that have none.
    var way: Way? {
        switch self {
        case .download, .upload: .oneByOne
        case .batch: .inBatches
        case .form: .byForm
        case .redirect: .byRedirect
        case .part: .byPart
        case .session: .bySession
        case .signature: .bySignature
        case .credentialsURI, .ticketRedirect, .ticketCredentials: nil
        }
    }

    /// Whether a token service is asked before quotas are.
    var opensSession: Bool { [.session, .credentialsURI, .ticketCredentials].contains(self) }

    var method: String {
        [.redirect, .credentialsURI, .ticketRedirect, .ticketCredentials].contains(self) ? "GET" : "POST"
    }

    var route: String {
        switch self {
        case .download, .upload: "/v1/presigned-urls"
        case .batch: "/v1/presigned-urls/batch"
        case .form: "/v1/post-policies"
        case .redirect, .ticketRedirect: "/v1/objects/{bucket}/{key}"
        case .part: "/v1/multipart-uploads/{id}/parts"
        case .session: "/v1/sts"
        case .credentialsURI: "/v1/sts/oss"
        case .signature: "/v1/signatures/aws-v2"
        case .ticketCredentials: "/distribute-token.json"
        }
    }

    /// The action in the row.
    var action: JSON { [.upload, .batch, .form, .part].contains(self) ? "PutObject" : "GetObject" }
}

/// Why a request is refused.
private enum Cause: String, CaseIterable {
    case grant, source, validity, type, deny, quota, expired, issuer, key, signature, outside, bucket
}

/// Users, tokens and tickets with one flaw each.
private final class RefusalWorld: Sendable {
    /// A user, and what it asks with.
    private struct Party {
        var user: User
        var ticket = ""
        var upload = ""
        /// The grant that refuses.
        var grant: String?
        var quota: String?
    }

    private static let key = "in/hidden-name"
    private static let issuer = "https://id.example"
    private static let formerIssuer = "https://former.example"

    let auditor: APIClient
    private let ground: AskingGround
    private let parties: [Cause: Party]

    init(_ site: Deployment) async throws {
        ground = try await site.makeAskingGround()
        auditor = try await site.makeUser("reasons-auditor", roles: ["auditor"]).client
        let signer = TokenKey("ES256")
        for name in [Self.issuer, Self.formerIssuer] { try await Self.makeIssuer(name, signer, at: site) }
        var parties: [Cause: Party] = [:]
        for cause in Cause.allCases {
            parties[cause] = try await Self.party(cause, signer, in: ground.bucket, at: site)
        }
        self.parties = parties
        // Nobody has used these tickets, so no gateway has them in memory.
        try await site.session().runScript(
            """
            UPDATE tickets SET expires_at = now() - interval '1 second' WHERE principal = 'user:id.example:expired'
            """)
        let former = try await site.admin.call("GET", "/admin/v1/issuers?issuer=\(Self.formerIssuer)")
        try await site.delete("issuers", try #require(former.json["items"].items.first?["id"].text))
    }

    private static func makeIssuer(_ name: String, _ key: TokenKey, at site: Deployment) async throws {
        let jwk = try JSON(Array(#"{"kid":"first","alg":"ES256",\#(key.members)}"#.utf8))
        let prefix = name.dropFirst("https://".count) + ":"
        try await site.create(
            "issuers",
            [
                "issuer": "\(name)", "audiences": ["sluice"], "algorithms": ["ES256"],
                "principalPrefix": "\(prefix)", "groupPrefix": "\(prefix)", "keys": ["inline": ["keys": [jwk]]],
            ])
    }

    /// A token of a user; with the user's flaw unless an issuer is given.
    private static func token(for user: Cause, _ key: TokenKey, from good: String? = nil) throws -> String {
        func has(_ flaw: Cause) -> Bool { good == nil && user == flaw }
        let claims: JSON = [
            "iss": "\(has(.issuer) ? "https://elsewhere.example" : good ?? issuer)", "aud": "sluice",
            "sub": "\(user.rawValue)",
            "exp": .number(Int(Date().timeIntervalSince1970) + (has(.expired) ? -3600 : 3600)),
        ]
        let head: JSON = ["alg": "ES256", "typ": "JWT", "kid": has(.key) ? "second" : "first"]
        let text = TokenKey.base64URL(try head.bytes) + "." + TokenKey.base64URL(try claims.bytes)
        let signer = has(.signature) ? TokenKey("ES256") : key
        return text + "." + TokenKey.base64URL(signer.signature(of: Array(text.utf8)))
    }

    private static func party(
        _ cause: Cause, _ key: TokenKey, in bucket: String, at site: Deployment
    ) async throws -> Party {
        // Tickets are made with a good token. The issuer of one is removed afterwards.
        let home = cause == .issuer ? formerIssuer : issuer
        let principal = "user:" + home.dropFirst("https://".count) + ":" + cause.rawValue
        let (good, flawed) = (try token(for: cause, key, from: home), try token(for: cause, key))
        for token in [good, flawed] { site.keepSecret(token) }
        var party = Party(user: User(principal: principal, keyID: "", client: site.client(token: flawed)))
        if cause != .grant {
            var rule: [String: JSON] = ["conditions": ["allowResponseContentType": true, "allowVersions": true]]
            switch cause {
            case .source: rule["conditions"]?["sourceCIDRs"] = ["198.51.100.0/24"]
            case .validity: rule["notBefore"] = "2199-01-01T00:00:00Z"
            case .type: rule["conditions"]?["contentTypes"] = ["image/png"]
            default: break
            }
            let grant = try await site.grant(["GetObject", "PutObject"], to: principal, in: bucket, options: rule)
            if [.source, .validity, .type].contains(cause) { party.grant = grant }
        }
        if cause == .deny {
            let deny: [String: JSON] = ["effect": "deny"]
            party.grant = try await site.grant(
                ["GetObject", "PutObject"], to: principal, in: bucket, prefix: "in/", options: deny)
        }
        if cause == .quota { party.quota = try await site.quota(0, for: principal) }
        let made = try await site.client(token: good).call(
            "POST", "/v1/tickets", ["bucket": "\(bucket)", "prefix": cause == .outside ? "out/" : "in/"])
        let ticket = try #require(made.json["ticket"].text, "\(made.text)")
        site.keepSecret(ticket)
        // `sluicet_`, a name of twelve characters, and the secret.
        switch cause {
        case .key: party.ticket = "sluicet_nosuchticket_" + ticket.dropFirst(21)
        case .signature: party.ticket = ticket.prefix(21) + String(repeating: "A", count: ticket.count - 21)
        default: party.ticket = ticket
        }
        if cause == .outside { party.user = User(principal: principal, keyID: "", client: site.client(token: ticket)) }
        let uploads = try await site.session().texts(
            """
            INSERT INTO multipart_uploads (
                id, principal, bucket, object_key, content_type, state, store_upload_id, expires_at, check_at
            ) VALUES (
                gen_random_uuid(), '\(principal)', '\(bucket)', '\(self.key)', 'text/plain', 'open', 'upload-1',
                now() + interval '1 hour', now() + interval '1 hour'
            ) RETURNING id::text
            """)
        party.upload = try #require(uploads.first)
        return party
    }

    /// Whether the combination is possible here: sessions need a token service before they need room in a quota.
    func has(_ asked: Asked, _ cause: Cause) -> Bool {
        !asked.opensSession || cause != .quota || ground.ways.contains(.bySession)
    }

    private func bucket(_ cause: Cause) -> String { cause == .bucket ? "nowhere" : ground.bucket }

    /// Sends a request that is to be refused.
    func send(_ asked: Asked, _ cause: Cause, from address: String, to port: UInt16) async throws -> RawResponse {
        let party = try #require(parties[cause])
        let headers = [(name: "X-Forwarded-For", value: address), (name: "Connection", value: "close")]
        let asker = Asker(user: party.user, bucket: bucket(cause), upload: (party.upload, Self.key))
        let request: RawRequest
        switch asked {
        case .credentialsURI:
            let query = "bucket=\(asker.bucket)&prefix=\(Self.key)&actions=GetObject"
            request = try party.user.client.request("GET", "/v1/sts/oss?\(query)", headers: headers)
        case .ticketRedirect:
            request = try APIClient(port: port).request(
                "GET", "/v1/objects/\(asker.bucket)/\(Self.key)?ticket=\(party.ticket)", headers: headers)
        case .ticketCredentials:
            request = try APIClient(port: port).request(
                "GET", "/distribute-token.json?ticket=\(party.ticket)", headers: headers)
        default:
            request = try #require(asked.way).request(
                for: [Self.key], uploads: asked == .upload || asked == .batch, by: asker, headers: headers)
        }
        let answer = try await request.answer(fromPort: port)
        expectContractKept(request.exchange(answer))
        return answer
    }

    /// The row that is to be kept of a refused request. Only the time, and what is said about a credential, are taken
    /// from the row that was found.
    func row(
        _ asked: Asked, _ cause: Cause, _ reason: String, _ answer: RawResponse, _ address: String, like found: JSON
    ) -> JSON {
        var row: JSON = [
            "refusedAt": found["refusedAt"], "method": "\(asked.method)", "route": "\(asked.route)",
            "status": .number(answer.status), "reason": "\(reason)", "sourceAddress": "\(address)",
        ]
        let isAboutCredential =
            [.expired, .issuer, .key, .signature].contains(cause) || reason == "ticketNotAccepted"
        if isAboutCredential {
            row["code"] = reason.hasSuffix("Expired") ? "ExpiredToken" : "Unauthenticated"
            row["subject"] = .string(found["subject"].text ?? "the subject is missing")
            return row
        }
        let party = parties[cause]
        row["code"] = cause == .quota ? "QuotaExceeded" : "AccessDenied"
        switch cause {
        case .source: row["subject"] = "sourceCIDRs"
        case .validity: row["subject"] = "notBefore"
        case .type: row["subject"] = "contentTypes"
        case .quota: row["subject"] = .string("quota " + (party?.quota ?? ""))
        default: break
        }
        row["principal"] = .string(party?.user.principal ?? "")
        row["bucket"] = .string(bucket(cause))
        // A ticket of the table permits both actions.
        row["action"] = asked == .ticketCredentials ? .null : asked.action
        row["keyPrefix"] = "in/"
        let text = asked == .ticketCredentials ? "in/" : Self.key
        row["keySHA256"] = .string(DigestAlgorithm.sha256.digest(of: text).hex)
        row["grantID"] = party?.grant.map { .string($0) } ?? .null
        return row
    }
}

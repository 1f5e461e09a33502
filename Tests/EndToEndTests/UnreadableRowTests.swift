import Foundation
import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// Every kind of row that this version cannot read, at every delivery.
///
/// The rows are changed by SQL, as a later version or somebody with `psql` would. What must come of them:
/// - Whatever rests on such a row is refused with 503 for a minute, and nothing of it is on record.
/// - What rests on the row is: for a bucket, all that is asked for in it; for a credential, what it signs; for a grant,
///   a quota or a membership, whatever their principal asks for anywhere; for an API key or an issuer, whatever its
///   holder asks for.
/// - Everybody else is served as before. Who has no grant in a bucket gets the answer of one that does not exist.
/// - The log names the row.
///
/// No store listens. What asks a store fails by itself, but never for a minute.
@Suite struct UnreadableRowTests {
    /// Where the store would be.
    fileprivate static let endpoint = "http://127.0.0.1:1"

    @Test(.timeLimit(.minutes(5)))
    func `what rests on a row that cannot be read is refused, and nothing else is`() async throws {
        try await Deployment.with(settings: ["SLUICE_OUTBOUND_ALLOW": Self.endpoint]) { site in
            try await site.makeBucket("open", endpoint: Self.endpoint)
            let session = try site.session()
            try await session.runScript(Self.loosening)
            let stranger = try await site.makeUser("stranger")
            let nowhere = Asker(user: stranger, bucket: "no-such-bucket", endpoint: Self.endpoint)
            var refusals: [Delivery.Outcome] = []
            let withoutUpload = Delivery.all.filter { !$0.needsUpload }
            for delivery in withoutUpload { refusals.append(try await delivery.outcome(for: nowhere)) }
            #expect(!refusals.contains(.issued) && !refusals.contains(.unavailable), "\(refusals)")
            var neighbours: [Asker] = []
            for (number, row) in UnreadableRow.all.enumerated() {
                let ground = try await Ground("unread-\(100 + number)", byToken: row.byToken, at: site, session)
                for caller in [ground.asker, ground.neighbour] {
                    let found = try await Delivery.way(.oneByOne).outcome(for: caller)
                    #expect(found == .issued, "\(row.name): before the change")
                }
                try await session.runScript("\(row.change(ground)); \(ground.announcement)")
                try await check(row, at: ground, site, session)
                let nearby = Asker(user: stranger, bucket: ground.bucket, endpoint: Self.endpoint)
                for (delivery, refusal) in zip(withoutUpload, refusals) {
                    let found = try await delivery.outcome(for: nearby)
                    #expect(found == refusal, "\(row.name): \(delivery) for a stranger")
                }
                if !row.reach.isOfBucket { neighbours.append(ground.neighbour) }
            }
            try await checkAnyone(neighbours, at: site, session)
            await session.close()
        }
    }

    /// Drops what a later version's migrations would replace.
    private static let loosening = """
        ALTER TABLE buckets DROP CONSTRAINT buckets_scheme_check, DROP CONSTRAINT buckets_provider_check,
            DROP CONSTRAINT buckets_addressing_check, DROP CONSTRAINT buckets_credential_kind_fkey;
        ALTER TABLE storage_credentials DROP CONSTRAINT storage_credentials_kind_check;
        ALTER TABLE grants DROP CONSTRAINT grants_actions_check, DROP CONSTRAINT grants_effect_check;
        ALTER TABLE quotas DROP CONSTRAINT quotas_metric_check, DROP CONSTRAINT quotas_period_check,
            DROP CONSTRAINT quotas_sharing_check, DROP CONSTRAINT quotas_action_check,
            DROP CONSTRAINT quotas_bytes_action_check;
        ALTER TABLE group_members DROP CONSTRAINT group_members_kinds_check;
        ALTER TABLE api_keys DROP CONSTRAINT api_keys_roles_check;
        """

    /// Asks in every way once the row has changed.
    private func check(
        _ row: UnreadableRow, at ground: Ground, _ site: Deployment, _ session: PostgresConnection
    ) async throws {
        let asker = ground.asker
        var issued: Int64 = 0
        // The first one is decided by the rows before the change. The ledger does not take it, so they are read again.
        for delivery in Delivery.all {
            let found = try await delivery.outcome(for: asker)
            if found == .issued { issued += 1 }
            let isConcerned = row.reach.concerns(delivery)
            if isConcerned { #expect(found == .unavailable, "\(row.name): \(delivery)") }
            if !isConcerned, !delivery.needsStore { #expect(found == .issued, "\(row.name): \(delivery)") }
        }
        let recorded = try await session.number(
            """
            SELECT count(*) FROM issuances
            WHERE principal = '\(asker.user.principal)' AND bucket = '\(asker.bucket)'
            """)
        // One was recorded before the change.
        #expect(recorded > issued, "\(row.name)")
        if Delivery.all.allSatisfy({ row.reach.concerns($0) }) { #expect(recorded == 1, "\(row.name)") }

        for delivery in [Delivery.way(.oneByOne), .way(.byCookies)] {
            let expected: Delivery.Outcome =
                row.reach.isOfBucket && row.reach.concerns(delivery) ? .unavailable : .issued
            let found = try await delivery.outcome(for: ground.neighbour)
            #expect(found == expected, "\(row.name): \(delivery) for a neighbour")
        }
        let elsewhere = Asker(user: asker.user, bucket: "open", endpoint: Self.endpoint)
        let expected: Delivery.Outcome = row.reach.isOfCaller ? .unavailable : .issued
        let found = try await Delivery.way(.oneByOne).outcome(for: elsewhere)
        #expect(found == expected, "\(row.name): in another bucket")
        if row.reach == .key, let other = ground.otherKey {
            let user = Asker(user: other, bucket: asker.bucket, endpoint: Self.endpoint)
            let found = try await Delivery.way(.oneByOne).outcome(for: user)
            #expect(found == .issued, "\(row.name): with another key of the principal")
        }
        guard let text = row.inLog?(ground) else { return }
        do {
            try await waitUntil("the log names the row", seconds: 5) {
                site.log.split(separator: "\n").contains { line in
                    ["rows of policy cannot be read", "a secret does not open"].contains { line.contains($0) }
                        && line.contains(text)
                }
            }
        } catch {
            Issue.record(error, "\(row.name): \(text)")
        }
    }

    /// A grant of `*` that cannot be read concerns all. Once it has gone, everybody is served who was.
    private func checkAnyone(
        _ callers: [Asker], at site: Deployment, _ session: PostgresConnection
    ) async throws {
        let id = try await site.grant(["GetObject"], to: "*", in: "open", prefix: "elsewhere/")
        let announcement = "SELECT append_policy_log('{*}', 'tests', '')"
        try await session.runScript(
            "UPDATE grants SET conditions = '{\"onlyFrom\": [\"x\"]}' WHERE id = '\(id)'; \(announcement)")
        let first = try #require(callers.first)
        for delivery in [Delivery.way(.oneByOne), .way(.byForm), .way(.byRequest), .way(.byCookies), .lfs] {
            let found = try await delivery.outcome(for: first)
            #expect(found == .unavailable, "a grant of *: \(delivery)")
        }
        try await session.runScript("DELETE FROM grants WHERE id = '\(id)'; \(announcement)")
        for caller in callers {
            let found = try await Delivery.way(.oneByOne).outcome(for: caller)
            #expect(found == .issued, "without the grant of *: \(caller.bucket)")
        }
    }
}

/// Who is concerned by a row.
private enum Reach {
    /// Whoever has a grant in the bucket and asks for something in it.
    case bucket
    /// The same, except for what the key of the CDN signs.
    case signing
    /// Whoever asks for cookies in the bucket.
    case cookies
    /// The principal, whatever it asks for.
    case caller
    /// The holder of the credential, whatever it asks for.
    case key
    case nobody

    var isOfBucket: Bool { [.bucket, .signing, .cookies].contains(self) }
    var isOfCaller: Bool { [.caller, .key].contains(self) }

    /// Whether it concerns the caller's request in the bucket of the case.
    func concerns(_ delivery: Delivery) -> Bool {
        switch self {
        case .bucket, .caller, .key: true
        case .signing: delivery != .way(.byCookies)
        case .cookies: delivery == .way(.byCookies)
        case .nobody: false
        }
    }
}

/// A bucket with its credentials, a caller with all kinds of rows, and a neighbour, all of one case alone.
private struct Ground: Sendable {
    let credential: String
    let cdnCredential: String
    let asker: Asker
    let neighbour: Asker
    /// The caller with another API key; `nil` if it has a token.
    let otherKey: User?
    let keyPrefix: String
    let issuer: String
    /// A grant of the caller for something that nobody asks for.
    let grant: String
    /// The same of its group.
    let grantOfGroup: String
    let quota: String
    /// Appends a line to the log of policy that names all these rows.
    let announcement: String

    var bucket: String { asker.bucket }

    init(_ name: String, byToken: Bool, at site: Deployment, _ session: PostgresConnection) async throws {
        let endpoint = UnreadableRowTests.endpoint
        (credential, cdnCredential) = try await site.makeOpenBucket(name, endpoint: endpoint)
        let near = try await site.makeUser("near-\(name)")
        let user: User
        if byToken {
            (user, issuer) = try await Self.makeTokenUser(name, at: site)
            (otherKey, keyPrefix) = (nil, "")
        } else {
            user = try await site.makeUser(name, groups: [name])
            issuer = ""
            otherKey = try await site.makeUser(name)
            let prefixes = try await session.texts("SELECT prefix FROM api_keys WHERE id = '\(user.keyID)'")
            keyPrefix = try #require(prefixes.first)
        }
        let principal = user.principal
        for caller in [principal, near.principal] { try await site.allowEverything(to: caller, in: name) }
        try await site.grant(["GetObject"], to: principal, in: "open", prefix: "own/")
        grant = try await site.grant(["GetObject"], to: principal, in: "open", prefix: "elsewhere/")
        grantOfGroup = try await site.grant(["GetObject"], to: "group:\(name)", in: "open", prefix: "elsewhere/")
        quota = try await site.quota(1_000_000, for: principal)

        var asking = Asker(user: user, bucket: name, endpoint: endpoint)
        asking.upload = try await session.addUpload(of: principal, in: name)
        asker = asking
        neighbour = Asker(user: near, bucket: name, endpoint: endpoint)
        announcement = """
            SELECT append_policy_log(
                ARRAY['bucket:\(name)', 'credential:\(credential)', 'credential:\(cdnCredential)', '\(principal)',
                    'group:\(name)', 'apikey:\(keyPrefix)', 'issuer:https://\(name).example'],
                'tests', '')
            """
    }

    /// Makes an issuer of one case, and a user with its token.
    private static func makeTokenUser(
        _ name: String, at site: Deployment
    ) async throws -> (user: User, issuer: String) {
        let key = TokenKey("ES256")
        let jwk = try JSON(Array(#"{"kid":"first","alg":"ES256",\#(key.members)}"#.utf8))
        let issuer = try await site.create(
            "issuers",
            [
                "issuer": "https://\(name).example", "audiences": ["sluice"], "algorithms": ["ES256"],
                "principalPrefix": "\(name):", "groupPrefix": "\(name):", "keys": ["inline": ["keys": [jwk]]],
            ])
        let end = Int(Date().timeIntervalSince1970) + 3600
        let claims: JSON = [
            "iss": "https://\(name).example", "aud": "sluice", "sub": "alice", "exp": .number(end),
        ]
        let head: JSON = ["alg": "ES256", "typ": "JWT", "kid": "first"]
        let text = TokenKey.base64URL(try head.bytes) + "." + TokenKey.base64URL(try claims.bytes)
        let token = text + "." + TokenKey.base64URL(key.signature(of: Array(text.utf8)))
        site.keepSecret(token)
        let user = User(principal: "user:\(name):alice", keyID: "", client: site.client(token: token))
        return (user, try #require(issuer["id"].text))
    }
}

/// A change of a row after which this version cannot read it, or cannot read all of it.
private struct UnreadableRow: Sendable {
    let name: String
    let reach: Reach
    /// Whether the caller has a token of an issuer of its own, instead of an API key.
    var byToken = false
    /// What the line in the log contains; `nil` if there is none.
    var inLog: (@Sendable (Ground) -> String)?
    let change: @Sendable (Ground) -> String

    static let all: [UnreadableRow] = [buckets, credentials, grants, quotas, others, keys, issuers].flatMap { $0 }

    private static let buckets: [UnreadableRow] = [
        ("scheme", "scheme = 'aws-v5'"), ("provider", "provider = 'azure'"), ("addressing", "addressing = 'host'"),
        ("encryption", #"encryption = '{"algorithm": "AES256", "context": "c"}'"#),
        ("algorithm", #"encryption = '{"algorithm": "AES512"}'"#),
        ("scheme of the CDN", #"public_endpoints = jsonb_set(public_endpoints, '{cdn,signing,scheme}', '"later"')"#),
        ("limit of the CDN", #"public_endpoints = jsonb_set(public_endpoints, '{cdn,signing,regions}', '["de"]')"#),
    ].map { name, assignment in
        UnreadableRow(name: "bucket: \(name)", reach: .bucket, inLog: { "bucket:\($0.bucket)" }) {
            "UPDATE buckets SET \(assignment) WHERE name = '\($0.bucket)'"
        }
    }

    private static let credentials: [UnreadableRow] = [
        ("kind", Reach.signing, false, "kind = 'hsm'"),
        ("role", Reach.signing, false, #"session_role = session_role || '{"tags": ["x"]}'"#),
        ("master key", Reach.signing, false, "key_id = 'gone'"),
        ("secret", Reach.signing, false, "sealed = substr(sealed, 2)"),
        ("kind of the CDN's", Reach.cookies, true, "kind = 'hsm'"),
        ("master key of the CDN's", Reach.cookies, true, "key_id = 'gone'"),
        ("secret of the CDN's", Reach.cookies, true, "sealed = substr(sealed, 2)"),
    ].map { name, reach, isOfCDN, assignment in
        let id: @Sendable (Ground) -> String = { isOfCDN ? $0.cdnCredential : $0.credential }
        return UnreadableRow(name: "credential: \(name)", reach: reach, inLog: id) {
            "UPDATE storage_credentials SET \(assignment) WHERE id = '\(id($0))'"
        }
    }

    private static let grants: [UnreadableRow] = [
        ("condition", false, #"conditions = '{"onlyFrom": ["x"]}'"#),
        ("malformed condition", false, #"conditions = '{"maxTTL": "soon"}'"#),
        ("action", false, "actions = '{RestoreObject}'"), ("effect", false, "effect = 'ask'"),
        ("condition of one that denies", false, #"effect = 'deny', conditions = '{"unless": ["x"]}'"#),
        ("variable of one that denies", false, "effect = 'deny', is_template = true, prefix = '${department}/'"),
        ("bucket", false, "bucket = 'NO'"), ("group", true, #"conditions = '{"onlyFrom": ["x"]}'"#),
    ].map { name, isOfGroup, assignment in
        let id: @Sendable (Ground) -> String = { isOfGroup ? $0.grantOfGroup : $0.grant }
        return UnreadableRow(name: "grant: \(name)", reach: .caller, inLog: { "grant \(id($0))" }) {
            "UPDATE grants SET \(assignment) WHERE id = '\(id($0))'"
        }
    }

    private static let quotas: [UnreadableRow] = [
        "metric = 'requests'", "period = 'week'", "sharing = 'pooled'", "action = 'RestoreObject'",
    ].map { assignment in
        UnreadableRow(name: "quota: \(assignment)", reach: .caller, inLog: { "quota \($0.quota)" }) {
            "UPDATE quotas SET \(assignment) WHERE id = '\($0.quota)'"
        }
    }

    private static let others: [UnreadableRow] = [
        UnreadableRow(name: "membership", reach: .caller, inLog: { $0.asker.user.principal }) {
            "INSERT INTO group_members VALUES ('team:x', '\($0.asker.user.principal)')"
        },
        UnreadableRow(name: "protocol of the bucket", reach: .nobody, inLog: nil) {
            "UPDATE buckets SET protocols = protocols || '{nfs}' WHERE name = '\($0.bucket)'"
        },
    ]

    private static let keys: [UnreadableRow] = [
        #"admin_scopes = '[{"bucket": "b", "prefix": "", "actions": ["GetObject"]}]', roles = '{admin}'"#,
        "roles = '{operator}'", "principal = 'team:x'",
    ].map { assignment in
        UnreadableRow(name: "API key: \(assignment)", reach: .key, inLog: { "apikey:\($0.keyPrefix)" }) {
            "UPDATE api_keys SET \(assignment) WHERE id = '\($0.asker.user.keyID)'"
        }
    }

    private static let issuers: [UnreadableRow] = [
        #"roles_claim = 'r', roles = '[{"role": "admin", "values": ["a"], "unless": ["b"]}]'"#,
        #"console = '{"clientID": "c", "scopes": [], "send": "id_token", "later": 1}'"#,
        #"keys_inline = NULL, keys_sealed = '\x00', key_id = 'gone'"#,
    ].map { assignment in
        UnreadableRow(name: "issuer: \(assignment)", reach: .key, byToken: true, inLog: { $0.issuer }) {
            "UPDATE issuers SET \(assignment) WHERE id = '\($0.issuer)'"
        }
    }
}

import Foundation
import HTTPTesting
import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// Requests that are sent again with their idempotency key once something was changed: every way of asking, with every
/// change, whether the first answer was given or its gateway died before.
///
/// Two judges know nothing of keys: the table that says what a change means, and the same request without its key.
@Suite(.timeLimit(.minutes(5))) struct RepetitionTests {
    /// The ways whose routes take a key.
    private static let ways: [Way] = [.oneByOne, .inBatches, .byForm, .byPart, .bySignature, .byCookies]

    @Test func `a repetition gets what it got or nothing, whatever was changed in between`() async throws {
        try await Deployment.with(settings: AskingGround.settings) { site in
            #expect(AskingGround.hasStore || !StoreKind.radosgw.isExpected)
            let session = try site.session()
            for way in Self.ways where way != .byPart || AskingGround.hasStore {
                for change in Change.allCases {
                    for isInterrupted in [false, true] {
                        try await tryOut(way, change, isInterrupted: isInterrupted, at: site, session)
                    }
                }
            }
        }
    }

    /// Asks, makes the change, and asks again, with the key and without it.
    private func tryOut(
        _ way: Way, _ change: Change, isInterrupted: Bool, at site: Deployment, _ session: PostgresConnection
    ) async throws {
        let name = "\(way)-\(change)-\(isInterrupted)".lowercased()
        let what: Comment = "\(way.rawValue), \(change), \(isInterrupted ? "interrupted" : "answered")"
        let ground = try await site.makeAskingGround(name, needsStore: way == .byPart)
        let (asker, grant) = try await site.makeAsker(name, at: ground)
        let quota = try await site.quota(1000, for: asker.user.principal)
        let scene = Scene(
            site: site, session: session, ground: ground, asker: asker, grant: grant, quota: quota)
        let keys = Array(repeating: "k", count: way == .inBatches ? 7 : 1)
        let request = try way.request(for: keys, uploads: true, by: asker)

        let first = try await scene.send(request, key: "key")
        #expect(first.isIssued && !first.isReplayed, "\(what): \(first.text)")
        if isInterrupted {
            try await session.runScript(
                """
                UPDATE idempotency_keys SET answered_at = NULL, claimed_until = now()
                WHERE caller = '\(asker.user.principal)'
                """)
            let interrupted = "caller = '\(asker.user.principal)' AND answered_at IS NULL"
            #expect(try await session.number("SELECT count(*) FROM idempotency_keys WHERE \(interrupted)") == 1, what)
        }
        let records = try await scene.records()
        let token = try await change.make(in: scene)
        let second = try await scene.send(request, key: "key", token: token)
        #expect(try await scene.records() == records, "\(what): \(second.text)")
        let fresh = try await scene.send(request, token: token)
        let mayIssue = fresh.isIssued || fresh.codes == ["QuotaExceeded"]
        #expect(mayIssue || !second.isIssued, "\(what): issued, although anew \(fresh.text)")
        switch change.outcome(of: way) {
        case .same: #expect(second.isReplayed && second.text == first.text, "\(what): \(second.text)")
        case .signedAnew:
            #expect(second.isReplayed && second.isIssued && second.text != first.text, "\(what): \(second.text)")
        case .gone: #expect(second.codes == ["IdempotentAnswerGone"], "\(what): \(second.text)")
        case .refused: #expect(!second.isIssued && second.codes == fresh.codes, "\(what): \(second.text)")
        }
        if ground.isAtStore { try await scene.removeBucket() }
    }

    /// What a repetition gets.
    private enum Outcome {
        /// The same bytes as the first time.
        case same
        /// The same, signed by another secret.
        case signedAnew
        /// 409 `IdempotentAnswerGone`.
        case gone
        /// What the request gets without a key: no credential.
        case refused
    }

    /// What is changed between a request and its repetition.
    private enum Change: String, CaseIterable {
        case nothing
        case otherBucket
        case noteOfGrant
        case nameOfCredential
        case secret
        case fullQuota
        case byteQuota
        case otherKeyOfCaller
        case grantGivenAgain
        case shorterGrant
        case grantRevoked
        case denial
        case keyRemoved
        case region
        case endpoint
        case lifeOfLinks
        case bucketThereAndBack
        case bucketMadeAgain
        case bucketRemoved

        /// What this means for a repetition.
        func outcome(of way: Way) -> Outcome {
            switch self {
            // What a form may upload was recorded, whether or not it was counted.
            case .nothing, .otherBucket, .noteOfGrant, .nameOfCredential, .fullQuota, .byteQuota, .otherKeyOfCaller,
                .grantGivenAgain:
                return .same
            // Cookies are signed by the key of the CDN.
            case .secret: return way == .byCookies ? .same : .signedAnew
            // The client dates what it lets sign, so that its life cannot be cut.
            case .shorterGrant: return way == .bySignature ? .refused : .gone
            case .grantRevoked, .denial, .keyRemoved, .bucketRemoved: return .refused
            case .region, .endpoint, .lifeOfLinks, .bucketThereAndBack, .bucketMadeAgain: return .gone
            }
        }

        /// Makes the change. Returns the caller's token if it is another one now.
        func make(in scene: Scene) async throws -> String? {
            let site = scene.site
            switch self {
            case .nothing: break
            case .otherBucket: try await site.makeBucket("beside-\(scene.quota)")
            case .noteOfGrant: try await scene.patch("grants/\(scene.grant)", ["note": "read by auditors"])
            case .nameOfCredential: try await scene.patchCredential(["name": "renamed beside \(scene.quota)"])
            case .secret:
                try await scene.patchCredential(["secretAccessKey": "secret-\(UUID().uuidString)"])
            case .fullQuota: try await site.limit(scene.quota, to: 1)
            case .byteQuota:
                try await site.quota(1_000_000, for: scene.asker.user.principal, options: ["metric": "bytes"])
            case .otherKeyOfCaller:
                let key = try await site.create(
                    "api-keys", ["name": "another", "principal": "\(scene.asker.user.principal)"])
                return key["key"].text
            case .grantGivenAgain:
                try await site.delete("grants", scene.grant)
                try await scene.give()
            case .shorterGrant:
                try await scene.patch("grants/\(scene.grant)", ["conditions": ["maxTTL": 60]])
            case .grantRevoked: try await site.delete("grants", scene.grant)
            case .denial:
                try await site.grant(
                    ["GetObject", "PutObject"], to: "*", in: scene.ground.bucket, options: ["effect": "deny"])
            case .keyRemoved: try await site.delete("api-keys", scene.asker.user.keyID)
            case .region: try await scene.patchBucket(["region": "eu-west-9"])
            case .endpoint:
                try await scene.patchBucket(
                    ["endpoint": "https://other.example", "secretAccessKey": "\(scene.ground.secret)"])
            case .lifeOfLinks: try await scene.patchBucket(["defaultTTL": 100])
            case .bucketThereAndBack:
                try await scene.patchBucket(["region": "eu-west-9"])
                try await scene.patchBucket(["region": scene.ground.row["region"]])
            case .bucketMadeAgain:
                try await scene.removeBucket()
                let secrets: [String: JSON] = [
                    "secretAccessKey": "\(scene.ground.secret)", "cdnSecret": "\(TestKey.pem)",
                ]
                try await site.create("buckets", scene.ground.row.with(secrets))
                try await scene.give()
            case .bucketRemoved: try await scene.removeBucket()
            }
            return nil
        }
    }

    /// A caller at a bucket of its own.
    private struct Scene: Sendable {
        let site: Deployment
        let session: PostgresConnection
        let ground: AskingGround
        let asker: Asker
        let grant: String
        let quota: String

        func send(_ request: RawRequest, key: String? = nil, token: String? = nil) async throws -> Reply {
            var sent = request
            if let key { sent.headers.append((name: "Idempotency-Key", value: key)) }
            if let token {
                sent.headers.removeAll { $0.name == "Authorization" }
                sent.headers.append((name: "Authorization", value: "Bearer \(token)"))
            }
            let answer = try await sent.answer(fromPort: asker.user.client.port)
            Deployment.keepSecrets(of: answer, from: asker.user.client.port)
            return Reply(answer: Answer(answer))
        }

        /// What is on record for the caller: issuances, and what was counted.
        func records() async throws -> [Int64] {
            let principal = asker.user.principal
            return [
                try await session.number("SELECT count(*) FROM issuances WHERE principal = '\(principal)'"),
                try await session.number(
                    "SELECT coalesce(sum(used), 0)::bigint FROM quota_usage WHERE holder = '\(principal)'"),
            ]
        }

        func patch(_ row: String, _ members: JSON) async throws {
            let answer = try await site.admin.call(
                "PATCH", "/admin/v1/\(row)", members, headers: [(name: "If-Match", value: "*")])
            try #require(answer.status == 200, "\(row): \(answer.text)")
        }

        func patchBucket(_ members: JSON) async throws { try await patch("buckets/\(ground.bucket)", members) }

        func patchCredential(_ members: JSON) async throws {
            let id = try #require(ground.row["credentialID"].text)
            try await patch("storage-credentials/\(id)", members)
        }

        func give() async throws {
            try await site.create("grants", Deployment.askingGrant(asker.user.principal, in: ground.bucket))
        }

        /// Removes the bucket, and first what names it.
        func removeBucket() async throws {
            let grants = try await site.admin.call("GET", "/admin/v1/grants?bucket=\(ground.bucket)")
            for grant in grants.json["items"].items { try await site.delete("grants", try #require(grant["id"].text)) }
            let answer = try await site.admin.call("DELETE", "/admin/v1/buckets/\(ground.bucket)")
            try #require([204, 404].contains(answer.status), "\(answer.text)")
        }
    }

    /// An answer to a request for one credential or for several.
    private struct Reply {
        let answer: Answer

        var text: String { answer.text }
        var isReplayed: Bool { answer["Idempotency-Replayed"] == "true" }
        var isIssued: Bool { 200..<300 ~= answer.status && codes.isEmpty }

        /// The codes of the answer's problems.
        var codes: Set<String> {
            Set(([answer.json] + answer.json["results"].items + answer.json["parts"].items).compactMap(\.["code"].text))
        }
    }
}

import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@Suite("Reviews of access, rows that say the same, and offboarding")
struct AccessReviewEndpointTests {
    private static let grant =
        #"{"principal":"group:staff","bucket":"photos","prefix":"uploads/","actions":["GetObject"],"note":"n"}"#

    private let gateway = TestGateway()

    @Test(
        "answers each question, and refuses others",
        arguments: [
            ("principal=user:alice", nil), ("principal=*&bucket=photos&pageSize=1", nil),
            ("principal=group:staff", nil), ("bucket=photos&key=users/alice/a.txt", nil),
            ("bucket=photos&key=a&expandGroups=true", nil), ("principal=user:alice&bucket=photos&key=a", nil),
            ("bucket=photos&prefix=", nil), ("bucket=photos&prefix=users/", nil), ("", "principal"),
            ("bucket=photos", "principal"), ("key=a", "bucket"), ("prefix=a/", "bucket"),
            ("bucket=photos&key=a&prefix=a/", "prefix"), ("bucket=photos&prefix=a", "prefix"),
            ("bucket=photos&prefix=a/&principal=*", "principal"), ("principal=alice", "principal"),
            ("bucket=photos&key=/a", "key"), ("principal=*&expandGroups=true", "expandGroups"),
            ("bucket=photos&prefix=$%7Bsub%7D/", "prefix"), ("principal=*&pageSize=0", "pageSize"),
        ])
    func questions(query: String, field: String?) async throws {
        let answer = await gateway.send(.get, "/admin/v1/access?" + query, token: "auditor-token")
        #expect(answer.status == (field == nil ? 200 : 400), "\(answer.text)")
        #expect(answer.string("field") == field)
    }

    @Test("tells what a principal may do with a key, and why")
    func verdicts() async throws {
        let answer = await gateway.send(
            .get, "/admin/v1/access?principal=user:alice&bucket=photos&key=uploads/a.png", token: "auditor-token")
        let items = try #require(answer.json["items"] as? [[String: Any]])
        let verdicts = try #require(items.first?["verdicts"] as? [[String: Any]])
        #expect(items.count == 1 && items.first?["principal"] as? String == "user:alice")
        #expect(verdicts.compactMap { $0["action"] as? String } == ["PutObject", "GetObject"])
        #expect(await gateway.send(.get, "/admin/v1/access?principal=*", token: "user-token").status == 403)
    }

    @Test("refuses a grant that says the same with the identifier of the first, or returns that one")
    func twins() async throws {
        for (collection, body, changed) in [
            ("grants", Self.grant, Self.grant.replacingOccurrences(of: #""n""#, with: #""m""#)),
            (
                "quotas", #"{"principal":"*","metric":"urls","period":"day","limit":1}"#,
                #"{"principal":"*","metric":"urls","period":"day","limit":2}"#
            ),
        ] {
            let path = "/admin/v1/" + collection
            let first = await gateway.send(.post, path, token: "admin-token", json: body)
            #expect(first.status == 201, "\(first.text)")
            let again = await gateway.send(.post, path + "?ifExists=refuse", token: "admin-token", json: changed)
            #expect(again.status == 409 && again.string("code") == "AlreadyExists")
            #expect(again.string("existingID") == first.string("id"))
            #expect(again.headers[.location] == first.headers[.location])
            let returned = await gateway.send(.post, path + "?ifExists=return", token: "admin-token", json: changed)
            #expect(returned.status == 200 && returned.text == first.text)
            #expect(returned.headers[.location] == first.headers[.location])
            #expect(returned.headers[.eTag] == first.headers[.eTag])
            #expect(
                await gateway.send(.post, path + "?ifExists=maybe", token: "admin-token", json: body)
                    .string("field") == "ifExists")
        }
        // Rows of other kinds have unique names instead.
        let answer = await gateway.send(
            .post, "/admin/v1/api-keys?ifExists=return", token: "admin-token",
            json: #"{"name":"a","principal":"user:a"}"#)
        #expect(answer.status == 400)
    }

    @Test("lists grants that cover a key, in one bucket")
    func covers() async {
        let path = "/admin/v1/grants?covers="
        #expect(await gateway.send(.get, path + "a/b&bucket=photos", token: "auditor-token").status == 200)
        #expect(gateway.stores.grants.queries.withLock { $0.last?.filters["covers"] } == "a/b")
        #expect(await gateway.send(.get, path + "a", token: "auditor-token").string("field") == "bucket")
        #expect(await gateway.send(.get, path + "/a&bucket=photos", token: "auditor-token").string("field") == "covers")
    }

    @Test("offboards a user as the dry run showed it")
    func offboarding() async throws {
        let path = "/admin/v1/principals/user%3Aalice:offboard"
        func send(_ json: String, ifMatch: String? = nil, token: String = "admin-token") async -> TestAnswer {
            var headers: HeaderFields = [:]
            headers[.ifMatch] = ifMatch
            return await gateway.send(.post, path, token: token, headers: headers, json: json)
        }
        let shown = await send(#"{"dryRun": true}"#)
        let tag = try #require(shown.headers[.eTag])
        #expect(shown.status == 200 && shown.number("count") == 2 && shown.json["dryRun"] as? Bool == true)
        #expect((shown.json["counts"] as? [String: Int])?["grants"] == 2)
        #expect((shown.json["items"] as? [[String: Any]])?.count == 2)
        #expect((shown.json["alive"] as? [String: Any])?["count"] as? Int == 1)
        #expect(await send("{}").status == 428)
        #expect(await send("{}", ifMatch: "\"another\"").status == 412)
        #expect(await send("{}", ifMatch: "\"a\", \"b\"").string("field") == "If-Match")
        #expect(gateway.stores.offboarding.removals.withLock { $0 }.isEmpty)
        let removed = await send("{}", ifMatch: tag)
        #expect(removed.status == 200 && removed.number("count") == 2 && removed.json["dryRun"] as? Bool == false)
        #expect(removed.headers[.eTag] == nil)
        #expect(gateway.stores.offboarding.removals.withLock { $0 }.map(\.rawValue) == ["user:alice"])
        for ifMatch in [tag, "*"] {
            let again = await send("{}", ifMatch: ifMatch)
            #expect(again.status == 200 && again.number("count") == 0, "\(again.text)")
        }
        #expect(await send(#"{"dryRun": true}"#, token: "auditor-token").status == 403)
        let group = await gateway.send(
            .post, "/admin/v1/principals/group%3Astaff:offboard", token: "admin-token", json: #"{"dryRun": true}"#)
        #expect(group.status == 400 && group.string("field") == "principal")
    }

    @Test("a ledger that cannot be read neither hides nor prevents an offboarding")
    func unreadLedger() async throws {
        let path = "/admin/v1/principals/user%3Aunread:offboard"
        let shown = await gateway.send(.post, path, token: "admin-token", json: #"{"dryRun": true}"#)
        #expect(shown.status == 200 && shown.number("count") == 2 && shown.json["alive"] == nil, "\(shown.text)")
        let tag = try #require(shown.headers[.eTag])
        let removed = await gateway.send(.post, path, token: "admin-token", headers: [.ifMatch: tag], json: "{}")
        #expect(removed.status == 200 && removed.number("count") == 2 && removed.json["alive"] == nil)
        #expect(gateway.stores.offboarding.removals.withLock { $0 }.map(\.rawValue) == ["user:unread"])
    }
}

/// Two grants of a user, until they are removed.
final class StubOffboarding: OffboardingStore {
    let removals = Mutex<[Principal]>([])

    func rows(of user: Principal) async throws(GatewayError) -> OffboardingRows {
        guard !removals.withLock({ $0.contains(user) }) else {
            return OffboardingRows(counts: [:], rows: [], tag: "none")
        }
        let rows = [StubPolicy.grantID, StubPolicy.quotaID].map {
            OffboardingRow(kind: .grant, id: $0.lowercaseText, document: #"{"principal": "user:alice"}"#)
        }
        return OffboardingRows(counts: [.grant: 2], rows: rows, tag: "0a1b")
    }

    func remove(
        allOf user: Principal, seenAs tag: String, by change: ChangeContext
    ) async throws(GatewayError) -> Int64 {
        guard !removals.withLock({ $0.contains(user) }) else { return 0 }
        guard tag == "0a1b" else { throw .preconditionFailed }
        removals.withLock { $0.append(user) }
        return 2
    }
}

/// One grant, wherever it is asked for.
struct StubAccess: AccessRows {
    private func grant() throws(GatewayError) -> Grant {
        Grant(
            id: StubPolicy.grantID, principal: try .group("staff"), bucket: try BucketName("photos"),
            prefix: try KeyPrefix(template: "users/${sub}/"), actions: [.getObject], effect: .allow,
            createdBy: "user:root", createdAt: TestGateway.now)
    }

    func grants(
        of principals: [Principal], in bucket: BucketName?, _ page: ListQuery
    ) async throws(GatewayError) -> Page<Grant> { Page(items: [try grant()], nextPageToken: "next") }

    func grants(
        around prefix: ExactText, in bucket: BucketName, _ page: ListQuery
    ) async throws(GatewayError) -> Page<PlacedGrant> {
        Page(items: [PlacedGrant(grant: try grant(), relation: .below)], nextPageToken: nil)
    }

    func principals(
        reaching key: ObjectKey, in bucket: BucketName, includesMembers: Bool, _ page: ListQuery
    ) async throws(GatewayError) -> Page<Principal> {
        Page(items: [.anyone, try .group("staff"), try .user("alice")], nextPageToken: "next")
    }

    func grants(
        of principals: [Principal], reaching key: ObjectKey, in bucket: BucketName, limit: Int
    ) async throws(GatewayError) -> [Grant] { [try grant()] }

    func memberCounts(of groups: [Principal]) async throws(GatewayError) -> [Principal: Int64] {
        Dictionary(uniqueKeysWithValues: groups.map { ($0, 2) })
    }
}

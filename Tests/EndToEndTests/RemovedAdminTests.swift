import Foundation
import HTTPTesting
import LibPQ
import PostgresTesting
import Testing

/// An admin whose key is removed while a change of theirs waits for another.
@Suite struct RemovedAdminTests {
    /// A change of a grant's note, by each operation that can make it.
    enum Way: String, CaseIterable {
        case replace, apply, importLines

        func send(_ grant: JSON, by admin: APIClient) async throws -> Answer {
            let id = try #require(grant["id"].text)
            switch self {
            case .replace:
                return try await admin.call(
                    "PATCH", "/admin/v1/grants/\(id)", ["note": "stolen"], headers: [("If-Match", "*")])
            case .apply:
                return try await admin.call(
                    "POST", "/admin/v1/grants:apply",
                    ["writes": [grant.with(["note": "stolen"])], "deletes": []],
                    headers: [("Idempotency-Key", id)])
            case .importLines:
                let line =
                    #"{"id":"\#(id)","principal":"user:alice","bucket":"demo-bucket","prefix":"p/","actions":["GetObject"],"#
                    + #""effect":"allow","conditions":{},"note":"stolen"}"#
                var request = RawRequest(
                    "POST", "/admin/v1/grants:import",
                    headers: [
                        ("Host", "127.0.0.1:\(admin.port)"), ("Authorization", "Bearer \(admin.token)"),
                        ("Content-Type", "application/x-ndjson"), ("Content-Length", "\(line.utf8.count)"),
                        ("Connection", "close"),
                    ])
                request.body = Array(line.utf8)
                return Answer(try await request.answer(fromPort: admin.port))
            }
        }
    }

    @Test(arguments: Way.allCases, [true, false])
    func `a change that waited is made by a key that is still there, and by no other`(
        way: Way, isRemoved: Bool
    ) async throws {
        try await Deployment.with { site in
            try await site.makeBucket("demo-bucket")
            let id = try await site.grant(["GetObject"], to: "user:alice", in: "demo-bucket", prefix: "p/")
            let thief = try await site.makeUser("thief", roles: ["admin"])
            let grant: JSON = [
                "id": "\(id)", "principal": "user:alice", "bucket": "demo-bucket", "prefix": "p/",
                "actions": ["GetObject"],
            ]
            // Another change holds the row, as a large one may for long.
            let holder = try site.session()
            try await holder.runScript("BEGIN; SELECT FROM grants WHERE id = '\(id)' AND removed_at IS NULL FOR UPDATE")
            async let answer = way.send(grant, by: thief.client)
            try await holder.waitForBlocked()
            if isRemoved {
                try await site.delete("api-keys", thief.keyID)
            } else {
                // The gateway authenticates the admin again, and repeats the change.
                let renamed = try await site.admin.call(
                    "PATCH", "/admin/v1/api-keys/\(thief.keyID)", ["name": "another"], headers: [("If-Match", "*")])
                #expect(renamed.status == 200, "\(renamed.text)")
            }
            try await holder.runScript("COMMIT")
            #expect(try await answer.status == (isRemoved ? 401 : 200))
            let changed = "SELECT count(*) FROM grants WHERE removed_at IS NULL AND note = 'stolen'"
            #expect(try await site.number(changed) == (isRemoved ? 0 : 1))
            let audited = "SELECT count(*) FROM admin_audit WHERE actor = 'user:thief'"
            #expect((try await site.number(audited) > 0) == !isRemoved)
        }
    }
}

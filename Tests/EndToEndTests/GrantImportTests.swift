import Foundation
import HTTPTesting
import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// Imports at the built program: an import that is killed, stalls or hangs up midway leaves nothing behind, and a grant
/// that is there already is found.
@Suite struct GrantImportTests {
    private static let lines = 5000

    /// A file of grants, each for another user.
    private static func file(_ note: String) -> [UInt8] {
        Array(
            (0..<lines).map {
                #"{"principal":"user:u\#($0)","bucket":"bulk","prefix":"p/","actions":["GetObject"],"note":"\#(note)"}"#
            }.joined(separator: "\n").utf8)
    }

    private func head(_ site: Deployment, length: Int, query: String = "?prune=true") -> RawRequest {
        let admin = site.admin
        return RawRequest(
            "POST", "/admin/v1/grants:import" + query,
            headers: [
                ("Host", "127.0.0.1:\(admin.port)"), ("Authorization", "Bearer \(admin.token)"),
                ("Content-Type", "application/x-ndjson"), ("Content-Length", "\(length)"), ("Connection", "close"),
            ])
    }

    private func send(_ file: [UInt8], to site: Deployment) async throws -> Answer {
        var request = head(site, length: file.count)
        request.body = file
        return Answer(try await request.answer(fromPort: site.admin.port))
    }

    /// A deployment with a bucket and the grants of a first import.
    private func withGrants(
        _ settings: [String: String] = [:], _ body: (Deployment) async throws -> Void
    ) async throws {
        try await Deployment.with(settings: settings) { site in
            try await site.makeBucket("bulk")
            #expect(try await send(Self.file("old"), to: site).status == 200)
            try await body(site)
            #expect(try await site.number("SELECT count(*) FROM grants WHERE removed_at IS NULL") == Self.lines)
        }
    }

    /// Whether all grants belong to one import; either all do or none. Each of its grants must have its audit row.
    private func isThere(_ note: String, at site: Deployment) async throws -> Bool {
        let count = try await site.number(
            "SELECT count(*) FROM grants WHERE removed_at IS NULL AND note = '\(note)'")
        let audited = try await site.number("SELECT count(*) FROM admin_audit WHERE after ->> 'note' = '\(note)'")
        let logged = try await site.number(
            "SELECT count(*) FROM grant_history WHERE note = '\(note)' AND created_seq IS NOT NULL")
        #expect(
            [0, Self.lines].contains(count) && audited == count && logged == count, "\(count) \(audited) \(logged)")
        return count > 0
    }

    @Test(
        arguments: [
            (["forceDownload": .bool(false), "allowVersions": .bool(false)], [:]),
            (
                ["contentTypes": ["Text/Plain", "image/*", "text/plain"], "requireContentMD5": .bool(false)],
                ["contentTypes": ["image/*", "text/plain"]]
            ),
            (["sourceCIDRs": ["10.0.0.1/32", "2001:DB8::/32"]], ["sourceCIDRs": ["2001:db8:0::/32", "10.0.0.1"]]),
        ] as [(JSON, JSON)])
    func `a grant is found to be there already, however its conditions are written`(
        first: JSON, second: JSON
    ) async throws {
        try await Deployment.with { site in
            try await site.makeBucket("bulk")
            let actions = ["PutObject", "GetObject"]
            for (one, other) in [(first, second), (second, first)] {
                let id = try await site.grant(
                    actions, to: "user:alice", in: "bulk", prefix: "p/", options: ["conditions": one])
                let grant: JSON = [
                    "principal": "user:alice", "bucket": "bulk", "prefix": "p/", "conditions": other,
                    "actions": .array(actions.reversed().map { .string($0) }),
                ]
                let twin = try await site.admin.call("POST", "/admin/v1/grants", grant)
                #expect(twin.status == 409 && twin.json["existingID"].text == id, "\(twin.text)")
                let answer = try await send(grant.bytes, to: site)
                #expect(answer.status == 200 && answer.json["unchanged"] == .number(1), "\(answer.text)")
                try await site.delete("grants", id)
                #expect(try await site.number("SELECT count(*) FROM grants WHERE removed_at IS NULL") == 0)
            }
        }
    }

    /// The same grants in both forms, none of which has an identifier.
    private static let unnamed = [
        (
            "application/x-ndjson",
            #"""
            {"principal":"user:é","bucket":"bulk","prefix":"a,\"b\"/","actions":["PutObject","GetObject"],\#
            "conditions":{"contentTypes":["Text/Plain","image/*"],"maxBytes":5,"sourceCIDRs":["10.0.0.1"]},\#
            "notAfter":"2100-01-01T00:00:00.123456Z","note":"one\ntwo, \"q\""}
            {"principal":"*","bucket":"bulk","template":"u/${sub}/","actions":["GetObject"],"effect":"deny"}
            {"principal":"user:é","bucket":"bulk","prefix":"a,\"b\"/","actions":["ListObjects"]}
            """#
        ),
        (
            "text/csv",
            """
            principal,bucket,kind,prefix,actions,effect,contentTypes,maxBytes,sourceCIDRs,notAfter,note
            user:é,bulk,prefix,"a,""b""/",GetObject PutObject,allow,image/* text/plain,5,10.0.0.1/32,\
            2100-01-01T00:00:00.123Z,"one
            two, ""q""\"
            *,bulk,template,u/${sub}/,GetObject,deny,,,,,
            user:é,bulk,prefix,"a,""b""/",ListObjects,allow,,,,,
            """
        ),
    ]

    @Test func `a file without identifiers that is sent again makes no second grant`() async throws {
        try await Deployment.with { site in
            try await site.makeBucket("bulk")
            var outcome = "created"
            for (type, text) in Self.unnamed + Self.unnamed {
                var request = head(site, length: text.utf8.count, query: "")
                request.headers.removeAll { $0.name == "Content-Type" }
                request.headers.append(("Content-Type", type))
                request.body = Array(text.utf8)
                let answer = Answer(try await request.answer(fromPort: site.admin.port))
                #expect(answer.status == 200 && answer.json[outcome] == .number(3), "\(type): \(answer.text)")
                #expect(try await site.number("SELECT count(*) FROM grants WHERE removed_at IS NULL") == 3)
                outcome = "unchanged"
            }
        }
    }

    private func waitForEnd(at site: Deployment) async throws {
        try await waitUntil("the sessions of the gateway are gone") {
            try await site.number(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'sluice'
                    AND (query LIKE '%bulk_%' OR query = 'COMMIT' AND state = 'active')
                """
            ) == 0
        }
    }

    @Test(arguments: [
        "INSERT INTO bulk_grants", "INSERT INTO bulk_live", "UPDATE grants", "INSERT INTO grants",
        "INSERT INTO admin_audit", "",
    ])
    func `a gateway that is killed in the middle has imported all or nothing`(stage: String) async throws {
        try await withGrants { site in
            let gateway = site.gateways[0]
            // Only the very last step can be held up without being noticed.
            let session = try site.session()
            let lock = "advisory_lock('policy')"
            if stage.isEmpty { _ = try await session.number("SELECT count(pg_advisory_lock(\(lock)))") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await send(Self.file("new"), to: site) }
                let query = stage.isEmpty ? "COMMIT" : "%\(stage)%"
                try await waitUntil("the import is in the middle") {
                    if try await session.number(
                        """
                        SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                            AND application_name = 'sluice' AND state = 'active' AND query LIKE '\(query)'
                        """
                    ) > 0 {
                        return true
                    }
                    // The import may finish before anybody has looked.
                    return try await session.number("SELECT count(*) FROM admin_audit WHERE operation = 'import'") == 2
                }
                await site.end(gateway) { await gateway.crash() }
                try await group.waitForAll()
            }
            if stage.isEmpty { _ = try await session.number("SELECT count(pg_advisory_unlock(\(lock)))") }
            try await waitForEnd(at: site)
            let isThere = try await isThere("new", at: site)
            #expect(!stage.isEmpty || isThere, "PostgreSQL ends a commit that was asked for")
            try await site.startGateway()
            #expect(try await send(Self.file("new"), to: site).status == 200)
            #expect(try await self.isThere("new", at: site))
        }
    }

    @Test func `a session of PostgreSQL that is killed in the middle has imported nothing`() async throws {
        try await withGrants { site in
            let session = try site.session()
            _ = try await session.number("SELECT count(pg_advisory_lock(advisory_lock('policy')))")
            async let answer = send(Self.file("new"), to: site)
            try await waitUntil("the import is at its end") {
                try await session.number(
                    """
                    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query = 'COMMIT'
                    """) > 0
            }
            let refused = try await answer
            #expect(refused.status == 503 && refused.code == "ServiceUnavailable" && refused["Retry-After"] != nil)
            _ = try await session.number("SELECT count(pg_advisory_unlock(advisory_lock('policy')))")
            #expect(try await !isThere("new", at: site))
            #expect(try await send(Self.file("new"), to: site).status == 200)
            #expect(try await isThere("new", at: site))
        }
    }

    @Test func `a client that hangs up in the middle has imported nothing`() async throws {
        try await withGrants { site in
            let file = Self.file("new")
            let start = Array(head(site, length: file.count).bytes + file[..<(file.count - 1)])
            let answered = site.log.matches(of: /grants:import/).count
            try await withConnection(to: site.admin.port) { connection in try connection.send(start) }
            try await waitUntil("the gateway is done with it") {
                site.log.matches(of: /grants:import/).count > answered
            }
            try await waitForEnd(at: site)
            #expect(try await !isThere("new", at: site))
        }
    }

    @Test func `a client that stalls in the middle is told so and has imported nothing`() async throws {
        try await withGrants(["SLUICE_HTTP_IDLE_TIMEOUT": "1"]) { site in
            let file = Self.file("new")
            let start = Array(head(site, length: file.count).bytes + file[..<(file.count / 2)])
            let answer = try await withConnection(to: site.admin.port) { connection in
                try connection.send(start)
                return try connection.response()
            }
            #expect(answer.status == 408)
            try await waitForEnd(at: site)
            #expect(try await !isThere("new", at: site))
        }
    }

    @Test func `while an import writes, others issue and change other grants`() async throws {
        try await withGrants { site in
            let user = try await site.makeUser("u7")
            let stays = try await site.grant(["PutObject"], to: "user:other", in: "bulk", prefix: "q/")
            #expect(try await user.ask(.download("p/k", from: "bulk")).status == 201)
            let session = try site.session()
            try await session.runScript("BEGIN; SELECT FROM buckets WHERE name = 'bulk' FOR UPDATE")
            async let answer = send(
                Self.file("new")
                    + Array(
                        (#"\#n{"id":"\#(stays)","principal":"user:other","bucket":"bulk","prefix":"q/","#
                            + #""actions":["PutObject"],"effect":"allow","conditions":{}}"#).utf8), to: site)
            // All grants are written.
            try await session.waitForBlocked(in: "%FOR KEY SHARE%")
            // The import does not wait for long.
            for _ in 0..<3 { #expect(try await user.ask(.download("p/k", from: "bulk")).status == 201) }
            #expect(try await site.number("SELECT count(*) FROM grants WHERE note = 'new'") == 0)
            try await session.runScript("COMMIT")
            #expect(try await answer.status == 200)
            #expect(try await isThere("new", at: site))
            #expect(try await user.ask(.download("p/k", from: "bulk")).status == 201)
            try await site.delete("grants", stays)
        }
    }

    @Test func `an export is the file that an import takes`() async throws {
        try await withGrants { site in
            for format in ["ndjson", "csv"] {
                let exported = try await site.admin.call("GET", "/admin/v1/grants:export?format=\(format)")
                #expect(exported.status == 200)
                #expect(exported.raw.body.split(separator: 10).count == Self.lines + (format == "csv" ? 1 : 0))
                var request = head(site, length: exported.raw.body.count)
                request.headers.removeAll { $0.name == "Content-Type" }
                request.headers.append(("Content-Type", exported["Content-Type"] ?? ""))
                request.body = exported.raw.body
                let answer = Answer(try await request.answer(fromPort: site.admin.port))
                #expect(answer.status == 200 && answer.json["unchanged"] == .number(Self.lines), "\(answer.text)")
            }
        }
    }
}

import ContractTesting
import Foundation
import LibPQ
import Logging
import PostgresTesting
import TestSupport
import Testing

/// The permissions of an auditor's key at the running program: it reads everything and changes nothing. The operations
/// come from the contract.
@Suite struct AuditorTests {
    /// Digests, by table, of every database row that a request could change.
    private func state(of site: Deployment) async throws -> [String: String] {
        let session = try site.session()
        // A refused request may leave only a count of refusals. Gateways update their own rows all the time.
        let tables = try await session.texts(
            """
            SELECT c.relname::text FROM pg_class c
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname NOT IN ('denials', 'gateways')
            ORDER BY 1
            """)
        #expect(tables.contains("grants") && tables.contains("admin_audit") && tables.contains("idempotency_keys"))
        var state: [String: String] = [:]
        for table in tables {
            state[table] = try await session.texts(
                "SELECT coalesce(md5(string_agg(t::text, E'\\n' ORDER BY t::text)), '') FROM \(table) t"
            ).first
        }
        return state
    }

    /// The path of an operation, with identifiers of existing rows.
    private func path(_ template: String, _ ids: [String: String]) -> String {
        let collection = template.split(separator: "/").dropFirst(2).first.map(String.init) ?? ""
        return template.replacing("{id}", with: ids[collection] ?? UUID().uuidString.lowercased())
            .replacing("{bucket}", with: "audited").replacing("{group}", with: "group:staff")
            .replacing("{member}", with: "user:alice")
    }

    @Test func `an auditor changes nothing`() async throws {
        try await Deployment.with { site in
            try await site.makeBucket("audited")
            let user = try await site.makeUser("alice")
            let ids = [
                "grants": try await site.grant(["PutObject"], to: user.principal, in: "audited"),
                "quotas": try await site.quota(5, for: user.principal), "api-keys": user.keyID,
                "storage-credentials": try #require(
                    try await site.admin.call("GET", "/admin/v1/storage-credentials").json["items"].items.first?["id"]
                        .text),
            ]
            try await site.create("groups/group:staff/members", ["member": "user:alice"])
            let auditor = try await site.makeUser("auditor", roles: ["auditor"])
            let before = try await state(of: site)
            let operations = try ContractDocument.shared.get().operations.filter { $0.path.hasPrefix("/admin/") }
            let writing = operations.filter { $0.access == "admin" }
            #expect(writing.count >= 25)
            for operation in writing {
                // A valid idempotency key must not help, and an empty body must not be the reason for the refusal.
                let headers = [
                    (name: "If-Match", value: "*"), (name: "Idempotency-Key", value: "auditor"),
                ]
                let bodies: [JSON?] = operation.body.requestBody == nil ? [nil] : [nil, [:], ["note": "changed"]]
                for body in bodies {
                    let answer = try await auditor.client.call(
                        operation.method, path(operation.path, ids), body, headers: headers)
                    #expect(answer.status == 403, "\(operation.name): \(answer.text)")
                    #expect(answer.json["type"] == "/problems/role-required", "\(operation.name)")
                }
            }
            // Operations that change something are for admins. Any POST that an auditor may send only reads.
            for operation in operations where operation.access != "admin" {
                let readsOnly = operation.method == "GET" || operation.body["x-sluice-reads-only"]?.flag == true
                #expect(readsOnly, "\(operation.name) is not for admins only, and not said to read only")
            }
            for operation in operations where operation.access == "auditor" {
                let content = operation.body.requestBody.map { $0.content?["application/json"] } ?? nil
                let example = content?.examples?.members.values.first?.value
                let body = try example.map { try JSON(Array($0.bytes)) }
                let answer = try await auditor.client.call(operation.method, path(operation.path, ids), body)
                #expect(answer.status < 500 && answer.status != 403, "\(operation.name): \(answer.text)")
            }
            #expect(try await state(of: site) == before)
        }
    }

    @Test func `two admins who change one grant at once do not overwrite each other`() async throws {
        try await Deployment.with(gateways: 2) { site in
            try await site.makeBucket("contested")
            let id = try await site.grant(["GetObject"], to: "user:alice", in: "contested")
            let ports = site.gateways.map(\.port)
            var expected: Set<String> = []
            for round in 0..<20 {
                let read = try await site.admin.call("GET", "/admin/v1/grants/\(id)")
                let tag = try #require(read["ETag"])
                let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                    for admin in 0..<2 {
                        group.addTask {
                            try await site.admin.at(ports[admin]).call(
                                "PATCH", "/admin/v1/grants/\(id)", ["note": "\(round) by \(admin)"],
                                headers: [(name: "If-Match", value: tag)])
                        }
                    }
                    return try await group.reduce(into: [Answer]()) { $0.append($1) }
                }
                #expect(answers.map(\.status).sorted() == [200, 412])
                let kept = try #require(answers.first { $0.status == 200 }?.json["note"].text)
                #expect(try await site.admin.call("GET", "/admin/v1/grants/\(id)").json["note"].text == kept)
                expected.insert(kept)
            }
            // No change is lost: the audit and the history of the grant contain every change that was answered.
            let audit = try await site.admin.call("GET", "/admin/v1/audit?kind=Grant&operation=update&resourceID=\(id)")
            #expect(Set(audit.json["items"].items.compactMap { $0["after"]["note"].text }) == expected)
            #expect(try await site.number("SELECT count(*) FROM grants WHERE id = '\(id)'") == 21)
        }
    }

    @Test func `a rotated key ends at once, or after the overlap that was said, on every gateway`() async throws {
        try await Deployment.with(gateways: 2) { site in
            try await site.makeBucket("rotated")
            let user = try await site.makeUser("rotating")
            try await site.grant(["GetObject"], to: user.principal, in: "rotated")
            func works(_ token: String) async throws -> [Int] {
                var statuses: [Int] = []
                for gateway in site.gateways.indices {
                    let client = site.client(token: token, at: gateway)
                    let answer = try await client.ask(.download("a", from: "rotated"))
                    site.keepSecret(urlOf: answer)
                    statuses.append(answer.status)
                }
                return statuses
            }
            func rotate(_ overlap: Int) async throws -> String {
                let answer = try await site.admin.call(
                    "POST", "/admin/v1/api-keys/\(user.keyID):rotate", ["overlapSeconds": .number(overlap)])
                try #require(answer.status == 200, "\(answer.text)")
                let token = try #require(answer.json["key"].text)
                site.keepSecret(token)
                return token
            }
            let first = user.client.token
            #expect(try await works(first) == [201, 201])
            let second = try await rotate(3600)
            #expect(try await works(first) == [201, 201])
            #expect(try await works(second) == [201, 201])
            let third = try await rotate(0)
            #expect(try await works(first) == [401, 401])
            #expect(try await works(second) == [401, 401])
            #expect(try await works(third) == [201, 201])
            let fourth = try await rotate(1)
            try await waitUntil("the overlap has passed") { try await works(third) == [401, 401] }
            #expect(try await works(fourth) == [201, 201])
            let fifth = try await rotate(3600)
            try await site.delete("api-keys", user.keyID)
            #expect(try await works(fourth) == [401, 401])
            #expect(try await works(fifth) == [401, 401])
        }
    }

    @Test func `every change of an admin is in the audit, with who, when, before, after and the request`() async throws
    {
        try await Deployment.with { site in
            let made = try await site.create(
                "quotas", ["principal": "user:a", "metric": "urls", "period": "day", "limit": 5])
            let id = try #require(made["id"].text)
            let patched = try await site.admin.call(
                "PATCH", "/admin/v1/quotas/\(id)", ["limit": 6], headers: [(name: "If-Match", value: "*")])
            // A row can be sent back as it was read, including its use.
            let read = try await site.admin.call("GET", "/admin/v1/quotas/\(id)")
            #expect(read.json["use"]["used"].integer == 0 && read.json["use"]["resetsAt"].text != nil)
            let put = try await site.admin.call(
                "PUT", "/admin/v1/quotas/\(id)", read.json, headers: [(name: "If-Match", value: read["ETag"] ?? "")])
            #expect(put.status == 200, "\(put.text)")
            let reset = try await site.admin.call("POST", "/admin/v1/quotas/\(id):reset", ["all": true])
            let deleted = try await site.admin.call("DELETE", "/admin/v1/quotas/\(id)")
            #expect(patched.status == 200 && reset.status == 200 && deleted.status == 204, "\(reset.text)")
            let auditor = try await site.makeUser("auditor", roles: ["auditor"])
            let page = try await auditor.client.call("GET", "/admin/v1/audit?resourceID=\(id)")
            let lines = page.json["items"].items
            #expect(
                lines.compactMap { $0["operation"].text }.joined(separator: " ") == "delete reset update update create")
            #expect(lines.allSatisfy { $0["actor"].text == "user:bootstrap-admin" && $0["changedAt"].text != nil })
            #expect(lines[3]["requestID"].text == patched["X-Request-Id"])
            #expect(lines[3]["before"]["limit"].integer == 5 && lines[3]["after"]["limit"].integer == 6)
            #expect(lines[4]["before"] == .null && lines[0]["after"] == .null)
            let request = try #require(patched["X-Request-Id"])
            let found = try await auditor.client.call("GET", "/admin/v1/audit?requestID=\(request)")
            #expect(found.json["items"].items.count == 1)
            let export = try await auditor.client.call("GET", "/admin/v1/audit:export?kind=Quota")
            #expect(export.text.split(separator: "\n").count == 5)
            // The gateway's login appends to the audit and the ledger, but cannot change either.
            let gateway = PostgresConnection(
                try PostgresConfiguration(
                    connectionString: site.cluster.connectionString(database: site.databaseName),
                    applicationName: "tests", sessionSettings: [("role", "sluice_gateway")]),
                logger: .init(label: "tests"))
            let partitions = try await site.session().texts(
                "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'issuances'::regclass")
            #expect(!partitions.isEmpty)
            for table in ["admin_audit", "issuances"] + partitions {
                for sql in ["UPDATE \(table) SET request_id = ''", "DELETE FROM \(table)", "TRUNCATE \(table)"] {
                    let error = await #expect(throws: PostgresError.self) { try await gateway.runScript(sql) }
                    #expect(error?.sqlState == "42501", "\(sql)")
                }
            }
        }
    }
}

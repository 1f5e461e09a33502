import ContractTesting
import Foundation
import HTTPTesting
import PostgresTesting
import Synchronization
import TestSupport
import Testing

/// The log of a running gateway, line by line.
@Suite(.timeLimit(.minutes(3))) struct LogTests {
    /// The fields that the documentation lists, with their types.
    private static func documentedFields() throws -> [String: String] {
        let path = ContractDocument.repository.appending(path: "docs/logs.md")
        var fields = ["time": "text", "level": "text", "logger": "text", "source": "text", "message": "text"]
        for row in try String(contentsOf: path, encoding: .utf8).split(separator: "\n") where row.hasPrefix("| `") {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            fields[cells[0].trimmingCharacters(in: ["`"])] = cells[1]
        }
        return fields
    }

    @Test(arguments: ["trace", "debug"])
    func `each line is an object of documented fields, without the syntax of the program's language`(
        level: String
    ) async throws {
        let fields = try Self.documentedFields()
        let cluster = try await TestCluster(ClusterOptions())
        let log = try await Deployment.with(
            cluster: cluster, settings: ["SLUICE_LOG_FORMAT": "json", "SLUICE_LOG_LEVEL": level]
        ) { site in
            try await exercise(site)
            _ = await site.gateways[0].terminate()
            return site.log
        }
        try await cluster.stop()
        let lines = log.split(separator: "\n")
        #expect(lines.count > 10)
        for line in lines {
            let object = try #require(
                try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
            for (name, value) in object {
                let known = fields[name] ?? (name.hasPrefix("setting.") ? fields["setting.*"] : nil)
                let type = value is String ? "text" : value is NSNumber ? "number" : "another"
                if known == "true or false" { continue }
                #expect(known == type, "\(name) in \(line)")
            }
            for sign in ["Optional(", "Swift.", "0x0000"] { #expect(!line.contains(sign), "\(line)") }
            // A type's name with its members in parentheses, as the language describes a value without a description.
            #expect(line.firstMatch(of: #/[A-Z][A-Za-z]+\([a-z][A-Za-z]*: /#) == nil, "\(line)")
        }
        let messages = Set(lines.compactMap { $0.firstMatch(of: #/"message":"([^"]*)"/#).map { String($0.1) } })
        for message in ["settings read", "gateway starts", "listening", "Request answered", "outage begins", "stopped"]
        {
            #expect(messages.contains(message), "\(messages)")
        }
    }

    /// Has the gateway log as much as it can.
    private func exercise(_ site: Deployment) async throws {
        try await site.makeBucket("logged")
        let user = try await site.makeUser("alice")
        try await site.grant(["GetObject"], to: user.principal, in: "logged")
        #expect(try await user.ask(.download("k", from: "logged")).status == 201)
        #expect(try await user.ask(.download("k", from: "nowhere")).status == 403)
        let items: JSON = ["items": [.download("k", from: "nowhere"), .download("l", from: "nowhere")]]
        #expect(try await user.client.call("POST", "/v1/presigned-urls/batch", items).status == 200)
        _ = try await site.client().call("GET", "/no/such")
        var raw = try RawConnection(port: site.gateways[0].port)
        try raw.send(Array("GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n".utf8))
        _ = try? raw.response(toHead: false)
        try await Fault.stopped.begin(site)
        try await waitUntil("the outage is noticed") { site.log.contains("outage begins") }
        _ = try await user.ask(.download("k", from: "logged"))
        try await Fault.stopped.end(site)
        try await waitUntil("the gateway is ready again") {
            try await site.client().call("GET", "/readyz").status == 200
        }
    }

    @Test func `a gateway begins with its version and its settings, and tells no secret`() async throws {
        try await Deployment.with(settings: ["SLUICE_CORS_ALLOWED_ORIGINS": "https://a.example,https://b.example"]) {
            site in
            let line = try #require(site.log.split(separator: "\n").first)
            #expect(line.hasSuffix("[sluice] settings read") && line.contains(" version=1."))
            #expect(line.contains(" setting.cors.allowed-origins=https://a.example,https://b.example "))
            #expect(line.contains(" setting.listen=127.0.0.1:0 "))
            for secret in ["master-key", "bootstrap-admin-key", "database.url"] {
                #expect(line.contains(" setting.\(secret)=(secret) "), "\(line)")
            }
        }
    }

    /// After a restore, the log tells which rows have to be changed again.
    @Test func `the line of a change has the row that the audit names`() async throws {
        try await Deployment.with(settings: ["SLUICE_LOG_FORMAT": "json"]) { site in
            try await site.makeBucket("named")
            let user = try await site.makeUser("alice")
            let grant = try await site.grant(["PutObject"], to: user.principal, in: "named")
            let quota = try await site.quota(5, for: user.principal)
            try await site.create("groups/group:staff/members", ["member": "user:alice"])
            let ticket = try await user.client.call("POST", "/v1/tickets", ["bucket": "named", "prefix": "a/"])
            #expect(ticket.status == 201, "\(ticket.text)")
            let changes: [(String, String, JSON?)] = [
                ("PATCH", "grants/\(grant)", ["note": "new"]), ("POST", "quotas/\(quota):reset", ["all": true]),
                ("POST", "tickets:revoke", ["principal": "user:alice"]), ("POST", "buckets/named/event-secret", [:]),
                ("DELETE", "buckets/named/event-secret", nil), ("POST", "api-keys/\(user.keyID):rotate", [:]),
                ("DELETE", "groups/group:staff/members/user:alice", nil), ("DELETE", "quotas/\(quota)", nil),
                ("DELETE", "grants/\(grant)", nil), ("DELETE", "buckets/named", nil),
            ]
            for (method, path, body) in changes {
                let answer = try await site.admin.call(
                    method, "/admin/v1/\(path)", body, headers: [(name: "If-Match", value: "*")])
                #expect(answer.status < 300, "\(method) \(path): \(answer.text)")
            }
            let audit = try await site.admin.call("GET", "/admin/v1/audit?pageSize=100").json["items"].items
            var seen = 0
            for entry in audit {
                let id = try #require(entry["requestID"].text)
                func line() -> Substring? {
                    site.log.split(separator: "\n").first { $0.contains(id) && $0.contains("Request answered") }
                }
                try await waitUntil("the line is there") { line() != nil }
                let fields = try JSON(Array(try #require(line()).utf8))
                // The ticket is the user's own.
                guard fields["route"].text?.hasPrefix("/admin/") == true else { continue }
                #expect(fields["row"].text == entry["resourceID"].text, "\(fields)")
                seen += 1
            }
            // Those above, and what was made for them.
            #expect(seen == changes.count + 6)
        }
    }

    @Test func `a gateway whose log nobody reads any more serves on, and counts the lines`() async throws {
        try await Deployment.with(gateways: 0) { site in
            // The reader ends once the gateway listens.
            let gateway = try await site.startGateway(
                by: ["/bin/bash", "-c", #"exec "$@" 2> >(sed '/listening/q' >&2)"#, "launcher"])
            try await waitUntil("lines are dropped") {
                let metrics = try await site.client().call("GET", "/metrics").text
                return metrics.contains(#/\nsluice_log_lines_dropped_total [1-9]/#)
            }
            #expect(try await site.client().call("GET", "/healthz").status == 200)
            await site.end(gateway) { #expect(await gateway.terminate() == 0) }
        }
    }

    @Test func `the line of a request has the address of its caller`() async throws {
        try await Deployment.with(settings: ["SLUICE_TRUSTED_PROXIES": "127.0.0.1/32"]) { site in
            let answer = try await site.client().call(
                "GET", "/v1/access", headers: [(name: "X-Forwarded-For", value: "2001:db8::7")])
            let id = try #require(answer.raw["X-Request-Id"])
            try await waitUntil("the line is there") { site.log.contains("request.id=\(id) ") }
            let line = try #require(site.log.split(separator: "\n").first { $0.contains("request.id=\(id) ") })
            #expect(line.contains(" client=2001:db8::7 "), "\(line)")
        }
    }
}

extension LoadTests {
    /// What a gateway that is killed has logged.
    @Suite struct KilledLogTests {
        private static let clients = 16
        private static let kills = 2

        /// Answers with the instants at which they came.
        private final class Answers: Sendable {
            private let all = Mutex<[(id: String, at: ContinuousClock.Instant)]>([])

            func note(_ answer: RawResponse) {
                let now = ContinuousClock.now
                guard let id = answer["X-Request-Id"] else { return }
                all.withLock { $0.append((id, now)) }
            }

            var noted: [(id: String, at: ContinuousClock.Instant)] { all.withLock { $0 } }
        }

        @Test func `each answer older than ten milliseconds before the kill has its line`() async throws {
            let judged = try await Deployment.with(gateways: 0) { site in
                var judged = 0
                for _ in 0..<(15 * Self.kills) where judged < Self.kills {
                    let (answers, killed, log) = try await Self.killUnderLoad(at: site)
                    // Where the whole machine stood still before the kill, nothing is said about the gateway.
                    let last = answers.map(\.at).filter { $0 > killed - .milliseconds(60) && $0 < killed }.sorted()
                    let gaps = zip(last, last.dropFirst() + [killed]).map { $1 - $0 }
                    guard last.count > 10, gaps.allSatisfy({ $0 < .milliseconds(6) }) else { continue }
                    judged += 1
                    let logged = Set(log.matches(of: #/ request\.id=(\S+) /#).map { String($0.1) })
                    let owed = answers.filter { $0.at < killed - .milliseconds(10) }
                    #expect(owed.count > 500)
                    let lost = owed.filter { !logged.contains($0.id) }
                    let oldest = lost.map { killed - $0.at }.max() ?? .zero
                    #expect(lost.isEmpty, "\(lost.count) lines, up to \(oldest) old")
                }
                return judged
            }
            if judged == 0 { try Test.cancel("the machine was never quiet enough to judge") }
        }

        /// Starts a gateway and kills it while clients ask; returns their answers, the instant and its log.
        private static func killUnderLoad(at site: Deployment) async throws -> (
            [(id: String, at: ContinuousClock.Instant)], ContinuousClock.Instant, String
        ) {
            let answers = Answers()
            let gateway = try await site.startGateway()
            let request = try site.client().request("GET", "/healthz")
            let clock = ContinuousClock()
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await onThreads(clients) { _ in
                        var connection = KeptConnection()
                        while let answer = try? connection.exchange(request, port: gateway.port) {
                            answers.note(answer)
                        }
                    }
                }
                try await waitUntil("the gateway is under load") { answers.noted.count > 2000 }
                let killed = clock.now
                gateway.process.signal(SIGKILL)
                try await group.waitForAll()
                await site.end(gateway) { _ = await gateway.process.exitStatus() }
                return (answers.noted, killed, gateway.log)
            }
        }
    }
}

import ContractTesting
import Foundation
import PostgresTesting
import TestSupport
import Testing

/// `/metrics` of a running gateway: what Prometheus makes of it, what the documentation says of it, and whether it is
/// true.
@Suite(.timeLimit(.minutes(3))) struct MetricsTests {
    /// One answer of `/metrics`.
    private struct Page {
        let text: String
        /// The values, by name and labels as they are printed.
        let values: [String: Double]
        /// The types, by name.
        let types: [String: String]

        init(at site: Deployment) async throws {
            let answer = try await site.client().call("GET", "/metrics")
            #expect(answer.status == 200)
            text = answer.text
            var values: [String: Double] = [:]
            var types: [String: String] = [:]
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ")
                if line.hasPrefix("# TYPE ") {
                    types[String(words[2])] = String(words[3])
                } else if !line.hasPrefix("#"), let end = line.lastIndex(of: " ") {
                    let name = String(line[..<end])
                    #expect(
                        values.updateValue(try #require(Double(line[line.index(after: end)...])), forKey: name) == nil)
                }
            }
            self.values = values
            self.types = types
        }

        subscript(_ series: String) -> Double {
            get throws { try #require(values[series], "there is no series \(series)") }
        }
    }

    @Test func `promtool has nothing to object, and nothing that happens adds a series`() async throws {
        try await Deployment.with(settings: ["SLUICE_ADMIN_LISTEN": "127.0.0.1:0"]) { site in
            let admin = APIClient(port: site.gateways[0].adminPort, token: "")
            let answer = try await admin.call("GET", "/metrics")
            #expect(answer.status == 200 && answer.text.contains("sluice_http_connections{listener=\"admin\"} 1\n"))
            try await expectNoObjection(to: answer.text)
        }
        try await Deployment.with { site in
            let before = try await Page(at: site)
            try await expectNoObjection(to: before.text)
            try await site.makeBucket("figures")
            let user = try await site.makeUser("alice")
            try await site.grant(["GetObject"], to: user.principal, in: "figures")
            #expect(try await user.ask(.download("k", from: "figures")).status == 201)
            #expect(try await user.ask(.download("k", from: "nowhere")).status == 403)
            for _ in 1...3 {
                let answer = try await user.client.call(
                    "POST", "/v1/presigned-urls", .download("k", from: "figures"),
                    headers: [(name: "Idempotency-Key", value: "k")])
                #expect(answer.status == 201)
            }
            _ = try await site.client().call("GET", "/no/such")
            _ = try await site.client().call("BREW", "/v1/access")
            let after = try await Page(at: site)
            #expect(Set(after.values.keys) == Set(before.values.keys))
            try await expectNoObjection(to: after.text)
            #expect(
                try after[#"sluice_issued_total{delivery="presigned-url",scheme="aws-v4",action="GetObject"}"#] == 2)
            #expect(try after[#"sluice_ledger_items_total{outcome="recorded"}"#] == 1)
            #expect(try after["sluice_ledger_batch_size_count"] >= 1)
            #expect(try after["sluice_ledger_recording_duration_seconds_count"] >= 1)
            #expect(try after[#"sluice_refused_total{code="AccessDenied"}"#] == 1)
            #expect(try after[#"sluice_policy_lookups_total{outcome="miss"}"#] >= 1)
            #expect(try after["sluice_policy_cache_entries"] > 0 && after["sluice_policy_cache_bytes"] > 0)
            #expect(try after["sluice_http_connections{listener=\"api\"}"] >= 1)
        }
    }

    @Test func `the documentation lists each series, with its type and labels`() async throws {
        let page = try await Deployment.with { try await Page(at: $0) }
        let path = ContractDocument.repository.appending(path: "docs/metrics.md")
        var documented: [String: String] = [:]
        for row in try String(contentsOf: path, encoding: .utf8).split(separator: "\n") where row.hasPrefix("| `") {
            let cells = row.split(separator: "|", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            let name = cells[1].trimmingCharacters(in: ["`"])
            documented[name] = cells[3]
            #expect(page.types[name] == cells[2], "the type of \(name)")
        }
        #expect(Set(documented.keys) == Set(page.types.keys))
        let free: Set<Substring> = ["route", "code", "version", "le"]
        for series in page.values.keys {
            guard let brace = series.firstIndex(of: "{") else { continue }
            let ends = ["_bucket", "_sum", "_count"].filter { series[..<brace].hasSuffix($0) }
            let names = [String(series[..<brace])] + ends.map { String(series[..<brace].dropLast($0.count)) }
            let labels = try #require(names.lazy.compactMap { documented[$0] }.first, "\(series)")
            for match in series.matches(of: #/([a-z]+)="([^"]*)"/#) where match.1 != "le" {
                #expect(labels.contains("`\(match.1)`"), "the label \(match.1) of \(series)")
                if !free.contains(match.1) || (match.1 == "version" && names[0] == "sluice_gateways") {
                    #expect(labels.contains("`\(match.2)`"), "the value \(match.2) of \(series)")
                }
            }
        }
    }

    @Test func `the figures of the database, of its gateways and of the process are true`() async throws {
        try await Deployment.with(gateways: 2) { site in
            try await waitUntil("the gateway has seen the other one") {
                let page = try await Page(at: site)
                return try page["sluice_database_read_timestamp_seconds"] > Date.now.timeIntervalSince1970 - 35
                    && page[#"sluice_gateways{version="same"}"#] == 2 && page["sluice_policy_lag_changes"] == 0
            }
            let page = try await Page(at: site)
            #expect(try page["sluice_database_up"] == 1)
            #expect(try page["sluice_ready{check=\"recordings\"}"] == 1 && page["sluice_ready{check=\"clock\"}"] == 1)
            #expect(try page["sluice_ready{check=\"policy\"}"] == 1)
            #expect(try page["sluice_ready{check=\"masterKeys\"}"] == 1)
            #expect(try page["sluice_schema_version"] == page["sluice_schema_expected_version"])
            #expect(try page["sluice_schema_version"] > 0)
            #expect(try page["sluice_ledger_partitions_ahead"] == 7)
            #expect(try page["sluice_ledger_partitions_expired"] == 0)
            #expect(try page[#"sluice_gateways{version="other"}"#] == 0)
            let process = site.gateways[0].process.processID
            let resident = try await Self.output("ps -o rss= -p \(process)")
            let known = try #require(Double(resident.trimmingCharacters(in: .whitespacesAndNewlines))) * 1024
            #expect(try abs(page["process_resident_memory_bytes"] / known - 1) < 0.2)
            let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
            #expect(try abs(page["process_open_fds"] - Double(files)) <= 5)
            #expect(try page["process_max_fds"] >= page["process_open_fds"])
            #expect(try abs(page["process_start_time_seconds"] - Date.now.timeIntervalSince1970) < 120)
            #expect(try page["process_cpu_seconds_total"] > 0 && page["process_threads"] > 1)
            #expect(try page["sluice_log_lines_total"] >= 3 && page["sluice_log_lines_dropped_total"] == 0)
        }
    }

    @Test func `outages are counted when they begin, and connections when they come back`() async throws {
        let cluster = try await TestCluster(ClusterOptions())
        try await Deployment.with(cluster: cluster) { site in
            let before = try await Page(at: site)
            let opened = try before["sluice_database_connections_opened_total"]
            #expect(opened > 0)
            try await Fault.stopped.begin(site)
            try await waitUntil("the outage shows") { try await Page(at: site)["sluice_database_up"] == 0 }
            let during = try await Page(at: site)
            #expect(try during["sluice_database_outages_total"] == 1)
            try await waitUntil("attempts fail") {
                try await Page(at: site)["sluice_database_connection_failures_total"] > 0
            }
            try await Fault.stopped.end(site)
            try await waitUntil("the outage ends") { try await Page(at: site)["sluice_database_up"] == 1 }
            #expect(try await Page(at: site)["sluice_database_connections_opened_total"] > opened)
        }
        try await cluster.stop()
    }

    private func expectNoObjection(to text: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "metrics-\(UUID().uuidString)")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let answer = try await Self.output("promtool check metrics <'\(file.path())' 2>&1; echo status $?")
        #expect(answer == "status 0\n", "\(answer)")
    }

    /// Runs a command and returns what it writes.
    private static func output(_ command: String) async throws -> String {
        let process = try RunningProcess(["/bin/sh", "-c", command], environment: [:])
        _ = await process.exitStatus()
        return process.output
    }
}

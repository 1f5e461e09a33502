import Foundation
import Testing

/// What Sluice answers to the mistakes that people make: each is told what to do instead.
@Suite(.deployment) struct MistakeTests {
    /// A command and the answer that is expected.
    private struct Mistake {
        var command: String
        var answer: [String] = []
    }

    /// Reads the commands of a file and their answers.
    private static func mistakes(in name: String) throws -> [Mistake] {
        let file = try #require(Bundle.module.url(forResource: name, withExtension: "txt", subdirectory: "Mistakes"))
        var found: [Mistake] = []
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasPrefix("$ ") {
                found.append(Mistake(command: String(line.dropFirst(2))))
            } else if !found.isEmpty {
                found[found.count - 1].answer.append(String(line))
            }
        }
        return found
    }

    /// Makes the rows that the commands of `curl.txt` mean.
    private func prepare(_ site: Deployment) async throws -> [String: String] {
        try await site.makeBucket("mistakes")
        let bucket = try await site.admin.call("GET", "/admin/v1/buckets/mistakes")
        let credential = try #require(bucket.json["credentialID"].text)
        let grant = try await site.create(
            "grants",
            [
                "principal": "user:clumsy", "bucket": "mistakes", "prefix": "a/",
                "actions": ["PutObject", "GetObject"],
                "conditions": ["contentTypes": ["image/*"], "maxBytes": 1000, "maxTTL": 60],
            ])
        #expect(grant["id"].text != nil)
        let user = try await site.makeUser("clumsy")
        let auditor = try await site.makeUser("clumsy-auditor", roles: ["auditor"])
        return [
            "PATH": "/usr/bin:/bin", "api": "http://127.0.0.1:\(site.gateways[0].port)", "key": user.client.token,
            "auditor": auditor.client.token, "admin": site.admin.token, "credential": credential,
        ]
    }

    @Test func `the mistakes of a hundred calls are explained`() async throws {
        let site = try Deployment.current
        let mistakes = try Self.mistakes(in: "curl")
        #expect(mistakes.count >= 100)
        var script = """
            call() { curl -sS -o "$out" -D "$out.head" -w '%{http_code}\\n' "$@" </dev/stdin; }
            as() { local key=$1; shift; call -H "Authorization: Bearer $key" -H 'Content-Type: application/json' "$@"; }
            user() { as "$key" "$@"; }
            admin() { as "$admin" "$@"; }
            auditor() { as "$auditor" "$@"; }
            nobody() { call "$@"; }

            """
        let directory = FileManager.default.temporaryDirectory.appending(path: "mistakes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for (index, mistake) in mistakes.enumerated() {
            script += "out=\(directory.path())/\(index)\n\(mistake.command)\n"
        }
        let process = try RunningProcess(["/bin/bash", "-c", script], environment: try await prepare(site))
        #expect(await process.exitStatus() == 0, "\(process.errors)")
        let statuses = process.output.split(separator: "\n")
        try #require(statuses.count == mistakes.count, "\(process.errors)")
        var report = ""
        for (index, mistake) in mistakes.enumerated() {
            let answer = try Self.summary(
                status: String(statuses[index]), in: directory.appending(path: "\(index)"))
            if answer != mistake.answer { report += "$ \(mistake.command)\n\(answer.joined(separator: "\n"))\n" }
        }
        #expect(report.isEmpty, "these answers are others than Mistakes/curl.txt says:\n\(report)")
    }

    /// The parts of an answer that a person reads.
    private static func summary(status: String, in file: URL) throws -> [String] {
        let body = (try? Data(contentsOf: file)) ?? Data()
        let head = try String(contentsOf: file.appendingPathExtension("head"), encoding: .utf8)
        let json = (try? JSON(Array(body))) ?? .null
        var line = status
        for name in ["code", "field", "condition", "StatusCode", "ErrorCode"] {
            if let text = json[name].text { line += name == "code" ? " \(text)" : " \(name)=\(text)" }
        }
        var lines = [line]
        for name in ["detail", "ErrorMessage"] {
            if let text = json[name].text { lines.append(text) }
        }
        for field in head.split(whereSeparator: \.isNewline) where field.lowercased().hasPrefix("allow:") {
            lines.append(String(field))
        }
        return lines
    }
}

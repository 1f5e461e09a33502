import Foundation
import PostgresTesting

/// A search for secrets in logs, metrics and every table of a database, as text and as bytes.
struct LeakSearch {
    /// How often, where and what was found, at most five lines.
    let found: [String]

    /// Searches. Throws ``ProgramError`` if a text or a table cannot be read.
    ///
    /// - Parameter requiresTables: Whether the database must answer. Otherwise, tables may be unreadable.
    init(
        secrets: Set<String>, log: String, metrics: String, at site: Deployment, requiresTables: Bool = true
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-leaks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in [("log", log), ("metrics", metrics), ("secrets", Self.patterns(secrets))] {
            try Data(text.utf8).write(to: folder.appending(path: name))
        }
        let url = site.cluster.connectionString(database: site.databaseName)
        let process = try RunningProcess(
            ["/bin/bash", "-c", Self.script, "search", url],
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C", "PGCONNECT_TIMEOUT": "5"], folder: folder)
        let status = await process.exitStatus()
        let lines = process.output.split(separator: "\n").map(String.init)
        guard status == 0, let rows = lines.first.flatMap({ Int($0) }),
            !requiresTables || (rows > 0 && process.errors.isEmpty)
        else {
            throw ProgramError(status: status, output: process.errors + process.output)
        }
        found = Array(lines.dropFirst())
    }

    /// A line for each form of each secret: the text, and its bytes as PostgreSQL writes them. Of a text with several
    /// lines, the longest stands for all.
    private static func patterns(_ secrets: Set<String>) -> String {
        var lines: [String] = []
        for secret in secrets {
            guard let line = secret.split(separator: "\n").max(by: { $0.utf8.count < $1.utf8.count }) else { continue }
            lines.append(String(line))
            let digits = line.utf8.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
            if digits.count >= 12 { lines.append(digits.joined()) }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Prints the number of rows, and then what is found. Standard error has what cannot be read in the database; psql
    /// goes on with the next table.
    private static let script = #"""
        set -e
        psql -XAtq -d "$1" >tables <<'SQL' || true
        SET lock_timeout = '5s';
        SELECT format('SELECT %L, (t.*)::text FROM %s t', c.relname, c.oid::regclass)
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' \gexec
        SQL
        wc -l <tables
        # Where nothing is found, the status is 1.
        grep -FoHf secrets log metrics tables >found || (($? == 1))
        sort found | uniq -c | head -n 5
        """#
}

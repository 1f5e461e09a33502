import Foundation
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// The statements of released versions, on the schema of this one.
///
/// `sql/releases/<version>.statements` holds what the gateways of a version prepare, and `<version>.sql` executes some
/// of it and looks at the results. `script/statements` writes the first.
@Suite struct ReleaseTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardizedFileURL
    private static let folder = root.appending(path: "sql/releases")

    /// The version of this program, which is not released yet.
    private static func version() throws -> String {
        let source = try String(
            contentsOf: root.appending(path: "Sources/sluice/Configuration/ProgramVersion.swift"), encoding: .utf8)
        return try String(#require(source.firstMatch(of: #/current = "([^"]+)"/#)).1)
    }

    /// The versions whose statements are kept, this program's among them.
    private static func versions() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sql") }
            .map { String($0.dropLast(".sql".count)) }.sorted()
    }

    private static let mark = "-- Statement: "

    /// What the gateways of this program prepare, as a file of a release. The tables of imports come first.
    private static func text() throws -> String {
        let statements = try StatementLists.gateway() + StatementLists.bulk()
        return "\(mark)BulkTables.make\n\(BulkTables.make)\n\n"
            + statements.map { "\(mark)\($0.name)\n\($0.text)\n" }.joined(separator: "\n")
    }

    /// Prepares all statements of a file of a release under their names.
    private static func prepare(_ text: String, over connection: PostgresConnection) async throws {
        for part in text.split(separator: "\(mark)").map(String.init) {
            let end = try #require(part.firstRange(of: "\n"))
            let (name, statement) = (part[..<end.lowerBound], part[end.upperBound...])
            let prefix = name == "BulkTables.make" ? "" : "PREPARE \"\(name)\" AS "
            do {
                try await connection.runScript(prefix + statement)
            } catch {
                Issue.record("\(name): \(error)")
            }
        }
    }

    /// The file of the version in the making may be missing or lag behind until `CHANGELOG.md` gives that version a
    /// date.
    @Test func `the statements of a version are kept before it is released`() throws {
        let version = try Self.version()
        // What `sluice migrate` compares.
        #expect(version.wholeMatch(of: #/[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?/#) != nil)
        let file = Self.folder.appending(path: "\(version).statements")
        if ProcessInfo.processInfo.environment["SLUICE_TEST_WRITE_STATEMENTS"] == "1" {
            try Self.text().write(to: file, atomically: true, encoding: .utf8)
        }
        let changes = try String(contentsOf: Self.root.appending(path: "CHANGELOG.md"), encoding: .utf8)
        let isDated = changes.contains("## [\(version)]")
        let text = try Self.text()
        #expect(text.contains("\(Self.mark)RecordBatch.record\n"))
        guard isDated else { return }
        let kept = try String(contentsOf: file, encoding: .utf8)
        #expect(kept == text, "run script/statements")
    }

    /// The next version has been migrated to and not finished: gateways of this version and of those before serve.
    @Test(.database(.migrated)) func `released statements do on the expanded schema what they did`() async throws {
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await NextRelease.migrator(owner).migrate()
        let current = try Self.version()
        let versions = try Self.versions()
        #expect(versions.contains(current))
        for version in versions {
            let gateway = try PostgresConnection(
                testing: TestDatabase.current.connectionString, settings: [("role", "sluice_gateway")])
            let file = Self.folder.appending(path: "\(version).statements")
            let text = try version == current ? Self.text() : String(contentsOf: file, encoding: .utf8)
            try await Self.prepare(text, over: gateway)
            let script = try String(contentsOf: Self.folder.appending(path: "\(version).sql"), encoding: .utf8)
            // Each part commits on its own, as a gateway's statements do.
            for part in script.split(separator: "\n-- Then\n") {
                do {
                    try await gateway.runScript(String(part))
                } catch {
                    Issue.record("\(version): \(error) in \(part)")
                    break
                }
            }
            await gateway.close()
        }
    }
}

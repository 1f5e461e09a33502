import Foundation
import Testing

/// Checks ``StatementLists`` against the sources.
@Suite struct StatementListTests {
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let sources = tests.appending(path: "../../Sources/GatewayPostgres").standardizedFileURL

    /// Commands that PostgreSQL cannot prepare; other tests execute them.
    private static let commands: Set = ["GrantCursor.open", "GrantCursor.fetch", "RecordingProbe.write"]

    /// The statements that are constants of a type, as `Type.name`.
    private static func statements() throws -> Set<String> {
        var statements: Set<String> = []
        let beginning = #/^(?:[a-z]+ )*(?:extension|struct|enum|class|actor) ([\w.]+)/#
        let constant = #/static let (\w+)(?:: [^=]+)? = (?:Statement[<(]|AdminStatements\.|statement\()/#
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            var type = ""
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                if let match = line.firstMatch(of: beginning) { type = String(match.1) }
                if let match = line.firstMatch(of: constant) { statements.insert("\(type).\(match.1)") }
            }
        }
        return statements
    }

    @Test func `every statement is prepared by a test`() throws {
        let prepared = try Set(
            (StatementLists.gateway() + StatementLists.bulk() + StatementLists.migrator()).map(\.name))
        let statements = try Self.statements()
        #expect(statements.count > 100)
        #expect(statements.subtracting(prepared).subtracting(Self.commands).sorted() == [], "add them to a list")
        #expect(Self.commands.isSubset(of: statements))
    }
}

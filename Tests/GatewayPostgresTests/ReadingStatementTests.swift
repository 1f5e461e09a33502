import Foundation
import LibPQ
import PostgresTesting
import Testing

/// Statements that declare that they only read. Their success therefore counts in any case.
@Suite struct ReadingStatementTests {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/GatewayPostgres").standardizedFileURL

    /// The texts of all such statements in the sources.
    private static func texts() throws -> [String] {
        var texts: [String] = []
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            var source = try String(contentsOf: file, encoding: .utf8)[...]
            while let mark = source.firstRange(of: ", onlyReads: true") {
                let quote = source[..<mark.lowerBound].hasSuffix("\"\"\"") ? "\"\"\"" : "\""
                let text = source[..<mark.lowerBound].dropLast(quote.count)
                let start = try #require(text.ranges(of: quote).last, "\(file.lastPathComponent)")
                texts.append(String(text[start.upperBound...]))
                source = source[mark.upperBound...]
            }
        }
        return texts
    }

    /// How a statement that reads begins, or the name of the text with which it does.
    private static let beginnings = ["SELECT", "WITH", "FETCH", "\\(preface)", "\\(selection)"]

    @Test(.database(.migrated)) func `what only reads begins with SELECT, locks nothing and calls nothing that writes`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let volatile = try await connection.texts(
            "SELECT DISTINCT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND provolatile = 'v'"
        )
        let texts = try Self.texts()
        #expect(texts.count > 40)
        #expect(volatile.contains("record_issuances"))
        // The doctor's trial of a lock, in a session that only reads.
        for text in texts where !text.contains("AdvisoryLock.trial") {
            let unquoted = text.replacing(#/'[^']*'/#, with: "")
            let words = Set(unquoted.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
            #expect(
                Self.beginnings.contains { text.drop(while: \.isWhitespace).hasPrefix($0) }, "\(text)")
            let writing: Set = ["INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "SHARE", "INTO", "LOCK", "CALL"]
            #expect(words.isDisjoint(with: writing), "\(text)")
            #expect(words.isDisjoint(with: volatile), "\(text)")
            #expect(!words.contains { $0.hasPrefix("pg_") && $0.contains("lock") }, "\(text)")
        }
    }
}

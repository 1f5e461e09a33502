import Foundation
import Testing

@testable import GatewayPostgres

/// Conditions that compare rows with the clock. PostgreSQL calls `clock_timestamp()` for each row, and uses no index
/// for it. So the time is computed before, and the sources and functions are searched for conditions that forget this.
@Suite struct ClockConditionTests {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/GatewayPostgres").standardizedFileURL

    /// Columns that may be compared, since few rows are.
    private static let exceptions: Set = [
        // Days of the ledger.
        "p.day", "d.summed_to",
        // The gateways.
        "g.last_seen_at",
        // The row that a name or an identifier finds.
        "s.previous_until", "o.claimed_until",
        // The tickets of one user.
        "t.expires_at", "r.expires_at",
    ]

    /// Words that begin a part of a statement, and whether it is a condition on rows.
    private static let parts: [String: Bool] = [
        "WHERE": true, "ON": true, "HAVING": true, "SELECT": false, "FROM": false, "SET": false, "VALUES": false,
        "UPDATE": false, "DELETE": false, "INSERT": false, "INTO": false, "RETURNING": false, "ORDER": false,
        "GROUP": false, "LIMIT": false, "IF": false, "ELSIF": false, "WHILE": false, "THEN": false, "RETURN": false,
        "DECLARE": false, "BEGIN": false, "DEFAULT": false, ":=": false, ";": false,
    ]

    /// The columns that conditions compare with what the clock says at each row.
    private static func comparedColumns(in sql: String) -> [String] {
        let plain = sql.replacing(#/--[^\n]*/#, with: "").replacing(#/'[^']*'/#, with: "''")
        // For each parenthesis that is open, whether what is in it is a condition; nil where no word has told.
        var conditions: [Bool?] = [nil]
        var column: String?
        var found: [String] = []
        for match in plain.matches(of: #/[A-Za-z_][A-Za-z_0-9.]*|:=|[();]/#) {
            let word = String(match.output)
            if word == "(" {
                conditions.append(nil)
            } else if word == ")" {
                if conditions.count > 1 { conditions.removeLast() }
            } else if let isCondition = parts[word] {
                conditions[conditions.count - 1] = isCondition
                column = nil
            } else if ["AND", "OR", "NOT"].contains(word) {
                column = nil
            } else if word == "clock_timestamp" {
                if conditions.reversed().compactMap(\.self).first == true { found.append(column ?? word) }
            } else if column == nil {
                column = word
            }
        }
        return found
    }

    @Test func `the search finds what it must, and nothing else`() {
        let bad = "SELECT FROM t WHERE t.a = 1 AND (t.b < least($1, clock_timestamp()) - interval '1 day' OR t.c)"
        #expect(Self.comparedColumns(in: bad) == ["t.b"])
        for good in [
            "SELECT FROM t WHERE t.a = 1 AND t.b < (SELECT least($1, clock_timestamp()) - interval '1 day')",
            "UPDATE t SET a = clock_timestamp() WHERE t.b < 1", "IF v_a < clock_timestamp() THEN",
            "SELECT FROM t WHERE t.b < v_before; v_now := clock_timestamp();", "SELECT FROM t WHERE t.b < now()",
            "SELECT FROM t WHERE t.b < 1 -- clock_timestamp()",
        ] {
            #expect(Self.comparedColumns(in: good) == [], "\(good)")
        }
    }

    @Test func `no function compares rows with the clock of each row`() {
        for function in SchemaFunction.all {
            let found = Set(Self.comparedColumns(in: String(decoding: function.sql, as: UTF8.self)))
            #expect(found.isSubset(of: Self.exceptions), "\(function.name): \(found)")
        }
    }

    @Test func `no statement of the gateway compares rows with the clock of each row`() throws {
        var count = 0
        let files = FileManager.default.enumerator(at: Self.sources, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            let pieces = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\"\"\"")
            for (index, text) in pieces.enumerated() where !index.isMultiple(of: 2) {
                count += 1
                let found = Set(Self.comparedColumns(in: text))
                #expect(found.isSubset(of: Self.exceptions), "\(file.lastPathComponent): \(found)")
            }
        }
        #expect(count > 100)
    }
}

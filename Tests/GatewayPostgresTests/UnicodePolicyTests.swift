import Foundation
import LibPQ
import PostgresTesting
import TestSupport
import Testing

@testable import GatewayCore

/// Keys and prefixes are bytes. The tests compare decisions over rows of a real database with a byte-wise reading of
/// the rules. They cover principals with few grants, and with so many that grants are looked up by place.
@Suite struct UnicodePolicyTests {
    /// Segments that merge with their neighbours, or with the `/` before or after, when they are read as characters.
    private static let segments = [
        "a", "e\u{301}", "\u{e9}", "\u{301}", "\u{600}", "a\u{600}", "\u{110bd}", "\u{200d}", "👩\u{200d}👧", "\u{1f1e9}",
        "\u{1f1e9}\u{1f1ea}", "\u{fe0f}", "\u{1100}", "\u{1161}", "\u{1100}\u{1161}", "\u{ac00}", "\u{e33}", "\u{200b}",
    ]

    private struct Row {
        let principal: String
        let prefix: String
        let isDeny: Bool
        let bytes: [UInt8]

        init(principal: String, prefix: String, isDeny: Bool) {
            self.principal = principal
            self.prefix = prefix
            self.isDeny = isDeny
            bytes = Array(prefix.utf8)
        }

        /// Whether the grant covers a key, compared by bytes.
        func covers(_ key: [UInt8]) -> Bool {
            bytes.isEmpty || bytes.last == 0x2f ? key.starts(with: bytes) : key == bytes
        }
    }

    private static func text(_ depth: ClosedRange<Int>, using random: inout SeededGenerator) -> String {
        (0..<Int.random(in: depth, using: &random)).compactMap { _ in segments.randomElement(using: &random) }
            .joined(separator: "/")
    }

    private static func rows(using random: inout SeededGenerator) -> [Row] {
        var rows: [Row] = []
        for (principal, count) in [("user:few", 12), ("user:many", 400)] {
            for number in 0..<count {
                let prefix = text(1...3, using: &random) + (number % 4 == 0 ? "" : "/")
                rows.append(Row(principal: principal, prefix: prefix, isDeny: number % 8 == 0 || number % 32 == 3))
            }
            for first in segments where count > 12 || first.utf8.count < 3 {
                rows.append(Row(principal: principal, prefix: first + "/", isDeny: false))
            }
        }
        return rows
    }

    private func world(_ rows: [Row]) async throws -> PolicyCache {
        let world = try AdminWorld()
        try await world.makeBucket()
        let values = rows.map { row in
            """
            (gen_random_uuid(), '\(row.principal)', 'demo', '\(row.prefix)', false, '{GetObject,PutObject}',
            '\(row.isDeny ? "deny" : "allow")', 'x', (SELECT tag FROM policy_log WHERE seq = 1))
            """
        }
        try await world.connection.runScript(
            """
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, created_by, created_change)
            VALUES \(values.joined(separator: ","))
            ON CONFLICT DO NOTHING
            """)
        return PolicyCache(source: world.source)
    }

    @Test(.database(.migrated)) func linksAreDecidedByBytes() async throws {
        var random = SeededGenerator(seed: 8)
        let rows = Self.rows(using: &random)
        let cache = try await world(rows)
        var permitted = [false: 0, true: 0]
        for number in 0..<400 {
            let principal = number % 2 == 0 ? "user:few" : "user:many"
            let own = rows.filter { $0.principal == principal }
            var text = Self.text(1...4, using: &random)
            if number % 3 == 0, let near = own.randomElement(using: &random) {
                text = near.prefix.utf8.last == 0x2f ? near.prefix + Self.text(1...1, using: &random) : near.prefix
            }
            let key = try ObjectKey(text)
            let subject = Subject(principal: try Principal(principal))
            let policy = try await cache.access(
                of: subject.principal, groups: [], to: BucketName("demo"), key: key)
            var fields = IssueRequest.Fields()
            (fields.action, fields.bucket, fields.key) = ("GetObject", "demo", text)
            let decision = decide(
                try IssueRequest(fields), for: subject, under: policy, sourceAddress: nil, now: Date())
            let bytes = Array(text.utf8)
            let matching = own.filter { $0.covers(bytes) }
            let expected = !matching.isEmpty && !matching.contains(where: \.isDeny)
            #expect(decision.isPermit == expected, "\(principal) \(bytes)")
            permitted[expected, default: 0] += 1
        }
        #expect(permitted.values.allSatisfy { $0 > 20 }, "\(permitted)")
    }

    @Test(.database(.migrated)) func formsAreDecidedByBytes() async throws {
        var random = SeededGenerator(seed: 8)
        let rows = Self.rows(using: &random)
        let cache = try await world(rows)
        var permitted = [false: 0, true: 0]
        for number in 0..<200 {
            let principal = number % 2 == 0 ? "user:few" : "user:many"
            let own = rows.filter { $0.principal == principal }
            let area = Self.text(1...3, using: &random) + "/"
            let subject = Subject(principal: try Principal(principal))
            let found = try await cache.access(
                of: subject.principal, groups: [], to: BucketName("demo"), around: ExactText(area))
            let policy = try #require(found)
            var fields = PostPolicyRequest.Fields()
            (fields.bucket, fields.keyStartsWith, fields.contentTypes, fields.maxBytes) = ("demo", area, ["a/b"], 1)
            let request = try PostPolicyRequest(fields) { UUID() }
            let decision = decide(request, for: subject, under: policy, sourceAddress: nil, now: Date())
            let bytes = Array(area.utf8)
            let isDenied = own.contains { row in
                row.isDeny && (row.covers(bytes) || row.bytes.starts(with: bytes))
            }
            let expected = !isDenied && own.contains { !$0.isDeny && $0.covers(bytes) }
            #expect(decision.isPermit == expected, "\(principal) \(bytes)")
            permitted[expected, default: 0] += 1
        }
        #expect(permitted.values.allSatisfy { $0 > 10 }, "\(permitted)")
    }
}

extension Verdict {
    fileprivate var isPermit: Bool { if case .permit = self { true } else { false } }
}

import Foundation
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Advisory locks: their keys are defined once in SQL and once in Swift.
@Suite struct AdvisoryLockTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardizedFileURL
    private static let function = root.appending(path: "sql/functions/advisory_lock.sql")

    @Test(.database(.migrated)) func `both places agree on the locks that functions take`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let text = try String(contentsOf: Self.function, encoding: .utf8)
        let names = text.split(separator: "WHEN '").dropFirst().compactMap { $0.split(separator: "'").first }
        #expect(Set(names.map { String($0) }) == ["policy", "partitions", "migration", "sums", "indexing", "pruning"])
        for name in names {
            let lock = try #require(AdvisoryLock(rawValue: String(name)))
            #expect("\(try await connection.number("advisory_lock('\(name)')"))" == lock.key)
        }
        // A null key would lock nothing.
        let error = await #expect(throws: PostgresError.self) {
            try await connection.number("advisory_lock('other')")
        }
        // case_not_found
        #expect(error?.sqlState == "20000")
    }

    @Test func `no key is written anywhere else`() throws {
        let numbers = AdvisoryLock.allCases.map { String($0.key.prefix { $0.isNumber }) }
        #expect(Set(numbers).count == numbers.count)
        for directory in ["sql/functions", "sql/migrations", "Sources"] {
            let files = FileManager.default.enumerator(
                at: Self.root.appending(path: directory), includingPropertiesForKeys: nil)
            while let file = files?.nextObject() as? URL {
                guard ["sql", "swift"].contains(file.pathExtension),
                    !["advisory_lock.sql", "AdvisoryLock.swift"].contains(file.lastPathComponent)
                else { continue }
                let text = try String(contentsOf: file, encoding: .utf8)
                #expect(!numbers.contains { text.contains($0) }, "\(file.lastPathComponent)")
            }
        }
    }
}

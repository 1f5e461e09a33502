import ContractTesting
import Foundation
import GatewayCore
import Testing

/// Where the operations of the audit are spelled once more: what is not Swift cannot name ``AuditOperation``.
@Suite struct AuditOperationTests {
    private static let operations = AuditOperation.allCases.map(\.rawValue)

    private func text(of path: String) throws -> String {
        try String(contentsOf: ContractDocument.repository.appending(path: path), encoding: .utf8)
    }

    @Test func `the database takes the operations of the audit, and no others`() throws {
        let schema = try text(of: "sql/schema.sql")
        let rule = try #require(
            schema.firstMatch(of: #/CONSTRAINT admin_audit_operation_check CHECK (.*)/#)?.output.1)
        #expect(rule.matches(of: #/'(\w+)'/#).map { String($0.output.1) } == Self.operations)
    }

    @Test func `the contract lists the operations of the audit`() throws {
        let schemas = try ContractDocument.shared.get().root.components?.schemas
        let listed = schemas?.AuditRecord?.properties?["operation"]?["enum"]?.items.compactMap(\.text)
        #expect(listed == Self.operations)
    }

    @Test func `the console tells all operations apart but validations, which change nothing`() throws {
        let files = ["audit.js", "changes.js", "undo.js"]
        let views = try files.map { try text(of: "console/views/" + $0) }.joined(separator: "\n")
        let tones = try #require(views.firstMatch(of: #/operationTones = \{([^{}]*)\}/#)?.output.1)
        let calls = try #require(views.firstMatch(of: #/\{([^{}]*)\}\[operation\]/#)?.output.1)
        let compared = views.matches(of: #/\boperation [!=]== "(\w+)"/#).map { String($0.output.1) }
        let named = [tones, calls].flatMap { $0.matches(of: #/(\w+): /#).map { String($0.output.1) } }
        #expect(Set(compared + named) == Set(Self.operations).subtracting([AuditOperation.validate.rawValue]))
    }
}

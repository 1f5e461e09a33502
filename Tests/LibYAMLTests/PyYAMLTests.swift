import Foundation
import StrictJSON
import Testing

@testable import LibYAML

@Suite(.enabled(if: PyYAML.isAvailable || PyYAML.isRequired, "SLUICE_TEST_PYTHON names no Python that has PyYAML"))
struct PyYAMLTests {
    @Test func `The contract is read as PyYAML reads it`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../openapi/sluice.yaml")
        let own = try YAMLValue(yaml: try String(contentsOf: file, encoding: .utf8))
        #expect(own == YAMLValue(try PyYAML.document(file)))
        guard case .mapping(let members) = own else { return }
        #expect(members.first?.name == "openapi" && members.contains { $0.name == "paths" })
    }
}

/// PyYAML, which reads YAML with code of its own.
private enum PyYAML {
    static let isAvailable = environment["SLUICE_TEST_PYTHON"] != nil
    static let isRequired = environment["SLUICE_TEST_REQUIRE_STORES"] == "1"
    private static let environment = ProcessInfo.processInfo.environment

    static func document(_ file: URL) throws -> JSONValue {
        let python = try #require(environment["SLUICE_TEST_PYTHON"], "SLUICE_TEST_PYTHON is required here")
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: python)
        // The loader in Python: the faster one is libyaml as well.
        process.arguments = [
            "-c", "import json, sys, yaml; print(json.dumps(yaml.load(open(sys.argv[1]), Loader=yaml.SafeLoader)))",
            file.path(percentEncoded: false),
        ]
        process.standardOutput = output
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return try JSONReader.read(Array(text))
    }
}

extension YAMLValue {
    fileprivate init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .number(let digits): self = Int(digits).map { .integer($0) } ?? .number(Double(digits) ?? .nan)
        case .string(let text): self = .string(text)
        case .array(let items): self = .sequence(items.map { YAMLValue($0) })
        case .object(let members): self = .mapping(members.map { Member($0.name, YAMLValue($0.value)) })
        }
    }
}

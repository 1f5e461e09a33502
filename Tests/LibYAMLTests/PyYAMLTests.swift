import Foundation
import StrictJSON
import TestSupport
import Testing

@testable import LibYAML

@Suite(.python(with: "PyYAML"))
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
    static func document(_ file: URL) throws -> JSONValue {
        // The loader in Python: the faster one is libyaml as well.
        let program = "import json, sys, yaml; print(json.dumps(yaml.load(open(sys.argv[1]), Loader=yaml.SafeLoader)))"
        let text = try Python.run(program, arguments: [file.path(percentEncoded: false)])
        return try JSONReader.read(Array(text.utf8))
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

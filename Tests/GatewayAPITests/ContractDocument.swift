import Foundation
import EmbeddedFiles
import Yams

/// `openapi/sluice.yaml`, read for tests.
struct ContractDocument {
    /// One operation.
    struct Operation {
        let method: String
        let path: String
        let body: [String: Any]

        var access: String? { body["x-sluice-access"] as? String }
        var parameters: [Any] { body["parameters"] as? [Any] ?? [] }
        var responses: [String: Any] { body["responses"] as? [String: Any] ?? [:] }
    }

    let root: [String: Any]
    let operations: [Operation]

    init() throws {
        let text = String(decoding: EmbeddedFile.contract.bytes, as: UTF8.self)
        guard let root = try Yams.load(yaml: text) as? [String: Any], let paths = root["paths"] as? [String: Any] else {
            throw Flaw(text: "The contract is no mapping with paths.")
        }
        self.root = root
        operations = paths.flatMap { path, item in
            (item as? [String: Any] ?? [:]).map { method, body in
                Operation(method: method.uppercased(), path: path, body: body as? [String: Any] ?? [:])
            }
        }.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    func operation(_ method: String, _ path: String) -> Operation? {
        operations.first { $0.method == method && $0.path == path }
    }

    /// Follows `$ref`, if there is one.
    func resolved(_ node: Any?) -> [String: Any] {
        guard let node = node as? [String: Any] else { return [:] }
        guard let reference = node["$ref"] as? String else { return node }
        var target: Any? = root
        for name in reference.dropFirst(2).split(separator: "/") { target = (target as? [String: Any])?[String(name)] }
        return resolved(target)
    }

    /// Examples of a media type's value, by name.
    func examples(in content: Any?, _ type: String) -> [String: Any] {
        let media = (content as? [String: Any])?[type] as? [String: Any]
        return (media?["examples"] as? [String: Any] ?? [:]).compactMapValues { ($0 as? [String: Any])?["value"] }
    }

    /// What keeps a value from its schema; empty where it fits. Knows the keywords that the contract uses.
    func flaws(of value: Any, against schema: Any?, at path: String = "$") -> [String] {
        let schema = resolved(schema)
        var flaws: [String] = []
        if let type = schema["type"] as? String, !Self.isOf(type, value) { return ["\(path): not of type \(type)"] }
        if let allowed = schema["enum"] as? [String], !allowed.contains(value as? String ?? "") {
            flaws.append("\(path): '\(value)' is not in the enum")
        }
        if let constant = schema["const"], "\(constant)" != Self.text(value) {
            flaws.append("\(path): not \(constant)")
        }
        if let text = value as? String, let pattern = schema["pattern"] as? String,
            text.range(of: pattern, options: .regularExpression) == nil
        {
            flaws.append("\(path): '\(text)' does not match \(pattern)")
        }
        if let number = value as? Int, let least = schema["minimum"] as? Int, number < least {
            flaws.append("\(path): below \(least)")
        }
        if let choices = schema["oneOf"] as? [Any] {
            let flawsOfEach = choices.map { self.flaws(of: value, against: $0, at: path) }
            if flawsOfEach.count(where: \.isEmpty) != 1 { flaws.append("\(path): not exactly one of \(flawsOfEach)") }
        }
        if let items = value as? [Any] {
            for (index, item) in items.enumerated() {
                flaws += self.flaws(of: item, against: schema["items"], at: "\(path)[\(index)]")
            }
        }
        if let members = value as? [String: Any] { flaws += self.flaws(ofMembers: members, against: schema, at: path) }
        return flaws
    }

    private func flaws(ofMembers members: [String: Any], against schema: [String: Any], at path: String) -> [String] {
        let properties = schema["properties"] as? [String: Any] ?? [:]
        var flaws = (schema["required"] as? [String] ?? []).filter { members[$0] == nil }.map {
            "\(path).\($0): missing"
        }
        for (name, value) in members {
            if let property = properties[name] {
                flaws += self.flaws(of: value, against: property, at: "\(path).\(name)")
            } else if schema["additionalProperties"] as? Bool == false {
                flaws.append("\(path).\(name): not in the contract")
            } else if let others = schema["additionalProperties"] as? [String: Any] {
                flaws += self.flaws(of: value, against: others, at: "\(path).\(name)")
            }
        }
        return flaws
    }

    private static func text(_ value: Any) -> String {
        if let flag = value as? Bool { return String(flag) }
        return "\(value)"
    }

    private static func isOf(_ type: String, _ value: Any) -> Bool {
        switch type {
        case "string": value is String
        case "boolean": value is Bool
        case "integer": value is Int && !(value is String)
        case "array": value is [Any]
        case "object": value is [String: Any]
        default: false
        }
    }

    /// A contract that cannot be read.
    struct Flaw: Error { let text: String }
}

import Foundation

/// Checks values against schemas of one document, by JSON Schema 2020-12.
///
/// Formats are asserted. An unknown keyword is reported, so no schema can demand something that is never checked.
public struct JSONSchema: Sendable {
    /// The document in which references are looked up.
    let root: JSONNode

    /// Keywords that do not restrict the value.
    private static let annotations: Set<String> = [
        "title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment",
    ]

    /// Every supported keyword.
    public static let keywords = annotations.union([
        "$ref", "type", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
        "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
        "multipleOf", "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains",
        "properties", "patternProperties", "additionalProperties", "required", "propertyNames", "minProperties",
        "maxProperties", "dependentRequired",
    ])

    /// Makes a checker for the schemas of a document.
    public init(root: JSONNode) {
        self.root = root
    }

    /// Follows references, through any number of steps; `nil` where one leads nowhere.
    public func resolved(_ node: JSONNode?) -> JSONNode? {
        var node = node
        for _ in 0..<32 {
            guard let reference = node?["$ref"]?.text else { return node }
            guard reference.hasPrefix("#/") else { return nil }
            node = reference.dropFirst(2).split(separator: "/").reduce(Optional(root)) { node, name in
                node?[String(name.replacing("~1", with: "/").replacing("~0", with: "~"))]
            }
        }
        return nil
    }

    /// Lists the reasons why a value does not match its schema, one line each; empty where it matches.
    public func flaws(of value: JSONNode, against schema: JSONNode?, at path: String = "$") -> [String] {
        guard let schema else { return ["\(path): there is no schema"] }
        if let flag = schema.flag { return flag ? [] : ["\(path): nothing is allowed here"] }
        guard case .object(let keywords) = schema else { return ["\(path): the schema is none"] }
        var flaws = keywords.keys.filter { !Self.keywords.contains($0) }.map { "\(path): unknown keyword '\($0)'" }
        if schema["$ref"] != nil {
            guard let target = resolved(schema) else { return flaws + ["\(path): a reference leads nowhere"] }
            flaws += self.flaws(of: value, against: target, at: path)
        }
        flaws += generalFlaws(of: value, schema, path) + combinedFlaws(of: value, schema, path)
        switch value {
        case .string(let text): flaws += textFlaws(of: text, schema, path)
        case .integer, .number: flaws += numberFlaws(of: value.double ?? 0, schema, path)
        case .array(let items): flaws += itemFlaws(of: items, schema, path)
        case .object(let members): flaws += memberFlaws(of: members, schema, path)
        case .null, .bool: break
        }
        return flaws
    }

    private func generalFlaws(of value: JSONNode, _ schema: JSONNode, _ path: String) -> [String] {
        var flaws: [String] = []
        if let type = schema.type {
            let types = type.text.map { [$0] } ?? type.items.compactMap(\.text)
            if !types.contains(where: { Self.isOf($0, value) }) {
                flaws.append("\(path): \(value) is not of type \(types.joined(separator: " or "))")
            }
        }
        if let allowed = schema["enum"], !allowed.items.contains(where: { Self.areEqual($0, value) }) {
            flaws.append("\(path): \(value) is none of \(allowed)")
        }
        if let constant = schema.const, !Self.areEqual(constant, value) {
            flaws.append("\(path): \(value) is not \(constant)")
        }
        return flaws
    }

    private func combinedFlaws(of value: JSONNode, _ schema: JSONNode, _ path: String) -> [String] {
        func fits(_ other: JSONNode) -> Bool { self.flaws(of: value, against: other, at: path).isEmpty }
        var flaws = (schema.allOf?.items ?? []).flatMap { self.flaws(of: value, against: $0, at: path) }
        if let choices = schema.anyOf, !choices.items.contains(where: fits) {
            flaws.append("\(path): fits none of the schemas in anyOf")
        }
        if let choices = schema.oneOf {
            let each = choices.items.map { self.flaws(of: value, against: $0, at: path) }
            if each.count(where: \.isEmpty) != 1 { flaws.append("\(path): not exactly one of \(each)") }
        }
        if let other = schema.not, fits(other) { flaws.append("\(path): fits what it must not") }
        if let condition = schema.if, let branch = fits(condition) ? schema.then : schema.else {
            flaws += self.flaws(of: value, against: branch, at: path)
        }
        return flaws
    }

    private func textFlaws(of text: String, _ schema: JSONNode, _ path: String) -> [String] {
        let length = text.unicodeScalars.count
        var flaws: [String] = []
        if let least = schema.minLength?.integer, length < least { flaws.append("\(path): shorter than \(least)") }
        if let most = schema.maxLength?.integer, length > most { flaws.append("\(path): longer than \(most)") }
        if let pattern = schema.pattern?.text, !Self.matches(text, pattern) {
            flaws.append("\(path): '\(text)' does not match \(pattern)")
        }
        if let format = schema.format?.text, !Self.isInFormat(format, text) {
            flaws.append("\(path): '\(text)' is no \(format)")
        }
        return flaws
    }

    private func numberFlaws(of number: Double, _ schema: JSONNode, _ path: String) -> [String] {
        var flaws: [String] = []
        if let least = schema.minimum?.double, number < least { flaws.append("\(path): \(number) is below \(least)") }
        if let most = schema.maximum?.double, number > most { flaws.append("\(path): \(number) is above \(most)") }
        if let bound = schema.exclusiveMinimum?.double, number <= bound {
            flaws.append("\(path): \(number) is not above \(bound)")
        }
        if let bound = schema.exclusiveMaximum?.double, number >= bound {
            flaws.append("\(path): \(number) is not below \(bound)")
        }
        if let step = schema.multipleOf?.double, number.remainder(dividingBy: step) != 0 {
            flaws.append("\(path): \(number) is no multiple of \(step)")
        }
        return flaws
    }

    private func itemFlaws(of items: [JSONNode], _ schema: JSONNode, _ path: String) -> [String] {
        var flaws: [String] = []
        if let least = schema.minItems?.integer, items.count < least { flaws.append("\(path): fewer than \(least)") }
        if let most = schema.maxItems?.integer, items.count > most { flaws.append("\(path): more than \(most)") }
        if schema.uniqueItems?.flag == true, Set(items).count < items.count { flaws.append("\(path): repeats itself") }
        if let wanted = schema.contains, !items.contains(where: { self.flaws(of: $0, against: wanted).isEmpty }) {
            flaws.append("\(path): lacks what it must contain")
        }
        let first = schema.prefixItems?.items ?? []
        for (index, item) in items.enumerated() {
            guard let schema = index < first.count ? first[index] : schema["items"] else { continue }
            flaws += self.flaws(of: item, against: schema, at: "\(path)[\(index)]")
        }
        return flaws
    }

    private func memberFlaws(of members: [String: JSONNode], _ schema: JSONNode, _ path: String) -> [String] {
        let required = (schema.required?.items ?? []).compactMap(\.text)
        var flaws = required.filter { members[$0] == nil }.map { "\(path).\($0): missing" }
        if let least = schema.minProperties?.integer, members.count < least {
            flaws.append("\(path): fewer than \(least) members")
        }
        if let most = schema.maxProperties?.integer, members.count > most {
            flaws.append("\(path): more than \(most) members")
        }
        for (name, others) in schema.dependentRequired?.members ?? [:] where members[name] != nil {
            flaws += others.items.compactMap(\.text).filter { members[$0] == nil }.map { "\(path).\($0): missing" }
        }
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            if let names = schema.propertyNames {
                flaws += self.flaws(of: .string(name), against: names, at: "\(path) name of \(name)")
            }
            let patterns = (schema.patternProperties?.members ?? [:]).filter { Self.matches(name, $0.key) }
            let schemas = [schema.properties?[name]].compactMap(\.self) + patterns.values
            for schema in schemas { flaws += self.flaws(of: value, against: schema, at: "\(path).\(name)") }
            guard schemas.isEmpty, let others = schema.additionalProperties else { continue }
            flaws +=
                others == .bool(false)
                ? ["\(path).\(name): not in the schema"] : self.flaws(of: value, against: others, at: "\(path).\(name)")
        }
        return flaws
    }
}

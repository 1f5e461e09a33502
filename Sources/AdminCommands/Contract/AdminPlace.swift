import ContractModel
import StrictJSON

/// The member of a body that an option names. `conditions.max-bytes` names a member of a member.
struct AdminPlace {
    let names: [String]
    private let schema: ContractValue
    private let items: ContractValue

    /// Finds the member; `nil` if there is none.
    init?(_ option: String, in members: [ContractValue.Member], _ model: ContractModel) {
        var names: [String] = []
        var members = members
        var schema = ContractValue.null
        for part in option.split(separator: ".", omittingEmptySubsequences: false) {
            guard let member = members.first(where: { AdminNames.key($0.name) == AdminNames.key(part) }) else {
                return nil
            }
            names.append(member.name)
            schema = model.resolved(member.value)
            members = schema["properties"]?.members ?? []
        }
        self.names = names
        self.schema = schema
        items = model.resolved(schema["items"] ?? .null)
    }

    /// The JSON type. It is the first one if the contract allows several.
    private var type: String {
        schema["type"]?.text ?? schema["type"]?.items.first?.text
            ?? (schema["enum"] != nil || schema["const"]?.text != nil ? "string" : "")
    }

    /// The value's placeholder in the help text; empty if the option may be given without a value.
    var hint: String {
        switch type {
        case "boolean": ""
        case "integer", "number": "<number>"
        case "array" where items["properties"] == nil && items["oneOf"] == nil: "<a,b,…>"
        case "string": choices.nonEmpty?.joined(separator: "|") ?? "<text>"
        default: "<json>"
        }
    }

    var help: String { schema["description"]?.text ?? "" }

    /// Whether the value is a list with commas.
    var isList: Bool { type == "array" && hint != "<json>" }

    /// The values that the member, or each item of a list, may have; empty if there are others.
    var choices: [String] { ((isList ? items : schema)["enum"]?.items ?? []).compactMap(\.text) }

    /// The value that applies where there is none.
    var standard: String? { schema["default"]?.cell }

    /// Parses a value.
    ///
    /// - Parameters:
    ///   - text: The text of the value.
    ///   - old: The value from an earlier option; a list is appended to it.
    ///   - option: The option's name, for error messages.
    ///   - read: Returns the content of a file, for values such as `@secret.txt`.
    func value(
        _ text: String, behind old: ContractValue?, option: String, _ read: (String) throws(AdminFailure) -> String
    ) throws(AdminFailure) -> ContractValue {
        var text = text
        if text.hasPrefix("@@") {
            text.removeFirst()
        } else if text.hasPrefix("@") {
            text = try read(String(text.dropFirst()))
        }
        switch type {
        case "boolean":
            guard text == "true" || text == "false" else { throw .usage("'--\(option)' takes 'true' or 'false'.") }
            return .bool(text == "true")
        case "integer":
            guard let number = Int(text) else { throw .usage("'--\(option)' takes a whole number.") }
            return .integer(number)
        case "array" where isList:
            if text.hasPrefix("["), let list = try? ContractValue(json: Array(text.utf8)) { return list }
            let parts = text.split(separator: ",", omittingEmptySubsequences: true).map {
                ContractValue.string(String($0))
            }
            for part in parts { try Self.check(part.text ?? "", among: choices, option) }
            return .array((old?.items ?? []) + parts)
        case "string":
            try Self.check(text, among: choices, option)
            return .string(text)
        default:
            do throws(JSONError) {
                return try ContractValue(json: Array(text.utf8))
            } catch {
                throw .usage("'--\(option)' takes JSON. \(error).")
            }
        }
    }
}

extension AdminPlace {
    /// Refuses a value that is not among those that the contract lists.
    static func check(_ value: String, among choices: [String], _ option: String) throws(AdminFailure) {
        guard !choices.isEmpty, !choices.contains(value) else { return }
        let question = Suggestion.question(value, among: choices)
        throw .usage("'--\(option)' takes \(choices.spoken("or")), not '\(value)'.\(question)")
    }
}

extension Array where Element == String {
    /// The texts in quotes as a sentence lists them: `'a', 'b' or 'c'`.
    func spoken(_ word: String) -> String {
        let quoted = map { "'\($0)'" }
        guard quoted.count > 1 else { return quoted.first ?? "" }
        return quoted.dropLast().joined(separator: ", ") + " \(word) " + (quoted.last ?? "")
    }
}

extension Array {
    /// The array; `nil` if it is empty.
    var nonEmpty: Self? { isEmpty ? nil : self }
}

import ContractModel

/// One option of a command. Parser, help and completion read the same list.
struct AdminOption: Sendable {
    /// What the option sets.
    enum Meaning: Sendable {
        case general(AdminGeneralOption)
        case query(String)
        case header(String)
        case member(AdminPlace)
    }

    /// Numbers that a parameter takes.
    enum Number: String, Sendable {
        /// Whole numbers.
        case integer
        /// Any numbers.
        case number

        /// Tests whether a text is such a number, in the form that JSON has for it.
        func admits(_ text: String) -> Bool {
            switch self {
            case .integer: Int(text) != nil
            case .number:
                text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/) != nil
                    && Double(text)?.isFinite == true
            }
        }

        /// What an option says that it takes.
        var text: String {
            switch self {
            case .integer: "a whole number"
            case .number: "a number, such as 0.8"
            }
        }
    }

    /// The name without dashes in front, such as `conditions.max-bytes`.
    let name: String
    let meaning: Meaning
    /// The value's placeholder; empty if the option needs no value.
    let hint: String
    /// What it does, in Markdown.
    let text: String
    /// The values that it takes; empty if there are others.
    let choices: [String]
    /// Whether the value is a list with commas.
    let isList: Bool
    /// The numbers that it takes, of a parameter; `nil` if it takes other values.
    let number: Number?
    /// The value that applies without the option.
    let standard: String?

    var isFlag: Bool { hint.isEmpty }

    init(_ general: AdminGeneralOption) {
        name = general.rawValue
        meaning = .general(general)
        hint = general.hint
        text = general.text
        choices = general == .fileType ? ["ndjson", "csv"] : []
        isList = [.columns, .unset, .print].contains(general)
        number = nil
        standard = nil
    }

    init(_ parameter: ContractModel.Parameter, _ model: ContractModel) {
        let schema = model.resolved(parameter.schema)
        name = AdminNames.option(parameter.name)
        meaning = parameter.place == "query" ? .query(parameter.name) : .header(parameter.name)
        choices = (schema["enum"]?.items ?? []).compactMap(\.text)
        number = schema["type"]?.text.flatMap { Number(rawValue: $0) }
        hint =
            switch schema["type"]?.text {
            case "boolean": ""
            case "integer", "number": "<number>"
            default: choices.nonEmpty?.joined(separator: "|") ?? "<text>"
            }
        text = parameter.description
        isList = false
        standard = schema["default"]?.cell
    }

    init?(member path: [String], text: String, _ members: [ContractValue.Member], _ model: ContractModel) {
        let name = path.joined(separator: ".")
        guard let place = AdminPlace(name, in: members, model) else { return nil }
        self.name = AdminNames.option(name)
        meaning = .member(place)
        hint = place.hint
        self.text = text.isEmpty ? place.help : text
        choices = place.choices
        isList = place.isList
        number = nil
        standard = place.standard
    }
}

extension AdminOperation {
    /// Returns the options of the command, its own before those of all commands.
    func options(_ model: ContractModel) -> [AdminOption] {
        let shared = AdminGeneralOption.allCases.filter { $0.isShared && $0.applies(to: self) }
        return ownOptions(model) + shared.map(AdminOption.init)
    }

    /// Returns the options that set parameters and members of this operation.
    func ownOptions(_ model: ContractModel) -> [AdminOption] {
        let members = bodyMembers(model)
        return (query + headers).map { AdminOption($0, model) }
            + members.flatMap { memberOptions($0, below: [], members, model) }
            + AdminGeneralOption.allCases.filter { !$0.isShared && $0.applies(to: self) }.map(AdminOption.init)
    }

    private func memberOptions(
        _ member: ContractValue.Member, below outer: [String], _ members: [ContractValue.Member], _ model: ContractModel
    ) -> [AdminOption] {
        let path = outer + [member.name]
        if outer.isEmpty, let inner = model.resolved(member.value)["properties"]?.members, !inner.isEmpty {
            return inner.flatMap { memberOptions($0, below: path, members, model) }
        }
        let text = member.value["description"]?.text ?? ""
        return AdminOption(member: path, text: text, members, model).map { [$0] } ?? []
    }
}

import ContractModel
import LocalFiles

/// The arguments and options after the words of a command, checked against its operation.
struct AdminInvocation: Sendable {
    /// Values of the path's parameters, in order.
    private(set) var path: [String] = []
    /// Query parameters. The last value of a repeated option counts.
    private(set) var query: [(name: String, value: String)] = []
    /// Header fields.
    private(set) var headers: [(name: String, value: String)] = []
    /// The members of the body that options set, each by the names that lead to it, in the order of the line.
    private var changes: [(names: [String], value: ContractValue)] = []
    private(set) var file: String?
    private(set) var fileType: String?
    private(set) var output: String?
    private(set) var ifMatch: String?
    private(set) var limit: Int? = 100
    private(set) var columns: [String]?
    private(set) var isJSON = false
    /// The only members to print; `nil` to print the whole answer.
    private(set) var printed: [[String]]?
    private(set) var asksForHelp = false
    /// Whether a destructive command is done without a question.
    private(set) var isSure = false
    private(set) var url: String?
    private(set) var timeout: Int?
    /// Whether an option takes its value from standard input.
    private var hasStandardInputMember = false

    private let command: AdminOperation
    private let model: ContractModel
    private let options: [AdminOption]
    /// The options that the line names, also where a value or a letter is wrong.
    private var named: Set<String> = []

    /// Parses the arguments.
    ///
    /// - Parameters:
    ///   - arguments: The arguments without the command's words.
    ///   - command: The command.
    ///   - model: The contract.
    ///   - read: Returns the content of a file, for values such as `@secret.txt`.
    /// - Throws: ``AdminFailure/misuse(_:seeing:)`` with all mistakes of the line.
    init(
        _ arguments: [String], of command: AdminOperation, _ model: ContractModel,
        read: (String) throws(AdminFailure) -> String
    ) throws(AdminFailure) {
        self.command = command
        self.model = model
        options = command.options(model)
        var mistakes: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument != "--" else {
                path += rest
                break
            }
            do {
                guard argument.hasPrefix("-"), argument.count > 1 else {
                    path.append(argument)
                    continue
                }
                try take(argument, &rest, read)
            } catch {
                guard case .misuse(let texts, _) = error else { throw error }
                mistakes += texts
            }
        }
        guard !asksForHelp else { return }
        let meant = named.map { "'--\($0)' is required." }
        mistakes += wrongPath() + missing().filter { !meant.contains($0) } + contradictions()
        if mistakes.isEmpty, command.operation.method == "PATCH", file == nil, changes.isEmpty {
            mistakes.append("Nothing to change: set members with options, '--unset' or '--file'.")
        }
        guard mistakes.isEmpty else { throw .misuse(mistakes, seeing: command.words) }
    }

    /// Whether the body, or a member of it, comes from standard input.
    var readsStandardInput: Bool {
        hasStandardInputMember || file == "-" || (file == nil && !command.fileTypes.isEmpty)
    }

    /// The body that options make.
    var body: ContractValue { changed(.object([])) }

    /// Returns a body with what options set in it.
    func changed(_ body: ContractValue) -> ContractValue {
        changes.reduce(body) { $0.setting($1.names, to: $1.value) }
    }

    /// Whether an option sets a member of the body, or one that contains it.
    ///
    /// - Parameter field: The member as the gateway names it, such as `conditions.sourceCIDRs[0]`.
    func setsMember(_ field: String) -> Bool {
        changes.contains { change in
            let name = change.names.joined(separator: ".")
            return field == name || field.hasPrefix(name + ".") || field.hasPrefix(name + "[")
        }
    }

    private func wrongPath() -> [String] {
        let wanted = command.path.map { "<\(AdminNames.option($0.name))>" }
        let excess = path.dropFirst(wanted.count).map { "Unexpected argument '\($0)'." }
        return excess + wanted.dropFirst(path.count).map { "The argument \($0) is missing." }
    }

    /// Returns what is required and missing. A file with the body is checked once it is read.
    private func missing() -> [String] {
        var mistakes = (command.query + command.headers)
            .filter { parameter in
                parameter.isRequired && !(query + headers).contains { $0.name == parameter.name }
            }
            .map { "'--\(AdminNames.option($0.name))' is required." }
        guard command.json != nil, file == nil else { return mistakes }
        mistakes += AdminRequirements(of: command, model).missing(in: body)
        return mistakes
    }

    private func contradictions() -> [String] {
        var mistakes: [String] = []
        if isJSON, printed != nil { mistakes.append("'--json' and '--print' exclude each other.") }
        if let output, !command.answersFile, !isJSON, printed == nil, let ending = FileName.fileExtension(output),
            ["csv", "ndjson", "jsonl"].contains(ending)
        {
            mistakes.append(
                "'\(output)' ends with '.\(ending)', but this command writes a table, or JSON with '--json'. "
                    + "Commands named 'export' write NDJSON, and most of them CSV too.")
        }
        return mistakes
    }

    private mutating func take(
        _ argument: String, _ rest: inout ArraySlice<String>, _ read: (String) throws(AdminFailure) -> String
    ) throws(AdminFailure) {
        if argument == "-h" { return asksForHelp = true }
        if argument == "-y", command.isDestructive { return isSure = true }
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0].drop { $0 == "-" })
        let given = parts.count > 1 ? String(parts[1]) : nil
        guard argument.hasPrefix("--"), let option = option(name) else {
            let names = options.map(\.name)
            if let meant = Suggestion.nearest(to: name, among: names) { named.insert(meant) }
            skipValue(of: name, given, &rest)
            throw .usage(
                "There is no option '\(parts[0])'." + Suggestion.question(name, among: names, prefix: "--"))
        }
        named.insert(option.name)
        guard option.isFlag || given != nil || rest.first != nil else { throw .usage("'--\(name)' needs a value.") }
        let value = given ?? (option.isFlag ? "true" : rest.removeFirst())
        switch option.meaning {
        case .general(let general): try take(general, value)
        case .query(let parameter): try set(parameter, to: value, option, in: &query)
        case .header(let parameter): try set(parameter, to: value, option, in: &headers)
        case .member(let place):
            if value == "@-" { hasStandardInputMember = true }
            let old = place.names.reduce(Optional(body)) { $0?[$1] }
            // A repeated option adds to a list.
            let new = try place.value(value, behind: old, option: option.name, read)
            changes.append((place.names, new))
        }
    }

    private func option(_ name: String) -> AdminOption? {
        let key = AdminNames.key(name)
        return options.first { AdminNames.key($0.name) == key }
            // A member of a member of a member, or an object as JSON.
            ?? AdminOption(
                member: name.split(separator: ".", omittingEmptySubsequences: false).map(String.init), text: "",
                command.bodyMembers(model), model)
    }

    /// Drops what is probably the value of an unknown option.
    private func skipValue(of name: String, _ given: String?, _ rest: inout ArraySlice<String>) {
        guard given == nil, let next = rest.first, !next.hasPrefix("-") else { return }
        let meant = Suggestion.nearest(to: name, among: options.map(\.name))
        let isNeeded = path.count + rest.prefix { !$0.hasPrefix("-") }.count <= command.path.count
        if !(options.first { $0.name == meant }?.isFlag ?? isNeeded) { rest.removeFirst() }
    }

    private func set(
        _ parameter: String, to value: String, _ option: AdminOption, in list: inout [(name: String, value: String)]
    ) throws(AdminFailure) {
        if option.isFlag { try AdminPlace.check(value, among: ["true", "false"], option.name) }
        if let number = option.number, !number.admits(value) {
            throw .usage("'--\(option.name)' takes \(number.text).")
        }
        try AdminPlace.check(value, among: option.choices, option.name)
        list.removeAll { $0.name == parameter }
        list.append((parameter, value))
    }

    private mutating func take(_ option: AdminGeneralOption, _ value: String) throws(AdminFailure) {
        if option.hint.isEmpty { try AdminPlace.check(value, among: ["true", "false"], option.rawValue) }
        switch option {
        case .help: asksForHelp = value == "true"
        case .json: isJSON = value == "true"
        case .yes: isSure = value == "true"
        case .all: limit = value == "true" ? nil : limit
        case .url: url = value
        case .file: file = value
        case .fileType:
            try AdminPlace.check(value, among: ["ndjson", "csv"], option.rawValue)
            fileType = value
        case .output:
            guard !value.isEmpty else { throw .usage("'--output' needs the name of a file, or '-'.") }
            output = value
        case .ifMatch: ifMatch = value
        case .timeout: timeout = try Self.positive(option, value)
        case .limit: limit = try Self.positive(option, value)
        case .columns: columns = try Self.list(value).map { name throws(AdminFailure) in try column(name) }
        case .print: printed = try Self.list(value).map { name throws(AdminFailure) in try member(name) }
        case .unset:
            for name in Self.list(value) { try unset(name) }
        }
    }

    private static func list(_ text: String) -> [String] { text.split(separator: ",").map(String.init) }

    private static func positive(_ option: AdminGeneralOption, _ text: String) throws(AdminFailure) -> Int {
        guard let number = Int(text), number > 0 else {
            throw .usage("'--\(option.rawValue)' takes a whole number greater than 0.")
        }
        return number
    }

    private mutating func unset(_ name: String) throws(AdminFailure) {
        let members = command.bodyMembers(model)
        guard let place = AdminPlace(name, in: members, model) else {
            let known = command.ownOptions(model).map(\.name) + members.map { AdminNames.option($0.name) }
            throw .usage("There is no member '\(name)'." + Suggestion.question(name, among: known))
        }
        changes.append((place.names, .null))
    }

    /// Returns the name of a column as the contract writes it.
    private func column(_ name: String) throws(AdminFailure) -> String {
        let known = command.answerMembers(model)
        guard let column = known.first(where: { AdminNames.key($0) == AdminNames.key(name) }) else {
            let names = known.map(AdminNames.option)
            throw .usage(
                "There is no column '\(name)'. The columns are \(names.joined(separator: ", "))."
                    + Suggestion.question(name, among: names))
        }
        return column
    }

    /// Returns the names that lead to a member of the answer, as the contract writes them.
    private func member(_ name: String) throws(AdminFailure) -> [String] {
        var schema = command.answerRow(model)
        var path: [String] = []
        for part in name.split(separator: ".", omittingEmptySubsequences: false) {
            let known = (schema["properties"]?.members ?? [])
            guard let member = known.first(where: { AdminNames.key($0.name) == AdminNames.key(part) }) else {
                // The contract does not list the members of every object.
                guard known.isEmpty, !path.isEmpty else {
                    let names = known.map { AdminNames.option($0.name) }
                    throw .usage(
                        "The answer has no member '\(name)'. Its members are \(names.joined(separator: ", "))."
                            + Suggestion.question(String(part), among: names))
                }
                path.append(String(part))
                continue
            }
            path.append(member.name)
            schema = model.resolved(member.value)
        }
        return path
    }
}

extension ContractValue {
    /// Returns this object with a value set at a path of members.
    fileprivate func setting(_ names: [String], to value: ContractValue) -> ContractValue {
        guard let first = names.first else { return value }
        var changed = self
        let inner = self[first].flatMap { $0.members.isEmpty ? nil : $0 } ?? .object([])
        changed[first] = inner.setting(Array(names.dropFirst()), to: value)
        return changed
    }
}

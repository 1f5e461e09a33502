import ContractModel

/// The arguments and options after the words of a command, checked against its operation.
struct AdminInvocation: Sendable {
    /// Values of the path's parameters, in order.
    var path: [String] = []
    /// Query parameters, in order.
    var query: [(name: String, value: String)] = []
    /// Header fields, in order.
    var headers: [(name: String, value: String)] = []
    /// Members of the body that options set.
    var body: ContractValue = .object([])
    /// Whether an option set a member of the body.
    var namesBody = false
    var file: String?
    var fileType: String?
    var output: String?
    var ifMatch: String?
    var limit: Int? = 100
    var columns: [String]?
    var isJSON = false
    /// The only member to print; `nil` to print the whole answer.
    var printed: String?
    var asksForHelp = false
    var url: String?
    var timeout = 60

    /// Parses the arguments.
    ///
    /// - Parameters:
    ///   - arguments: The arguments after the command's words.
    ///   - command: The command.
    ///   - model: The contract.
    ///   - read: Returns the content of a file, for values such as `@secret.txt`.
    init(
        _ arguments: [String], of command: AdminOperation, _ model: ContractModel,
        read: (String) throws(AdminFailure) -> String
    ) throws(AdminFailure) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--"), argument != "--" else {
                if argument == "-h" { asksForHelp = true } else { path.append(argument) }
                continue
            }
            let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            let given = parts.count > 1 ? String(parts[1]) : nil
            if command.isPaged, try takePaging(name, given, &rest) { continue }
            if try takeGeneral(name, given, &rest) { continue }
            try take(name, given, &rest, command, model, read)
        }
        guard asksForHelp || path.count == command.path.count else {
            let wanted = command.path.map { "<\($0.name)>" }.joined(separator: " ")
            throw .usage(
                wanted.isEmpty ? "Unexpected argument '\(path[0])'." : "The command takes these arguments: \(wanted).")
        }
    }

    private static func value(
        _ name: String, _ given: String?, _ rest: inout ArraySlice<String>
    ) throws(AdminFailure) -> String {
        guard let value = given ?? rest.popFirst() else { throw .usage("'--\(name)' needs a value.") }
        return value
    }

    private mutating func takeGeneral(
        _ name: String, _ given: String?, _ rest: inout ArraySlice<String>
    ) throws(AdminFailure) -> Bool {
        switch name {
        case "help": asksForHelp = true
        case "json": isJSON = true
        case "url": url = try Self.value(name, given, &rest)
        case "file": file = try Self.value(name, given, &rest)
        case "file-type": fileType = try Self.value(name, given, &rest)
        case "print": printed = try Self.value(name, given, &rest)
        case "output": output = try Self.value(name, given, &rest)
        case "if-match": ifMatch = try Self.value(name, given, &rest)
        case "timeout": timeout = try Self.positive(name, try Self.value(name, given, &rest))
        default: return false
        }
        return true
    }

    private mutating func takePaging(
        _ name: String, _ given: String?, _ rest: inout ArraySlice<String>
    ) throws(AdminFailure) -> Bool {
        switch name {
        case "all": limit = nil
        case "limit": limit = try Self.positive(name, try Self.value(name, given, &rest))
        case "columns": columns = try Self.value(name, given, &rest).split(separator: ",").map(String.init)
        default: return false
        }
        return true
    }

    private static func positive(_ name: String, _ text: String) throws(AdminFailure) -> Int {
        guard let number = Int(text), number > 0 else {
            throw .usage("'--\(name)' takes a whole number greater than 0.")
        }
        return number
    }

    private mutating func take(
        _ name: String, _ given: String?, _ rest: inout ArraySlice<String>, _ command: AdminOperation,
        _ model: ContractModel, _ read: (String) throws(AdminFailure) -> String
    ) throws(AdminFailure) {
        if name == "unset", command.operation.method == "PATCH" {
            for member in try Self.value(name, given, &rest).split(separator: ",") {
                let names = command.bodyMembers(model).map(\.name)
                guard let known = names.first(where: { AdminNames.key($0) == AdminNames.key(member) }) else {
                    throw .usage("There is no member '\(member)'.")
                }
                body[known] = .null
            }
            namesBody = true
            return
        }
        let parameters = command.query + command.headers
        if let parameter = parameters.first(where: { AdminNames.key($0.name) == AdminNames.key(name) }) {
            let isFlag = model.resolved(parameter.schema)["type"]?.text == "boolean"
            let value = isFlag ? given ?? "true" : try Self.value(name, given, &rest)
            if parameter.place == "query" { query.append((parameter.name, value)) }
            if parameter.place == "header" { headers.append((parameter.name, value)) }
            return
        }
        let place = try AdminPlace(name, in: command.bodyMembers(model), model)
        guard let place else {
            throw .usage("This command has no option '--\(name)'. '--help' lists the options.")
        }
        let text = place.isFlag ? given ?? "true" : try Self.value(name, given, &rest)
        let old = place.names.reduce(Optional(body)) { $0?[$1] }
        body = body.setting(place.names, to: try place.value(text, behind: old, option: name, read))
        namesBody = true
    }
}

extension ContractValue {
    /// Returns this object with a value set at a path of members.
    fileprivate func setting(_ names: [String], to value: ContractValue) -> ContractValue {
        guard let first = names.first else { return value }
        var changed = self
        changed[first] = (self[first] ?? .object([])).setting(Array(names.dropFirst()), to: value)
        return changed
    }
}

import ContractModel

/// One command below `sluice admin`: an operation of the contract, and the words that name it.
struct AdminOperation: Sendable {
    /// The words, such as `grants` and `create`.
    let words: [String]
    let operation: ContractModel.Operation

    /// Shorter words for names in the contract's paths.
    static let shorter = ["storage-credentials": "credentials"]

    /// Returns all commands, in the order of the contract.
    static func all(of model: ContractModel) -> [AdminOperation] {
        let prefix = "/admin/v1/"
        let operations = model.operations.filter { $0.path.hasPrefix(prefix) }
        return operations.map { operation in
            AdminOperation(
                words: words(of: operation, path: operation.path.dropFirst(prefix.count), among: operations),
                operation: operation)
        }
    }

    /// Returns the literal segments of the path and a verb. The verb is the word after a colon in the path, or else
    /// describes what the method does.
    private static func words(
        of operation: ContractModel.Operation, path: Substring, among operations: [ContractModel.Operation]
    ) -> [String] {
        var words: [String] = []
        var verb: String?
        var endsWithParameter = false
        for segment in path.split(separator: "/") {
            let parts = segment.split(separator: ":", maxSplits: 1)
            endsWithParameter = segment.hasPrefix("{")
            if !endsWithParameter { words.append(shorter[String(parts[0])] ?? String(parts[0])) }
            if parts.count > 1 { verb = String(parts[1]) }
        }
        if let verb { return words + [verb] }
        if endsWithParameter {
            switch operation.method {
            case "PUT": return words + ["replace"]
            case "PATCH": return words + ["update"]
            case "DELETE": return words + ["delete"]
            default: return words + ["get"]
            }
        }
        let isCollection = operations.contains { other in
            other.path.hasPrefix(operation.path + "/") || other.path.hasPrefix(operation.path + ":")
        }
        let isAlone = operations.count { $0.path == operation.path } == 1
        // A word with only one operation needs no verb.
        guard isCollection || !isAlone else { return words }
        switch operation.method {
        case "POST": return words + ["create"]
        case "PUT": return words + ["replace"]
        case "PATCH": return words + ["update"]
        case "DELETE": return words + ["delete"]
        default:
            return words + [isCollection || operation.parameters.contains { $0.name == "pageToken" } ? "list" : "get"]
        }
    }

    var path: [ContractModel.Parameter] { parameters("path") }
    var query: [ContractModel.Parameter] { parameters("query").filter { !Self.paging.contains($0.name) } }
    var headers: [ContractModel.Parameter] { parameters("header").filter { $0.name != "If-Match" } }

    private static let paging: Set<String> = ["pageSize", "pageToken"]

    private func parameters(_ place: String) -> [ContractModel.Parameter] {
        operation.parameters.filter { $0.place == place }
    }

    /// Whether the answer comes in pages.
    var isPaged: Bool { operation.parameters.contains { $0.name == "pageToken" } }

    /// Whether the operation takes `If-Match`.
    var takesState: Bool { operation.parameters.contains { $0.name == "If-Match" } }

    /// Whether the operation requires `If-Match`.
    var needsState: Bool { operation.parameters.contains { $0.name == "If-Match" && $0.isRequired } }

    /// Whether a person is asked before the operation is done, or before requests of it that delete rows.
    var isDestructive: Bool {
        operation.method == "DELETE" || ["revoke", "offboard"].contains(words.last) || deletesOnDemand
    }

    /// Whether only some requests of the operation delete rows. Their dry runs count these.
    var deletesOnDemand: Bool { ["import", "apply"].contains(words.last) }

    /// Whether a request of the operation deletes rows, or is as grave.
    func deletes(_ query: [(name: String, value: String)], _ body: ContractValue?) -> Bool {
        guard deletesOnDemand else { return isDestructive }
        return query.contains { $0.name == "prune" && $0.value == "true" }
            || !(body?["deletes"]?.items ?? []).isEmpty
    }

    /// Whether a dry run identifies the rows that the operation would change, for `If-Match`.
    func rehearses(_ model: ContractModel) -> Bool {
        takesState && bodyMembers(model).contains { $0.name == Self.dryRun }
    }

    /// The member of a body that asks for a dry run.
    static let dryRun = "dryRun"

    /// Whether the answer holds a secret that the gateway shows only once.
    func showsSecret(_ model: ContractModel) -> Bool {
        let members = answerMembers(model)
        return members.contains("secret") || (words[0] == "api-keys" && members.contains("key"))
    }

    /// Whether a successful answer has a JSON body.
    var answersRow: Bool { answer != nil }

    private var answer: ContractModel.Content? {
        let response = operation.responses.first { $0.status.hasPrefix("2") }
        return response?.content.first { $0.type == "application/json" }
    }

    /// Whether the answer says, in a member `valid`, whether what was examined is right.
    func judges(_ model: ContractModel) -> Bool {
        answerSchema(model)["properties"]?["valid"] != nil
    }

    /// The description of a JSON body; `nil` if there is none.
    var json: ContractModel.Content? { operation.request.first { $0.type.hasSuffix("json") && $0.type != Self.lines } }

    /// Media types of a body that is sent as a file.
    var fileTypes: [String] { operation.request.map(\.type).filter { $0 == Self.lines || !$0.hasSuffix("json") } }

    /// Whether the answer is a file, of any length.
    var answersFile: Bool { answerTypes.contains(Self.lines) }

    /// Seconds to wait without any data before giving up. The gateway may write an import for half an hour, and may
    /// read for two minutes before an export begins.
    var patience: Int { !fileTypes.isEmpty ? 1900 : answersFile ? 150 : 60 }

    /// Media types of a successful answer.
    var answerTypes: [String] {
        operation.responses.filter { $0.status.hasPrefix("2") }.flatMap { $0.content.map(\.type) }
    }

    /// The media type of a file with one JSON value per line.
    static let lines = "application/x-ndjson"

    /// Returns the names and schemas of the body's members, in the contract's order.
    func bodyMembers(_ model: ContractModel) -> [ContractValue.Member] {
        guard let json else { return [] }
        // A merge patch has the members of the replacement, whose schema also says what applies without them.
        let replacement = model.operations.first { $0.path == operation.path && $0.method == "PUT" }
        let body = operation.method == "PATCH" ? replacement?.request.first : json
        return model.resolved(body?.schema ?? .null)["properties"]?.members ?? []
    }

    /// Returns the names of the answer's members, or of a row's members if the answer is a page.
    func answerMembers(_ model: ContractModel) -> [String] {
        (answerRow(model)["properties"]?.members ?? []).map(\.name)
    }

    /// Returns the schema of the answer.
    func answerSchema(_ model: ContractModel) -> ContractValue { model.resolved(answer?.schema ?? .null) }

    /// Returns the schema of the answer, or of one row if the answer is a page.
    func answerRow(_ model: ContractModel) -> ContractValue {
        let schema = answerSchema(model)
        return isPaged ? model.resolved(schema["properties"]?["items"]?["items"] ?? .null) : schema
    }
}

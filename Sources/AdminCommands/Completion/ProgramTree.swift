import ContractModel

/// The program's commands and options, as the argument parser describes them.
public struct ProgramTree: Sendable {
    /// A name of an option, or a command, with a text about it.
    public struct Entry: Sendable {
        /// The name, with dashes if it is an option.
        public let name: String
        /// What it is for.
        public let text: String
    }

    /// An option.
    struct Option: Sendable {
        /// The names, with dashes.
        let names: [String]
        let text: String
        /// The value's placeholder; `nil` for a flag.
        let value: String?
        let choices: [String]
        let isFile: Bool
        /// Whether it may be there more than once.
        let isRepeating: Bool
    }

    /// The name of the command.
    public let name: String
    /// What it does, in one line.
    public let abstract: String
    let options: [Option]
    let arguments: [Option]
    let subcommands: [ProgramTree]

    /// Reads the description.
    ///
    /// - Parameter json: What `--experimental-dump-help` of the argument parser prints. `nil` results from other text.
    public init?(json: String) {
        guard let command = (try? ContractValue(json: Array(json.utf8)))?["command"] else { return nil }
        self.init(command)
    }

    private init(_ command: ContractValue) {
        name = command["commandName"]?.text ?? ""
        abstract = command["abstract"]?.text ?? ""
        let shown = (command["arguments"]?.items ?? []).filter { $0["shouldDisplay"] != .bool(false) }
        options = shown.filter { $0["kind"]?.text != "positional" }.map(Option.init)
        arguments = shown.filter { $0["kind"]?.text == "positional" }.map(Option.init)
        var seen: Set<String> = []
        subcommands = (command["subcommands"]?.items ?? [])
            .filter { $0["shouldDisplay"] != .bool(false) }
            .map(ProgramTree.init)
            .filter { seen.insert($0.name).inserted }
    }

    /// The names of the commands below this one.
    public var commands: [Entry] { subcommands.map { Entry(name: $0.name, text: $0.abstract) } }

    /// The option with a name, which has its dashes.
    func option(_ name: String) -> Option? { options.first { $0.names.contains(name) } }

    /// Returns the command that words name below this one, and the words that follow its own.
    func command(_ words: ArraySlice<String>) -> (tree: ProgramTree, rest: ArraySlice<String>) {
        guard let first = words.first, let inner = subcommands.first(where: { $0.name == first }) else {
            return (self, words)
        }
        return inner.command(words.dropFirst())
    }
}

extension ProgramTree.Option {
    fileprivate init(_ node: ContractValue) {
        let names = (node["names"]?.items ?? []).map { name in
            (name["kind"]?.text == "long" ? "--" : "-") + (name["name"]?.text ?? "")
        }
        // The long name comes first.
        self.names = names.filter { $0.hasPrefix("--") } + names.filter { !$0.hasPrefix("--") }
        text = node["abstract"]?.text ?? ""
        value = node["kind"]?.text == "flag" ? nil : node["valueName"]?.text ?? "value"
        choices = (node["allValues"]?.items ?? []).compactMap(\.text)
        let kinds = node["completionKind"]?.members.map(\.name) ?? []
        isFile = ["file", "dir", "directory"].contains(value) || kinds.contains("file") || kinds.contains("directory")
        isRepeating = node["isRepeating"] == .bool(true)
    }
}

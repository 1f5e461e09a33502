import ContractModel

/// The command line of `sluice admin`: words that name a command, with options before, between and after them.
struct AdminLine {
    /// The words found so far, such as `grants` and `create`.
    private(set) var words: [String] = []
    /// The command; `nil` if the words do not name one.
    private(set) var command: AdminOperation?
    /// Everything but the words, in order.
    private(set) var rest: [String] = []
    /// The values for the parameters of the path.
    private(set) var arguments: [String] = []
    /// The options that were used.
    private(set) var options: [AdminOption] = []
    /// An option at the end of the line that has no value yet.
    private(set) var pending: AdminOption?
    /// The first word that names no command.
    private(set) var unknown: String?
    /// Whether `--help`, `-h` or the word `help` in front asks for help.
    private(set) var asksForHelp = false

    private let commands: [AdminOperation]
    private let model: ContractModel

    /// Reads a command line.
    ///
    /// - Parameters:
    ///   - line: The arguments after `admin`.
    ///   - commands: All commands.
    ///   - model: The contract.
    init(_ line: [String], among commands: [AdminOperation], _ model: ContractModel) {
        self.commands = commands
        self.model = model
        var line = line[...]
        if line.first == "help" {
            asksForHelp = true
            line.removeFirst()
        }
        while let argument = line.popFirst() {
            if argument == "--" {
                rest += [argument] + line
                arguments += line
                return
            }
            if argument.hasPrefix("-"), argument.count > 1 {
                takeOption(argument, &line)
            } else if command == nil, unknown == nil {
                takeWord(argument)
            } else {
                rest.append(argument)
                arguments.append(argument)
            }
        }
    }

    /// The commands that the words so far begin.
    var candidates: [AdminOperation] { command.map { [$0] } ?? commands.filter { $0.words.starts(with: words) } }

    /// The words that may come next.
    var nextWords: [String] {
        var seen: Set<String> = []
        guard command == nil else { return [] }
        return candidates.map { $0.words[words.count] }.filter { seen.insert($0).inserted }
    }

    private mutating func takeWord(_ argument: String) {
        // The contract's own word is accepted too: `sluice admin storage-credentials list`.
        let word = AdminOperation.shorter[argument] ?? argument
        guard nextWords.contains(word) else {
            unknown = argument
            return
        }
        words.append(word)
        command = commands.first { $0.words == words }
    }

    /// Takes an option and its value. Before the command is known, the option is one of any command that may follow.
    private mutating func takeOption(_ argument: String, _ line: inout ArraySlice<String>) {
        rest.append(argument)
        if argument == "-h" || argument == "--help" { asksForHelp = true }
        guard argument.hasPrefix("--"), !argument.contains("=") else { return }
        let key = AdminNames.key(argument.dropFirst(2))
        var option: AdminOption?
        for candidate in candidates {
            option = candidate.options(model).first { AdminNames.key($0.name) == key }
            if option != nil { break }
        }
        guard let option else {
            // The next argument is probably the value of a mistyped option.
            let names = candidates.flatMap { $0.options(model) }
            let meant = Suggestion.nearest(to: String(argument.dropFirst(2)), among: names.map(\.name))
            let isFlag = names.first { $0.name == meant }?.isFlag ?? hasAllArguments(line)
            if !isFlag, let next = line.first, !next.hasPrefix("-") { rest.append(line.removeFirst()) }
            return
        }
        options.append(option)
        guard !option.isFlag else { return }
        guard let value = line.popFirst() else {
            pending = option
            return
        }
        rest.append(value)
    }

    /// Tests whether the next argument is one that the command needs for its path.
    private func hasAllArguments(_ line: ArraySlice<String>) -> Bool {
        guard let command else { return line.first.map(nextWords.contains) ?? false }
        return arguments.count + line.prefix { !$0.hasPrefix("-") }.count <= command.path.count
    }
}

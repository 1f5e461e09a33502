import ContractModel
import Terminal

/// Generates help from the contract.
struct AdminHelp {
    private let model: ContractModel
    private let stream: TerminalStream
    private let width: Int

    /// Describes where the help is shown. A terminal's width is used up to 100 columns; elsewhere there are 80.
    init(model: ContractModel, _ stream: TerminalStream) {
        self.model = model
        self.stream = stream
        width = min(max(stream.width ?? 80, 60), 100)
    }

    /// Returns the help on several commands, as `sluice admin --help` and `sluice admin grants --help` print it.
    func text(on commands: [AdminOperation], all: Bool) -> String {
        let list = list(of: commands)
        guard all else {
            var examples: [String] = []
            for command in commands where examples.count < 3 && command.json?.examples.isEmpty != true {
                examples.append("  " + AdminExample.line(of: command))
            }
            let words = commands.first?.words.first ?? ""
            let number = commands.count == 1 ? "1 command" : "\(commands.count) commands"
            let about = heading("OVERVIEW:") + " \(number) on \(words)."
            let examplesPart = heading("EXAMPLES:") + "\n" + examples.joined(separator: "\n")
            return [
                about, list, examplesPart, "Add '--help' to a command to see its options.",
            ].joined(separator: "\n\n")
        }
        return """
            \(heading("OVERVIEW:")) Manage a running gateway: buckets, grants, quotas, keys, and what was issued.

            \(Self.introduction)

            \(heading("USAGE:")) sluice admin <command> <arguments> [options]

            \(list)

            \(heading("OPTIONS OF MOST COMMANDS:"))
            \(generalOptions(of: nil))

            \(heading("EXAMPLES:"))
            \(Self.examples.map { "  " + $0 }.joined(separator: "\n"))

            \(heading("EXIT STATUS:"))
            \(AdminFailure.exitCodes.split(separator: "\n").map { "  " + $0 }.joined(separator: "\n"))
            """
    }

    /// Returns the commands, each with its summary.
    func list(of commands: [AdminOperation]) -> String {
        let names = commands.map { "admin " + $0.words.joined(separator: " ") + $0.argumentText }
        return heading("COMMANDS:") + "\n" + grid(zip(names, commands).map { ($0, $1.operation.summary) })
    }

    /// What `sluice admin --help` and the manual say first.
    static let introduction = """
        Set SLUICE_ADMIN_KEY to the key of an admin or an auditor, or
        SLUICE_ADMIN_KEY_FILE to the name of a file that holds it. The key is never
        printed. The gateway's URL comes from '--url', then from SLUICE_ADMIN_URL; the
        default is http://127.0.0.1:8080. 'sluice admin caller' checks the URL and the
        key.

        Answers are printed as tables, or as JSON with '--json'. Options may be
        anywhere on the line. A command that changes a row reads it first; the change
        is refused if somebody else changed the row in between. '--if-match' names the
        version that you saw, '--if-match "*"' accepts any. Commands that delete ask
        first if a person is at a terminal, unless '--yes' says not to. The file of
        '--output' is replaced when the answer is complete. If the answer shows a
        secret, only you can read the file.

        Where an option sets a member of the body, the value '@file' is read from that
        file ('@-' from standard input), which keeps secrets off the command line, and
        '@@' begins a value with '@'. All other values, such as those of filters, are
        taken as they are.
        """

    static let examples = [
        "sluice admin buckets list",
        "sluice admin buckets validate demo",
        "sluice admin grants create --principal group:staff --bucket demo --prefix shared/ \\",
        "    --actions GetObject --conditions.max-ttl 600",
        "sluice admin grants list --principal user:alice --print id,prefix",
        "sluice admin grants export --output grants.csv",
        "sluice admin grants import --file grants.csv --dry-run",
        "sluice admin issuances list --principal user:alice --alive --json",
    ]

    /// Returns the nouns, each with its verbs.
    func resources(_ commands: [AdminOperation]) -> String {
        var nouns: [String] = []
        var verbs: [String: [String]] = [:]
        for command in commands {
            let noun = command.words[0]
            if verbs[noun] == nil { nouns.append(noun) }
            verbs[noun, default: []].append(command.words.dropFirst().joined(separator: " "))
        }
        return heading("COMMANDS:") + "\n"
            + grid(nouns.map { ($0, (verbs[$0] ?? []).filter { !$0.isEmpty }.joined(separator: ", ")) })
    }

    /// Returns the help on one command, as `sluice admin grants create --help` prints it.
    func text(on command: AdminOperation) -> String {
        let operation = command.operation
        var parts = ["\(heading("OVERVIEW:")) \(operation.summary)"]
        if !operation.description.isEmpty {
            let paragraphs = operation.description.plainText.split(separator: "\n\n")
            parts += paragraphs.map { $0.wrapped(to: width).joined(separator: "\n") }
        }
        parts.append(
            "\(heading("USAGE:")) sluice admin \(command.words.joined(separator: " "))\(command.argumentText) [options]"
        )
        if !command.path.isEmpty {
            parts.append(
                heading("ARGUMENTS:") + "\n"
                    + grid(command.path.map { ("<\(AdminNames.option($0.name))>", $0.description.plainText) }))
        }
        let own = ownOptions(of: command)
        if !own.isEmpty { parts.append(heading("OPTIONS:") + "\n" + grid(own)) }
        parts.append(heading("OPTIONS OF MOST COMMANDS:") + "\n" + generalOptions(of: command))
        parts.append(heading("EXAMPLE:") + "\n  " + AdminExample.line(of: command))
        parts.append("\(operation.method) \(operation.path), requires the role '\(operation.access)'.")
        return parts.joined(separator: "\n\n")
    }

    private func generalOptions(of command: AdminOperation?) -> String {
        let all = AdminGeneralOption.allCases.filter { $0.isShared && command.map($0.applies) ?? true }
        return grid(all.map { (Self.written($0.rawValue, $0.hint), $0.text.plainText) })
    }

    /// Returns the options of a command alone, each with what help says about it.
    func ownOptions(of command: AdminOperation) -> [(String, String)] {
        let marks = command.json == nil ? [:] : AdminRequirements(of: command, model).marks()
        let required = Set((command.query + command.headers).filter(\.isRequired).map { AdminNames.option($0.name) })
        return command.ownOptions(model).map { option in
            // The rest of a long text is in the contract.
            var text = option.text.plainText.split(separator: "\n\n").first.map(String.init) ?? ""
            if case .member = option.meaning, let mark = marks[option.name] { text += " (\(mark))" }
            if required.contains(option.name) { text += " (required)" }
            if let standard = option.standard { text += " (default: \(standard))" }
            return (Self.written(option.name, option.hint), text)
        }
    }

    private static func written(_ name: String, _ hint: String) -> String {
        hint.isEmpty ? "--\(name)" : "--\(name) \(hint)"
    }

    private func heading(_ text: String) -> String { stream.styled(text, .bold) }

    /// Returns rows of a name and a text. Texts begin in one column and are wrapped.
    private func grid(_ rows: [(String, String)]) -> String {
        let left = min(rows.map(\.0.count).max() ?? 0, 32)
        let margin = String(repeating: " ", count: left + 4)
        return rows.map { name, text in
            let lines = text.wrapped(to: max(width - left - 4, 30))
            guard let first = lines.first else { return "  \(name)" }
            let beginning =
                name.count <= left
                ? "  \(name)\(String(repeating: " ", count: left - name.count + 2))\(first)"
                : "  \(name)\n\(margin)\(first)"
            return ([beginning] + lines.dropFirst().map { margin + $0 }).joined(separator: "\n")
        }.joined(separator: "\n")
    }
}

extension AdminOperation {
    /// The arguments as help shows them, each with a space before it.
    var argumentText: String { path.map { " <\(AdminNames.option($0.name))>" }.joined() }
}

extension StringProtocol {
    /// The text of a description without Markdown's marks of code.
    var plainText: String { String(self).replacing("`", with: "'").trimmingSuffix { $0.isWhitespace } }

    private func trimmingSuffix(_ isDropped: (Character) -> Bool) -> String {
        var text = String(self)
        while let last = text.last, isDropped(last) { text.removeLast() }
        return text
    }
}

import ContractModel

/// Generates help from the contract.
struct AdminHelp {
    let model: ContractModel

    /// Returns the help on several commands, as `sluice admin --help` and `sluice admin grants --help` print it.
    func text(on commands: [AdminOperation], all: Bool) -> String {
        let names = commands.map { (["admin"] + $0.words).joined(separator: " ") + arguments(of: $0) }
        let width = names.map(\.count).max() ?? 0
        let lines = zip(names, commands).map { name, command in
            "  \(name)\(String(repeating: " ", count: width - name.count + 2))\(command.operation.summary)"
        }
        guard all else { return "COMMANDS:\n" + lines.joined(separator: "\n") }
        return """
            OVERVIEW: Manage a running gateway: buckets, grants, quotas, keys, and what was issued.

            Set SLUICE_ADMIN_KEY to the key of an admin or an auditor, or SLUICE_ADMIN_KEY_FILE
            to the name of a file that holds it. The key is never printed. The gateway's URL
            comes from '--url', then from SLUICE_ADMIN_URL; the default is
            http://127.0.0.1:8080.

            Answers are printed as tables, or as JSON with '--json'. A command that changes a
            row reads it first; the change is refused if somebody else changed the row in
            between. '--if-match' names the version that you saw, '--if-match "*"' accepts
            any. A value '@file' is read from that file ('@-' from standard input), which
            keeps secrets off the command line.

            COMMANDS:
            \(lines.joined(separator: "\n"))

            OPTIONS OF ALL COMMANDS:
            \(Self.generalOptions(paged: true))

            EXAMPLES:
              sluice admin buckets list
              sluice admin grants create --principal group:staff --bucket demo --prefix shared/ \\
                  --actions GetObject --conditions.max-ttl 600
              sluice admin quotas list --principal user:alice --json
              sluice admin grants export --output grants.ndjson
              sluice admin grants import --file grants.ndjson --dry-run
              sluice admin issuances list --principal user:alice --alive

            EXIT STATUS:
            \(AdminFailure.exitCodes.split(separator: "\n").map { "  " + $0 }.joined(separator: "\n"))
            """
    }

    /// Returns the help on one command, as `sluice admin grants create --help` prints it.
    func text(on command: AdminOperation) -> String {
        let operation = command.operation
        var parts = ["OVERVIEW: \(operation.summary)"]
        if !operation.description.isEmpty { parts.append(Self.wrapped(operation.description)) }
        parts.append("USAGE: sluice admin \(command.words.joined(separator: " "))\(arguments(of: command)) [options]")
        let options = options(of: command)
        if !options.isEmpty { parts.append("OPTIONS:\n" + Self.grid(options)) }
        parts.append("OPTIONS OF ALL COMMANDS:\n" + Self.generalOptions(paged: command.isPaged))
        if let example = example(of: command) { parts.append("EXAMPLE:\n  " + example) }
        parts.append("\(operation.method) \(operation.path), requires the role '\(operation.access)'.")
        return parts.joined(separator: "\n\n")
    }

    private static func generalOptions(paged: Bool) -> String {
        var options = [
            ("--url <url>", "URL of the gateway."), ("--json", "Print JSON instead of a table."),
            ("--print <member>", "Print only this member of the answer, for scripts."),
            ("--output <file>", "Write the answer to this file."),
            ("--timeout <seconds>", "Give up after this long without any data. (default: 60)"),
        ]
        if paged {
            options += [
                ("--limit <number>", "Print at most this many rows. (default: 100)"), ("--all", "Print every row."),
                ("--columns <a,b,…>", "Columns of the table."),
            ]
        }
        return grid(options + [("-h, --help", "Show help.")])
    }

    /// Breaks paragraphs into lines of at most 80 characters.
    private static func wrapped(_ text: String) -> String {
        var lines: [String] = []
        for paragraph in text.split(separator: "\n\n") {
            if !lines.isEmpty { lines.append("") }
            var line = ""
            for word in paragraph.split(whereSeparator: \.isWhitespace) {
                if !line.isEmpty, line.count + word.count >= 80 {
                    lines.append(line)
                    line = ""
                }
                line += (line.isEmpty ? "" : " ") + word
            }
            lines.append(line)
        }
        return lines.joined(separator: "\n")
    }

    private func arguments(of command: AdminOperation) -> String {
        command.path.map { " <\(AdminNames.option($0.name))>" }.joined()
    }

    private func options(of command: AdminOperation) -> [(String, String)] {
        var options = (command.query + command.headers).map { parameter in
            let schema = model.resolved(parameter.schema)
            return (Self.option(parameter.name, Self.hint(schema)), note(parameter.description, schema))
        }
        if command.takesState { options.append(("--if-match <tag>", "Version that the row must have, as in ETag.")) }
        for member in command.bodyMembers(model) { options += bodyOptions(member, within: "") }
        if command.operation.method == "PATCH" {
            options.append(("--unset <a,b,…>", "Members to remove."))
        }
        if command.json != nil {
            options.append(("--file <file>", "JSON file with the body; '-' is standard input."))
        }
        if !command.fileTypes.isEmpty {
            options.append(("--file <file>", "File to send. (default: standard input)"))
            options.append(("--file-type ndjson|csv", "Format of the file. (default: by its name)"))
        }
        return options
    }

    private func bodyOptions(_ member: ContractValue.Member, within outer: String) -> [(String, String)] {
        let schema = model.resolved(member.value)
        let name = outer + member.name
        if let inner = schema["properties"]?.members, !inner.isEmpty, outer.isEmpty {
            return inner.flatMap { bodyOptions($0, within: name + ".") }
        }
        let place = try? AdminPlace(member.name, in: [member], model)
        return [
            (Self.option(name, place?.hint ?? ""), note(member.value["description"]?.text ?? place?.help ?? "", schema))
        ]
    }

    private static func option(_ name: String, _ hint: String) -> String {
        "--" + AdminNames.option(name) + (hint.isEmpty ? "" : " " + hint)
    }

    private static func hint(_ schema: ContractValue) -> String {
        switch schema["type"]?.text {
        case "boolean": ""
        case "integer", "number": "<number>"
        default: (schema["enum"]?.items ?? []).compactMap(\.text).nonEmpty?.joined(separator: "|") ?? "<text>"
        }
    }

    private func note(_ description: String, _ schema: ContractValue) -> String {
        let text = description.split(separator: "\n").joined(separator: " ")
        guard let value = schema["default"] else { return text }
        return text + (text.isEmpty ? "" : " ") + "(default: \(value.cell))"
    }

    /// Returns the contract's example as a command line.
    private func example(of command: AdminOperation) -> String? {
        var words = ["sluice admin"] + command.words
        for parameter in command.path { words.append(Self.samples[parameter.name] ?? Self.samples["id"] ?? "") }
        guard let value = command.json?.examples.first?.value else {
            if !command.fileTypes.isEmpty { words.append("--file \(command.words[0]).ndjson") }
            if command.answersFile { words.append("--output \(command.words[0]).ndjson") }
            return words.joined(separator: " ")
        }
        for member in value.members { words += Self.exampleOptions(member, within: "") }
        return words.joined(separator: " ")
    }

    private static let samples = [
        "bucket": "photos", "group": "group:staff", "member": "user:alice",
        "id": "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69",
    ]

    private static func exampleOptions(_ member: ContractValue.Member, within outer: String) -> [String] {
        let name = outer + member.name
        switch member.value {
        case .object(let members) where outer.isEmpty && !members.isEmpty:
            return members.flatMap { exampleOptions($0, within: name + ".") }
        case .null: return ["--unset \(AdminNames.option(name))"]
        case .bool(let flag): return ["--\(AdminNames.option(name))\(flag ? "" : "=false")"]
        case .string(let text): return ["--\(AdminNames.option(name)) \(quoted(text))"]
        case .array(let items) where !items.isEmpty && items.allSatisfy { $0.text != nil }:
            return ["--\(AdminNames.option(name)) \(quoted(items.compactMap(\.text).joined(separator: ",")))"]
        default: return ["--\(AdminNames.option(name)) \(quoted(member.value.json()))"]
        }
    }

    /// Quotes a text as one word of a shell.
    private static func quoted(_ text: String) -> String {
        let plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:,@%+="
        if !text.isEmpty, text.allSatisfy({ plain.contains($0) }) { return text }
        return "'" + text.replacing("'", with: "'\\''") + "'"
    }

    private static func grid(_ rows: [(String, String)]) -> String {
        let width = min(rows.map(\.0.count).max() ?? 0, 36)
        return rows.map { name, text in
            guard !text.isEmpty else { return "  \(name)" }
            guard name.count <= width else { return "  \(name)\n\(String(repeating: " ", count: width + 4))\(text)" }
            return "  \(name)\(String(repeating: " ", count: width - name.count + 2))\(text)"
        }.joined(separator: "\n")
    }
}

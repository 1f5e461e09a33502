import ContractModel
import FoundationEssentials

/// The manual page of the program, in roff.
public struct ManualPage {
    private let tree: ProgramTree
    private let version: String

    /// Describes the page.
    ///
    /// - Parameters:
    ///   - tree: The program's commands.
    ///   - version: The program's version.
    public init(of tree: ProgramTree, version: String) {
        self.tree = tree
        self.version = version
    }

    /// Returns the text of `sluice.1`.
    ///
    /// - Throws: `ContractFlaw` if the contract cannot be read.
    public func text() throws -> String {
        let model = try ContractModel.embedded()
        var page = [
            ".\\\" Made by 'sluice help --man'.", ".TH SLUICE 1 \"\" \"Sluice \(version)\" \"Sluice Manual\"",
            ".SH NAME", "sluice \\- presigned\\-URL gateway", ".SH SYNOPSIS",
            ".B sluice\n\\fIcommand\\fR [\\fIoption\\fR ...]", ".br",
            ".B sluice admin\n\\fIcommand\\fR [\\fIargument\\fR ...] [\\fIoption\\fR ...]",
            ".SH DESCRIPTION", Self.escaped(tree.abstract), ".SH COMMANDS",
        ]
        for command in tree.subcommands { page += section(command) }
        page += [".SH ADMIN COMMANDS"] + Self.paragraphs(AdminHelp.introduction).dropFirst()
        for command in AdminOperation.all(of: model) {
            let arguments = command.path.map { " \\fI\(Self.escaped(AdminNames.option($0.name)))\\fR" }.joined()
            page += [".TP", ".B sluice admin \(Self.escaped(command.words.joined(separator: " ")))\(arguments)"]
            page.append(Self.escaped(command.operation.summary))
        }
        page += [".SH ADMIN OPTIONS", "'sluice help admin \\fIcommand\\fR' lists the options of one command."]
        for option in AdminGeneralOption.allCases {
            page += [".TP", Self.option("--" + option.rawValue, option.hint), Self.escaped(option.text.plainText)]
        }
        page += [".SH EXIT STATUS", ".nf", Self.escaped(AdminFailure.exitCodes), ".fi"]
        page += [
            "These are the statuses of 'sluice admin'. The help of other commands that call a gateway lists theirs.",
            "The rest end with 0, with 1 if something failed, or with 64 if the command line is wrong.",
        ]
        page += environment + files
        page += [".SH EXAMPLES", ".nf", Self.escaped(AdminHelp.examples.joined(separator: "\n")), ".fi"]
        return page.map(Self.guarded).joined(separator: "\n") + "\n"
    }

    private var environment: [String] {
        let variables = [
            ("SLUICE_ADMIN_URL", "URL of the gateway that 'sluice admin' calls. Default: http://127.0.0.1:8080."),
            ("SLUICE_ADMIN_KEY", "Key of an admin or an auditor."),
            ("SLUICE_ADMIN_KEY_FILE", "Name of a file that holds the key."),
            ("NO_COLOR", "If set, no colours are used."),
            ("COLUMNS", "Width of tables at a terminal."),
            ("SLUICE_URL", "URL of the gateway for 'sluice get' and other commands of users. Default as above."),
            ("SLUICE_KEY", "Key or token of the user of these commands."),
            ("SLUICE_KEY_FILE", "Name of a file that holds the user's key."),
            ("SLUICE_*", "Settings of the gateway; 'sluice serve --help' lists them."),
        ]
        return [".SH ENVIRONMENT"] + variables.flatMap { [".TP", ".B " + Self.escaped($0), Self.escaped($1)] }
    }

    private var files: [String] {
        let files = [
            ("/etc/sluice/sluice.json", "Settings of the service that the Debian package installs."),
            ("/etc/sluice/master.key", "Key that seals stored secrets. The admin makes it."),
            ("/usr/share/doc/sluice/README.Debian", "First steps after the installation of the Debian package."),
        ]
        return [".SH FILES"] + files.flatMap { [".TP", ".I " + $0, Self.escaped($1)] }
    }

    private func section(_ command: ProgramTree) -> [String] {
        let arguments = command.arguments.map { " \\fI\($0.value ?? "argument")\\fR" }.joined()
        var lines = [".TP", ".B sluice \(Self.escaped(command.name))" + arguments, Self.escaped(command.abstract)]
        let own = command.options.filter { !$0.names.contains("--help") && !$0.names.contains("--version") }
        guard !own.isEmpty else { return lines }
        lines.append(".RS")
        for option in own {
            let hint = option.value.map { option.choices.nonEmpty?.joined(separator: "|") ?? "<\($0)>" } ?? ""
            lines += [".TP", Self.option(option.names.joined(separator: ", "), hint), Self.escaped(option.text)]
        }
        return lines + [".RE"]
    }

    private static func option(_ names: String, _ hint: String) -> String {
        ".B \(escaped(names))" + (hint.isEmpty ? "" : "\\fR \\fI\(escaped(hint))\\fR")
    }

    private static func paragraphs(_ text: String) -> [String] {
        text.components(separatedBy: "\n\n").flatMap { [".PP", escaped($0)] }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("…", with: "...")
    }

    /// Keeps lines of text from being taken for requests.
    private static func guarded(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { $0.hasPrefix("'") ? "\\&" + $0 : String($0) }.joined(separator: "\n")
    }
}

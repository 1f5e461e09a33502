import ContractModel
import Glibc
import LocalFiles
import Terminal

/// One run of `sluice admin`.
struct AdminRun {
    private let environment: [String: String]
    private let model: ContractModel
    private let commands: [AdminOperation]

    init(environment: [String: String]) throws(AdminFailure) {
        self.environment = environment
        do { model = try ContractModel.embedded() } catch {
            throw .usage("The embedded API contract cannot be read: \(error.reason)")
        }
        commands = AdminOperation.all(of: model)
    }

    /// Runs the command that the arguments name.
    ///
    /// - Returns: The exit status.
    func run(_ arguments: [String]) throws(AdminFailure) -> Int32 {
        let line = AdminLine(arguments, among: commands, model)
        let screen = AdminScreen(environment: environment)
        let help = AdminHelp(model: model, screen.output)
        guard let command = line.command else {
            try write(groupHelp(line, help))
            return 0
        }
        if line.asksForHelp {
            try write(help.text(on: command))
            return 0
        }
        let invocation = try AdminInvocation(line.rest, of: command, model) { name throws(AdminFailure) in
            try AdminFiles.text(name).trimmed(\.isNewline)
        }
        let client = try AdminClient(
            AdminAccess(url: invocation.url, environment: environment), role: command.operation.access,
            timeout: invocation.timeout ?? command.patience)
        if !invocation.isJSON { client.warnAboutPlainHTTP() }
        let call = AdminCall(command: command, invocation: invocation, model: model, client: client, screen: screen)
        do throws(AdminFailure) { return try call.run() } catch {
            throw error.naming(Set(command.options(model).map(\.name)))
        }
    }

    /// Writes a text of help to standard output.
    private func write(_ text: String) throws(AdminFailure) {
        do throws(FileError) { try OpenFile.standardOutput.write((text + "\n").utf8) } catch {
            throw .file("Standard output cannot be written: \(error).")
        }
    }

    /// Returns help on the commands that begin with the words.
    ///
    /// - Throws: ``AdminFailure/misuse(_:seeing:)`` if help was not asked for, or if no command has these words.
    private func groupHelp(_ line: AdminLine, _ help: AdminHelp) throws(AdminFailure) -> String {
        if let unknown = line.unknown {
            let words = (["admin"] + line.words + [unknown]).joined(separator: " ")
            var text = "There is no command '\(words)'." + Suggestion.question(unknown, among: line.nextWords)
            if !line.words.isEmpty { text += " The commands are \(line.nextWords.spoken("and"))." }
            throw .misuse([text], seeing: line.words)
        }
        guard line.asksForHelp else {
            let words = (["admin"] + line.words).joined(separator: " ")
            let list = line.words.isEmpty ? help.resources(commands) : help.list(of: line.candidates)
            throw .misuse(["A command is missing after '\(words)'.\n\n\(list)\n"], seeing: line.words)
        }
        return help.text(on: line.candidates, all: line.words.isEmpty)
    }
}

import AdminCommands
import ArgumentParser
import FoundationEssentials
import Glibc
import LocalFiles
import ObjectCommands
import SigningCommands
import Terminal

/// The command line.
@main
struct Sluice: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "A presigned-URL gateway: it authenticates, decides, signs and records.",
        version: ProgramVersion.current,
        subcommands: commands
    )

    private static var commands: [any ParsableCommand.Type] {
        let gateway: [any ParsableCommand.Type] = [
            ServeCommand.self, MigrateCommand.self, DoctorCommand.self, DevCommand.self, SignCommand.self,
            InspectCommand.self, AdminCommand.self, AuditQuotasCommand.self, RotateMasterKeyCommand.self,
        ]
        let others: [any ParsableCommand.Type] = [
            QualifyCommand.self, CompletionCommand.self, HelpCommand.self, VersionCommand.self,
            CompleteWordsCommand.self,
        ]
        return gateway + ObjectCommandLine.commands + others
    }

    static func main() async {
        endOnSignals()
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let number = CommandLine.firstArgumentNotUTF8 { exit(withError: refusal(ofArgument: number, in: arguments)) }
        if let word = arguments.first, complaint(about: word) != nil { exit(withError: refusal(of: word)) }
        if ObjectCommandLine.asksForJSON(arguments), let mistake = mistake(in: arguments) {
            exit(withError: ObjectCommandLine.refusal(mistake))
        }
        await run(arguments)
    }

    /// Runs a command. The parser's own `main` would not tell that a text, such as that of `--help`, cannot be written.
    private static func run(_ arguments: [String]) async {
        do {
            var command = try await asyncParseAsRoot(arguments)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            guard exitCode(for: error).isSuccess else { exit(withError: error) }
            let text = fullMessage(for: error)
            do { if !text.isEmpty { try writeLine(text) } } catch { exit(withError: error) }
            exit(withError: ExitCode.success)
        }
    }

    /// Writes to standard error that an argument is not UTF-8. Repaired, it could name another object, file or row.
    ///
    /// - Parameters:
    ///   - number: The number of the argument, counted from 1.
    ///   - arguments: The arguments, repaired.
    /// - Returns: The exit status, to throw.
    private static func refusal(ofArgument number: Int, in arguments: [String]) -> ExitCode {
        let mistake = "Argument \(number) is not UTF-8: '\(arguments[number - 1])'."
        if ObjectCommandLine.asksForJSON(arguments) { return ObjectCommandLine.refusal(mistake) }
        if arguments.first == "admin" { return AdminCommand.refusal(mistake, of: Array(arguments.dropFirst())) }
        writeToStandardError("error: \(mistake.visible)\n")
        return .validationFailure
    }

    /// What the parser says is wrong with a command line; `nil` if nothing is.
    private static func mistake(in arguments: [String]) -> String? {
        do {
            _ = try parseAsRoot(arguments)
            return nil
        } catch {
            return exitCode(for: error) == .validationFailure ? message(for: error) : nil
        }
    }

    /// Makes SIGTERM and SIGINT end the process, as they do by themselves except in the first process of a container.
    /// Commands that stop gracefully catch them later.
    private static func endOnSignals() {
        guard getpid() == 1 else { return }
        for number in [SIGTERM, SIGINT] { signal(number) { _exit(128 + $0) } }
    }

    /// Writes what there is to say about a word that names no command to standard error.
    ///
    /// - Returns: The exit status, to throw.
    static func refusal(of word: String) -> ExitCode {
        let complaint = complaint(about: word) ?? "There is no command '\(word)'."
        writeToStandardError("error: \(complaint)\nSee 'sluice --help'.\n")
        return .validationFailure
    }

    /// Returns what to say about a word that names no command, with what may have been meant; `nil` if it names one.
    static func complaint(about word: String) -> String? {
        let names = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard !word.hasPrefix("-"), !names.contains(word) else { return nil }
        let nouns = AdminCommand.nouns()
        let visible = names.filter { $0 != "complete-words" }
        let inAdmin = nouns.contains(word) ? word : Suggestion.nearest(to: word, among: nouns)
        let meant = Suggestion.nearest(to: word, among: visible) ?? inAdmin.map { "admin \($0)" }
        return "There is no command '\(word)'." + (meant.map { " Did you mean 'sluice \($0)'?" } ?? "")
    }

    /// The program's own description of its commands.
    static func tree() throws -> ProgramTree {
        guard let tree = ProgramTree(json: _dumpHelp()) else {
            throw ValidationError("The argument parser does not describe the commands as it did.")
        }
        return tree
    }
}

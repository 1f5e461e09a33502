import AdminCommands
import ArgumentParser
import FoundationEssentials

/// `sluice help`: help on the command that the words name, those of `admin` too. It takes the place of the argument
/// parser's own command, which does not know them.
struct HelpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "help", abstract: "Show help on a command, such as 'sluice help admin grants create'.")

    @Flag(help: "Print the manual page, in roff.")
    var man = false

    @Argument(help: "The words of the command.")
    var words: [String] = []

    func run() async throws {
        if man {
            let page = ManualPage(of: try Sluice.tree(), version: ProgramVersion.current)
            return try writeToStandardOutput(page.text())
        }
        if words.first == "admin" { return try await AdminCommand.printHelp(on: Array(words.dropFirst())) }
        guard let word = words.first else { return try writeLine(Sluice.helpMessage()) }
        let commands = Sluice.configuration.subcommands
        guard let command = commands.first(where: { $0.configuration.commandName == word }) else {
            throw Sluice.refusal(of: word)
        }
        try writeLine(Sluice.helpMessage(for: command))
    }
}

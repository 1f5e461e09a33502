import AdminCommands
import ArgumentParser
import SigningCommands

/// The command line.
@main
struct Sluice: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "A presigned-URL gateway: it authenticates, decides, signs and records.",
        version: ProgramVersion.current,
        subcommands: [
            ServeCommand.self, MigrateCommand.self, DevCommand.self, SignCommand.self, InspectCommand.self,
            AdminCommand.self, AuditQuotasCommand.self, RotateMasterKeyCommand.self,
        ]
    )
}

import AdminCommands
import ArgumentParser
import SigningCommands

/// The command line.
@main
struct Sluice: AsyncParsableCommand {
    /// The version of the program, and of the contract that it serves.
    static let version = "1.0.0"

    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "A presigned-URL gateway: authenticates, decides, signs, records.",
        version: version,
        subcommands: [
            ServeCommand.self, MigrateCommand.self, DevCommand.self, SignCommand.self, InspectCommand.self,
            AdminCommand.self, AuditQuotasCommand.self, RotateMasterKeyCommand.self,
        ]
    )
}

import ArgumentParser

/// The command line.
@main
struct Sluice: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "A presigned-URL gateway: authenticates, decides, signs, records.",
        subcommands: [
            ServeCommand.self, MigrateCommand.self, DevCommand.self, SignCommand.self, AuditQuotasCommand.self,
            RotateMasterKeyCommand.self,
        ]
    )
}

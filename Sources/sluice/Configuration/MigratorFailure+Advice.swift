import GatewayPostgres

extension Migrator.Failure {
    /// What an operator can do, in a sentence or two.
    var advice: String {
        switch self {
        case .schemaIsOlder, .functionsDiffer:
            "Run 'sluice migrate' of this version as the owner of the schema, and try again."
        case .functionsMissing:
            """
            Run 'sluice migrate' of this version as the owner of the schema, and try again. If an update was finished, \
            start the newer program instead.
            """
        case .schemaIsNewer, .migratedByNewer, .programIsOlder:
            "Use the newer program, with which the update was made. docs/updates.md has the order."
        case .checksumDiffers, .contractsDiffer:
            "The database was migrated by a program that was changed. Use that one, or restore a backup."
        case .gatewaysRun: "Update or stop these gateways first."
        case .foreignLogin, .foreignDatabase:
            "Let the owner of the schema migrate it: docs/operations.md names the roles."
        }
    }
}

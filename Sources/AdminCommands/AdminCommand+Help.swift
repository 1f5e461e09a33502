import ContractModel

extension AdminCommand {
    /// Prints help on the commands that the words name, as `sluice help admin grants create` does.
    ///
    /// - Throws: `ExitCode`, after writing the reason to standard error, if no command has these words.
    public static func printHelp(on words: [String]) async throws {
        var command = AdminCommand()
        command.arguments = ["help"] + words
        try await command.run()
    }

    /// The words that can follow `sluice admin`, such as `grants`.
    public static func nouns() -> [String] {
        guard let model = try? ContractModel.embedded() else { return [] }
        return AdminLine([], among: AdminOperation.all(of: model), model).nextWords
    }
}

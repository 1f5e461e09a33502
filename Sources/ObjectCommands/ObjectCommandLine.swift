public import ArgumentParser
import LocalFiles
import ObjectClient

/// The part of the command line that is about objects.
public enum ObjectCommandLine {
    /// The commands.
    public static var commands: [any ParsableCommand.Type] {
        [
            GetCommand.self, PutCommand.self, ListCommand.self, RemoveCommand.self, ShareCommand.self,
            CredentialsCommand.self,
        ]
    }

    /// Whether the arguments are those of such a command and ask for errors in JSON. They may be wrong, so they are not
    /// parsed for this.
    public static func asksForJSON(_ arguments: [String]) -> Bool {
        commands.contains { $0.configuration.commandName == arguments.first }
            && arguments.prefix { $0 != "--" }.contains("--json")
    }

    /// Writes what is wrong with the arguments to standard error, as JSON.
    ///
    /// - Returns: The exit status, to throw.
    public static func refusal(_ mistake: String) -> ExitCode {
        let failure = ClientFailure.usage(mistake)
        writeToStandardError(failure.document())
        return ExitCode(failure.exitCode)
    }
}

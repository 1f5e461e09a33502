public import ArgumentParser
import FoundationEssentials
import Glibc
import Terminal

/// `sluice admin`: lets admins and auditors manage a running gateway over its REST API.
///
/// The commands are the operations of the contract below `/admin/v1`. ``AdminOperation`` documents how they are named.
public struct AdminCommand: AsyncParsableCommand {
    /// The name and the text of `--help`.
    public static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Manage a running gateway: buckets, grants, quotas, keys, and what was issued.",
        discussion: "'sluice admin --help' lists the commands.")

    @Argument(parsing: .captureForPassthrough, help: "Command, arguments and options.")
    var arguments: [String] = []

    /// Creates the command, for the parser.
    public init() {}

    /// Runs the command that the arguments name.
    ///
    /// - Throws: `ExitCode`, after writing the reason to standard error.
    public func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        do {
            let status = try AdminRun(environment: environment).run(arguments)
            if status != 0 { throw ExitCode(status) }
        } catch let failure as AdminFailure {
            throw Self.tell(failure, of: arguments, environment)
        }
    }

    /// Writes what is wrong with a command line to standard error, as JSON if the line asks for it.
    ///
    /// - Parameters:
    ///   - mistake: What is wrong.
    ///   - arguments: The arguments after `admin`.
    /// - Returns: The exit status, to throw.
    public static func refusal(_ mistake: String, of arguments: [String]) -> ExitCode {
        tell(.usage(mistake), of: arguments, ProcessInfo.processInfo.environment)
    }

    private static func tell(
        _ failure: AdminFailure, of arguments: [String], _ environment: [String: String]
    ) -> ExitCode {
        // The line may be wrong, so it is not parsed for this.
        let isJSON = arguments.prefix { $0 != "--" }.contains("--json")
        failure.tell(asJSON: isJSON, on: TerminalStream(STDERR_FILENO, environment: environment))
        return ExitCode(failure.exitCode)
    }
}

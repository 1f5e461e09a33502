public import ArgumentParser
import ContractModel
import Foundation

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
        do {
            try AdminRun(environment: ProcessInfo.processInfo.environment).run(arguments)
        } catch {
            FileHandle.standardError.write(Data((error.message + "\n").utf8))
            throw ExitCode(error.exitCode)
        }
    }
}

public import ArgumentParser
import ContractModel
import Foundation

/// `sluice admin`: what admins and auditors may do at a running gateway, over its REST API.
///
/// The commands are the operations of the contract below `/admin/v1`; ``AdminOperation`` says how they are named.
public struct AdminCommand: AsyncParsableCommand {
    /// Name, and what `--help` says.
    public static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Manage a running gateway: buckets, grants, quotas, keys, and what was issued.",
        discussion: "'sluice admin --help' lists the commands.")

    @Argument(parsing: .captureForPassthrough, help: "Command, arguments and options.")
    var arguments: [String] = []

    /// Makes the command, for the parser.
    public init() {}

    /// Does what the arguments say.
    ///
    /// - Throws: `ExitCode`, after the reason was written to standard error.
    public func run() async throws {
        do {
            try AdminRun(environment: ProcessInfo.processInfo.environment).run(arguments)
        } catch {
            FileHandle.standardError.write(Data((error.message + "\n").utf8))
            throw ExitCode(error.exitCode)
        }
    }
}

import Foundation
import Glibc

/// The user that PostgreSQL's programs run as: ours, but never root, whom they refuse.
struct PostgresAccount: Sendable, Equatable {
    /// The account to change to, `nil` to stay who we are.
    let name: String?

    /// The account for this process: Debian's `postgres` for root.
    static var current: PostgresAccount {
        PostgresAccount(name: geteuid() == 0 ? "postgres" : nil)
    }

    /// A command that runs as this account. `setpriv` replaces itself by the program, so a signal meets the program.
    func command(
        _ words: [String], workingDirectory: String = "/", variables: [String: String] = [:]
    ) -> Command {
        let prefix = name.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--init-groups", "--"] } ?? []
        return Command(prefix + words, workingDirectory: workingDirectory, variables: variables)
    }

    /// Makes a directory that only this account can enter, or takes the one that is there.
    ///
    /// - Throws: ``EmbeddedPostgresError/unusableDirectory(directory:reason:)``, also when the one that is there
    ///   belongs to someone else or the way to it is closed to the account.
    func makePrivateDirectory(_ directory: String) async throws {
        let ownership = name.map { ["-o", $0, "-g", $0] } ?? []
        let made = try await Command(["/usr/bin/install", "-d", "-m", "0700"] + ownership + [directory]).run()
        guard made.succeeded else {
            throw EmbeddedPostgresError.unusableDirectory(directory: directory, reason: made.output)
        }
        guard try await command(["/usr/bin/test", "-w", directory, "-a", "-O", directory]).run().succeeded else {
            let user = name.map { "the user \($0), as which PostgreSQL runs for root," } ?? "this user"
            throw EmbeddedPostgresError.unusableDirectory(
                directory: directory,
                reason: "\(user) cannot reach it or does not own it. Choose another data directory, outside of /root."
            )
        }
    }
}

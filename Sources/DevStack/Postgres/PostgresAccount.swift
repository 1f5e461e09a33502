import FoundationEssentials
import Glibc

/// The user that PostgreSQL's programs run as: the current user, but never root, because PostgreSQL refuses to run as
/// root.
struct PostgresAccount: Sendable, Equatable {
    /// The account to switch to; `nil` to remain the current user.
    let name: String?

    /// The account for this process. If the process runs as root, this is Debian's `postgres`.
    static var current: PostgresAccount {
        PostgresAccount(name: geteuid() == 0 ? "postgres" : nil)
    }

    /// Creates a command that runs as this account. `setpriv` replaces itself with the program, so signals reach the
    /// program.
    func command(
        _ words: [String], workingDirectory: String = "/", variables: [String: String] = [:]
    ) -> Command {
        let prefix = name.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--init-groups", "--"] } ?? []
        return Command(prefix + words, workingDirectory: workingDirectory, variables: variables)
    }

    /// Creates a directory that only this account can enter, or uses an existing one.
    ///
    /// - Throws: ``EmbeddedPostgresError/unusableDirectory(directory:reason:)``, also if an existing directory belongs
    ///   to another user or the account cannot reach it.
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

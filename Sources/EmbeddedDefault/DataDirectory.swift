import Foundation
import LibCrypto

/// Where everything lies that outlives one run: PostgreSQL's cluster and the objects.
public struct DataDirectory: Sendable, Equatable {
    /// Absolute path.
    public let path: String

    /// Takes the path that the user named; a relative one counts from `workingDirectory`.
    public init(_ path: String, workingDirectory: String) {
        self.path =
            URL(fileURLWithPath: path, relativeTo: URL(fileURLWithPath: workingDirectory, isDirectory: true))
            .standardizedFileURL.path
    }

    /// The directory when the user names none: one for each directory that the command is started in.
    ///
    /// - Parameters:
    ///   - environment: `XDG_STATE_HOME` and `HOME` are looked at.
    ///   - workingDirectory: Absolute path.
    ///   - isRoot: PostgreSQL does not run as root, and its user reaches nothing in root's home; the directory is then
    ///     under `/var/lib`.
    public static func standard(
        environment: [String: String], workingDirectory: String, isRoot: Bool
    ) -> DataDirectory {
        let name = shortName(of: workingDirectory)
        guard !isRoot else { return DataDirectory("/var/lib/sluice-dev/\(name)", workingDirectory: "/") }
        // The specification of XDG_STATE_HOME has relative paths ignored.
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") {
            return DataDirectory("\(state)/sluice-dev/\(name)", workingDirectory: "/")
        }
        if let home = environment["HOME"], home.hasPrefix("/") {
            return DataDirectory("\(home)/.local/state/sluice-dev/\(name)", workingDirectory: "/")
        }
        return DataDirectory(".sluice-dev", workingDirectory: workingDirectory)
    }

    /// Where the embedded object store keeps its buckets.
    public var objects: String { "\(path)/objects" }

    /// What PostgreSQL's user owns.
    var postgres: String { "\(path)/postgres" }

    /// Makes the directory, open to PostgreSQL's user whatever the umask; what lies in it is closed.
    ///
    /// - Throws: ``EmbeddedPostgresError/unusableDirectory(directory:reason:)``.
    func make() async throws {
        let made = try await Command(["/usr/bin/install", "-d", "-m", "0755", path]).run()
        guard made.succeeded else {
            throw EmbeddedPostgresError.unusableDirectory(directory: path, reason: made.output)
        }
    }

    /// Twelve characters that stand for a path.
    static func shortName(of path: String) -> String {
        String(DigestAlgorithm.sha256.digest(of: path).hex.prefix(12))
    }
}

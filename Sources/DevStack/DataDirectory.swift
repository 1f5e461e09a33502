import Foundation
import LibCrypto

/// The directory of what outlives one run: PostgreSQL's cluster, the objects and the demo's keys.
public struct DataDirectory: Sendable, Equatable {
    /// Absolute path.
    public let path: String

    /// Takes the path that the user named; a relative path starts at `workingDirectory`.
    public init(_ path: String, workingDirectory: String) {
        self.path =
            URL(fileURLWithPath: path, relativeTo: URL(fileURLWithPath: workingDirectory, isDirectory: true))
            .standardizedFileURL.path
    }

    /// The default directory: one for each directory that the command is started in.
    ///
    /// - Parameters:
    ///   - environment: Environment variables; `XDG_STATE_HOME` and `HOME` are used.
    ///   - workingDirectory: Absolute path.
    ///   - isRoot: Whether the user is root. PostgreSQL then runs as another user, who cannot reach root's home, so the
    ///     directory is in `/var/lib`.
    public static func standard(
        environment: [String: String], workingDirectory: String, isRoot: Bool
    ) -> DataDirectory {
        let name = shortName(of: workingDirectory)
        guard !isRoot else { return DataDirectory("/var/lib/sluice-dev/\(name)", workingDirectory: "/") }
        // As the specification of XDG_STATE_HOME requires, relative paths are ignored.
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

    /// Twelve characters that identify a path.
    static func shortName(of path: String) -> String {
        String(DigestAlgorithm.sha256.digest(of: path).hex.prefix(12))
    }
}

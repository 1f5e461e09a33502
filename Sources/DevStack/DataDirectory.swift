import FoundationEssentials
import LibCrypto

/// The directory for data that outlives one run: the PostgreSQL cluster, the objects and the demo keys.
public struct DataDirectory: Sendable, Equatable {
    /// The absolute path of the directory.
    public let path: String

    /// Uses the path that the user named; a relative path is resolved against `workingDirectory`.
    public init(_ path: String, workingDirectory: String) {
        self.path =
            URL(fileURLWithPath: path, relativeTo: URL(fileURLWithPath: workingDirectory, isDirectory: true))
            .standardizedFileURL.path
    }

    /// Returns the default directory, which differs for each directory that the command is started in.
    ///
    /// - Parameters:
    ///   - environment: Environment variables; `XDG_STATE_HOME` and `HOME` are used.
    ///   - workingDirectory: Absolute path of the directory that the command is started in.
    ///   - isRoot: Whether the user is root. PostgreSQL then runs as another user, who cannot access root's home, so
    ///     the directory is in `/var/lib`.
    public static func standard(
        environment: [String: String], workingDirectory: String, isRoot: Bool
    ) -> DataDirectory {
        let name = shortName(of: workingDirectory)
        guard !isRoot else { return DataDirectory("/var/lib/sluice-dev/\(name)", workingDirectory: "/") }
        // The XDG specification requires that relative paths in XDG_STATE_HOME be ignored.
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") {
            return DataDirectory("\(state)/sluice-dev/\(name)", workingDirectory: "/")
        }
        if let home = environment["HOME"], home.hasPrefix("/") {
            return DataDirectory("\(home)/.local/state/sluice-dev/\(name)", workingDirectory: "/")
        }
        return DataDirectory(".sluice-dev", workingDirectory: workingDirectory)
    }

    /// The directory in which the embedded object store keeps its buckets.
    public var objects: String { "\(path)/objects" }

    /// Returns twelve characters that identify a path.
    static func shortName(of path: String) -> String {
        String(DigestAlgorithm.sha256.digest(of: path).hex.prefix(12))
    }
}

/// The reason why the embedded PostgreSQL cluster is not running; the description is for the user at the terminal.
public enum EmbeddedPostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    /// No PostgreSQL server of a supported release is installed.
    case notInstalled
    /// The release that created the cluster is not installed.
    case wrongVersion(cluster: Int, installed: [Int], directory: String)
    /// Another process has locked the directory; `holder` is its process id, if known.
    case inUse(directory: String, holder: Int?)
    /// The directory cannot be created, or PostgreSQL's user cannot access it.
    case unusableDirectory(directory: String, reason: String)
    /// The cluster's directory contains something else.
    case notACluster(directory: String)
    /// `initdb` failed.
    case creationFailed(reason: String)
    /// The server did not start; `log` is the end of its log.
    case startFailed(reason: String, log: String)
    /// The server stopped on its own; `log` is the end of its log.
    case stopped(log: String)

    /// A description of the problem and its remedy, in one or more sentences.
    public var description: String {
        switch self {
        case .notInstalled:
            """
            PostgreSQL \(PostgresInstallation.oldestVersion) or later is not installed. \
            On Debian or Ubuntu: sudo apt-get install postgresql
            """
        case .wrongVersion(let cluster, let installed, let directory):
            """
            The cluster in \(directory) was created by PostgreSQL \(cluster), but only \
            \(installed.map(String.init).joined(separator: ", ")) is installed. \
            Install postgresql-\(cluster), or remove the directory to start again without its data.
            """
        case .inUse(let directory, let holder):
            """
            \(directory) is in use by another process\(holder.map { " (process id \($0))" } ?? ""). \
            End it, or choose another data directory.
            """
        case .unusableDirectory(let directory, let reason):
            "\(directory) cannot hold the PostgreSQL cluster: \(reason)"
        case .notACluster(let directory):
            """
            \(directory) exists, but is not a PostgreSQL cluster. \
            Move it away, or choose another data directory.
            """
        case .creationFailed(let reason):
            "The PostgreSQL cluster could not be created: \(reason)"
        case .startFailed(let reason, let log):
            "PostgreSQL did not start: \(reason)\nThe end of its log:\n\(log)"
        case .stopped(let log):
            "PostgreSQL stopped unexpectedly.\nThe end of its log:\n\(log)"
        }
    }
}

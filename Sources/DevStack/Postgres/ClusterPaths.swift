import FoundationEssentials
import LocalFiles

/// The paths of a cluster's files and directories.
struct ClusterPaths: Sendable, Equatable {
    /// Maximum length of a socket path on Linux, in bytes.
    static let longestSocketPath = 107

    /// The directory that contains all others; PostgreSQL's user owns it.
    let home: String
    /// The directory of the socket.
    let sockets: String

    /// The directory of the cluster itself.
    var cluster: String { "\(home)/cluster" }
    /// A cluster that is being created; it is renamed when it is complete.
    var unfinished: String { "\(home)/cluster.unfinished" }
    /// The server's log since its last start.
    var log: String { "\(home)/\(Self.logName)" }

    static let logName = "postgres.log"

    /// Determines the paths for a cluster.
    ///
    /// - Parameters:
    ///   - home: The absolute path of the containing directory.
    ///   - runtimeDirectory: Value of `XDG_RUNTIME_DIR`. The socket goes there if its path inside `home` would be too
    ///     long or would need quotes in the server's settings; `/tmp` is used without it.
    ///   - userID: Distinguishes the sockets of different users in `/tmp`.
    init(home: String, runtimeDirectory: String?, userID: UInt32) {
        self.home = home
        let beside = "\(home)/run"
        if Self.isFitForSockets(beside) {
            sockets = beside
        } else {
            let name = "sluice-dev-\(userID)-\(DataDirectory.shortName(of: home))"
            let runtime = runtimeDirectory.map { "\($0)/\(name)" }
            sockets = runtime.flatMap { Self.isFitForSockets($0) ? $0 : nil } ?? "/tmp/\(name)"
        }
    }

    private static func isFitForSockets(_ directory: String) -> Bool {
        let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/".utf8)
        return directory.hasPrefix("/") && directory.utf8.allSatisfy(plain.contains)
            && "\(directory)/.s.PGSQL.\(EmbeddedPostgres.port)".utf8.count <= longestSocketPath
    }

    /// Returns the last 4 KiB of the log.
    func logTail() -> String {
        guard let file = try? OpenFile(log, for: .reading), let size = try? file.status.size else { return "(no log)" }
        try? file.seek(to: max(0, size - 4096))
        let bytes = (try? file.readToEnd()) ?? []
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the major version that created the cluster; `nil` if there is no cluster yet.
    ///
    /// - Throws: ``EmbeddedPostgresError/notACluster(directory:)`` if the directory contains something else.
    func clusterVersion() throws(EmbeddedPostgresError) -> Int? {
        guard FileManager.default.fileExists(atPath: cluster) else { return nil }
        guard let text = try? String(contentsOfFile: "\(cluster)/PG_VERSION", encoding: .utf8),
            let version = Int(text.trimmed())
        else { throw .notACluster(directory: cluster) }
        return version
    }
}

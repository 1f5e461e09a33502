import Foundation

/// Where the parts of the cluster lie.
struct ClusterPaths: Sendable, Equatable {
    /// The longest path of a socket that Linux takes, in bytes.
    static let longestSocketPath = 107

    /// The directory around all of it, which PostgreSQL's user owns.
    let home: String
    /// The directory of the socket.
    let sockets: String

    /// The cluster itself.
    var cluster: String { "\(home)/cluster" }
    /// A cluster that is being made; it gets its name when it is complete.
    var unfinished: String { "\(home)/cluster.unfinished" }
    /// The server's log since its start.
    var log: String { "\(home)/\(Self.logName)" }

    static let logName = "postgres.log"

    /// Finds the places for a cluster.
    ///
    /// - Parameters:
    ///   - home: Absolute path.
    ///   - runtimeDirectory: `XDG_RUNTIME_DIR`, where sockets go whose path would be too long beside the cluster, or
    ///     would need quotes in the server's settings; `/tmp` without it.
    ///   - userID: Keeps the names of two users in `/tmp` apart.
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

    /// The last lines of the log.
    func logTail(maxBytes: UInt64 = 4096) -> String {
        guard let file = FileHandle(forReadingAtPath: log), let end = try? file.seekToEnd() else { return "(no log)" }
        try? file.seek(toOffset: end > maxBytes ? end - maxBytes : 0)
        let bytes = (try? file.readToEnd()) ?? Data()
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The major version that made the cluster; `nil` where there is no cluster yet.
    ///
    /// - Throws: ``EmbeddedPostgresError/notACluster(directory:)`` when something else lies there.
    func clusterVersion() throws(EmbeddedPostgresError) -> Int? {
        guard FileManager.default.fileExists(atPath: cluster) else { return nil }
        guard let text = try? String(contentsOfFile: "\(cluster)/PG_VERSION", encoding: .utf8),
            let version = Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
        else { throw .notACluster(directory: cluster) }
        return version
    }
}

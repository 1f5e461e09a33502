import FoundationEssentials
import LocalFiles

/// The contents of a PostgreSQL server's `postmaster.pid`, and checks of that process in `/proc`.
struct PostmasterFile: Sendable, Equatable {
    /// Process id of the server.
    let processID: Int32
    /// The first directory of its sockets.
    let socketDirectory: String
    /// The status `starting`, `ready`, `standby` or `stopping`; empty in the first moments.
    let status: String

    /// Parses the text of the file; `nil` if it does not begin with a process id.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        func line(_ number: Int) -> String {
            lines.count >= number ? lines[number - 1].trimmed() : ""
        }
        guard let processID = Int32(line(1)), processID > 1 else { return nil }
        self.processID = processID
        socketDirectory = line(5)
        status = line(8)
    }

    /// Reads the file of a cluster; `nil` if there is none.
    init?(ofCluster directory: String) {
        guard let text = try? String(contentsOfFile: Self.path(inCluster: directory), encoding: .utf8) else {
            return nil
        }
        self.init(text)
    }

    /// Returns the path of the file in a cluster.
    static func path(inCluster directory: String) -> String {
        "\(directory)/postmaster.pid"
    }

    /// Returns the running server of a cluster; `nil` if the file is missing or belongs to a server that is gone.
    static func ofRunningServer(of paths: ClusterPaths) -> PostmasterFile? {
        guard let file = PostmasterFile(ofCluster: paths.cluster) else { return nil }
        let sockets = file.socketDirectory.isEmpty ? paths.sockets : file.socketDirectory
        return isServer(file.processID, ofCluster: paths.cluster, sockets: sockets) ? file : nil
    }

    /// Returns whether a process is running and is the server of this cluster, rather than a later process with the
    /// same id.
    ///
    /// A server's working directory is its cluster's directory. Root without `CAP_SYS_PTRACE`, as in a container, may
    /// not read that of another user's process; then the command line tells. A process that has ended but has not been
    /// waited for has neither.
    static func isServer(_ processID: Int32, ofCluster directory: String, sockets: String) -> Bool {
        let process = "/proc/\(processID)"
        guard let name = try? String(contentsOfFile: "\(process)/comm", encoding: .utf8), name.hasPrefix("postgres")
        else { return false }
        if let working = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(process)/cwd") {
            return working == URL(fileURLWithPath: directory).resolvingSymlinksInPath().path
        }
        let words = (try? String(contentsOfFile: "\(process)/cmdline", encoding: .utf8))?.split(separator: "\0") ?? []
        return words.contains { $0 == directory || $0 == "unix_socket_directories=\(sockets)" }
    }
}

import Foundation

/// What a PostgreSQL server writes about itself into `postmaster.pid`, and what `/proc` says about that process.
struct PostmasterFile: Sendable, Equatable {
    /// Process id of the server.
    let processID: Int32
    /// First directory of its sockets.
    let socketDirectory: String
    /// `starting`, `ready`, `standby` or `stopping`; empty in the first moments.
    let status: String

    /// Reads the file's text; `nil` when it does not begin with a process id.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        func line(_ number: Int) -> String {
            lines.count >= number ? lines[number - 1].trimmingCharacters(in: .whitespaces) : ""
        }
        guard let processID = Int32(line(1)), processID > 1 else { return nil }
        self.processID = processID
        socketDirectory = line(5)
        status = line(8)
    }

    /// Reads the file of a cluster; `nil` when there is none.
    init?(ofCluster directory: String) {
        guard let text = try? String(contentsOfFile: Self.path(inCluster: directory), encoding: .utf8) else {
            return nil
        }
        self.init(text)
    }

    /// Where the file lies in a cluster.
    static func path(inCluster directory: String) -> String {
        "\(directory)/postmaster.pid"
    }

    /// The server that runs in a cluster; `nil` when the file is missing or was left by a server that is gone.
    static func ofRunningServer(inCluster directory: String) -> PostmasterFile? {
        PostmasterFile(ofCluster: directory).flatMap { isServer($0.processID, ofCluster: directory) ? $0 : nil }
    }

    /// Whether a process runs and is the server of this cluster, and not one that got the same number since.
    ///
    /// A server's working directory is its cluster's; a process that has ended but that nobody has waited for has none.
    static func isServer(_ processID: Int32, ofCluster directory: String) -> Bool {
        let process = "/proc/\(processID)"
        guard
            let working = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(process)/cwd"),
            let name = try? String(contentsOfFile: "\(process)/comm", encoding: .utf8)
        else { return false }
        return name.hasPrefix("postgres")
            && working == URL(fileURLWithPath: directory).resolvingSymlinksInPath().path
    }
}

import Foundation
import Glibc
import PostgresTesting
import TestSupport

/// A real PgBouncer in front of a cluster.
final class Bouncer: Sendable {
    private let cluster: TestCluster
    private let process: RunningProcess
    private static let port = 6432

    /// Whether Debian's package is installed.
    static var isThere: Bool { FileManager.default.fileExists(atPath: program) }
    private static let program = "/usr/sbin/pgbouncer"

    /// Starts it beside the server's socket.
    ///
    /// - Parameters:
    ///   - mode: `session`, `transaction` or `statement`.
    ///   - more: Further lines of its configuration.
    init(_ mode: String, before cluster: TestCluster, _ more: String = "") async throws {
        self.cluster = cluster
        let file = "\(cluster.directory)/bouncer-\(UUID().uuidString).ini"
        let configuration = """
            [databases]
            * = host=\(cluster.directory) port=\(cluster.port) user=postgres
            [pgbouncer]
            listen_port = \(Self.port)
            unix_socket_dir = \(cluster.directory)
            auth_type = any
            pool_mode = \(mode)
            max_client_conn = 300
            default_pool_size = 150
            \(more)
            """
        try configuration.write(toFile: file, atomically: false, encoding: .utf8)
        // PgBouncer refuses to run as root.
        let user = geteuid() == 0 ? ["-u", "postgres"] : []
        process = try RunningProcess([Self.program] + user + [file], environment: [:])
        try await waitUntil("PgBouncer listens", seconds: 10) {
            guard process.isRunning else {
                throw ProgramError(status: await process.exitStatus(), output: process.errors + process.output)
            }
            return FileManager.default.fileExists(atPath: "\(cluster.directory)/.s.PGSQL.\(Self.port)")
        }
    }

    /// The settings of a gateway that connects through it.
    func settings(database: String) -> [String: String] {
        ["SLUICE_DATABASE_URL": "host=\(cluster.directory) port=\(Self.port) user=postgres dbname=\(database)"]
    }

    /// Ends it at once, with all connections.
    func end() async {
        process.signal(SIGKILL)
        _ = await process.exitStatus()
        try? FileManager.default.removeItem(atPath: "\(cluster.directory)/.s.PGSQL.\(Self.port)")
    }
}

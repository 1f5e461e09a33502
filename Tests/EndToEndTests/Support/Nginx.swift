import Foundation
import Glibc
import TestSupport

/// A real nginx that plays a store and a content delivery network in front of it.
///
/// The store keeps objects as files and checks no signature. The network checks links with the module `secure_link`,
/// configured as `docs/links.md` says.
final class Nginx: Sendable {
    /// Origin of the store.
    let store: String
    /// Origin of the network, which stands for the bucket `photos` alone.
    let cdn: String
    private let directory: String
    private let process: RunningProcess

    /// Whether Debian's package is installed.
    static var isThere: Bool { FileManager.default.fileExists(atPath: program) }
    private static let program = "/usr/sbin/nginx"

    /// Starts it on free ports.
    ///
    /// - Parameter secret: What the network shares with the gateway.
    static func start(secret: String) async throws -> Nginx {
        for _ in 0..<5 {
            if let nginx = try await Nginx(secret: secret) { return nginx }
        }
        throw ProgramError(status: 1, output: "no two ports are free")
    }

    private init?(secret: String) async throws {
        let (first, second) = (Int.random(in: 20_000...25_999), Int.random(in: 26_000...31_999))
        (store, cdn) = ("http://127.0.0.1:\(first)", "http://127.0.0.1:\(second)")
        let directory = "/tmp/sluice-nginx-\(UUID().uuidString.prefix(8))"
        self.directory = directory
        try FileManager.default.createDirectory(atPath: "\(directory)/objects", withIntermediateDirectories: true)
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(directory)/\($0);" }.joined(separator: "\n")
        let configuration = """
            \(geteuid() == 0 ? "user root;" : "")
            daemon off;
            worker_processes 1;
            pid \(directory)/pid;
            error_log stderr crit;
            events { worker_connections 64; }
            http {
                access_log off;
                \(temporary)
                server {
                    listen 127.0.0.1:\(first);
                    root \(directory)/objects;
                    location / {
                        dav_methods PUT DELETE;
                        create_full_put_path on;
                    }
                }
                server {
                    listen 127.0.0.1:\(second);
                    root \(directory)/objects/photos;
                    location / {
                        secure_link $arg_md5,$arg_expires;
                        secure_link_md5 "$secure_link_expires$uri \(secret)";
                        if ($secure_link = "") { return 403; }
                        if ($secure_link = "0") { return 410; }
                        limit_except GET { deny all; }
                    }
                }
            }
            """
        try configuration.write(toFile: "\(directory)/conf", atomically: false, encoding: .utf8)
        let process = try RunningProcess(
            [Self.program, "-p", directory, "-c", "\(directory)/conf", "-e", "stderr"], environment: [:])
        self.process = process
        // It writes this file once it listens.
        try await waitUntil("nginx listens", seconds: 20) {
            !process.isRunning || FileManager.default.fileExists(atPath: "\(directory)/pid")
        }
        guard process.isRunning else {
            let errors = process.errors
            try? FileManager.default.removeItem(atPath: directory)
            guard errors.contains("Address already in use") else {
                throw ProgramError(status: await process.exitStatus(), output: errors)
            }
            return nil
        }
    }

    /// Ends it at once.
    func end() async {
        process.signal(SIGTERM)
        _ = await process.exitStatus()
        try? FileManager.default.removeItem(atPath: directory)
    }
}

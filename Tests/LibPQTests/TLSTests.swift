import Foundation
import LibPQ
import PostgresTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct TLSTests {
    /// Servers and proxies may send TLS records of 16 KiB. libpq reads a part of one if its buffer has less room, and
    /// the rest is no longer at the socket.
    @Test(.database) func `an answer in large records of TLS arrives whole`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (certificate, key) = (folder.appending(path: "certificate").path, folder.appending(path: "key").path)
        let making = try start(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=127.0.0.1", "-out", certificate, "-keyout", key,
            ], Pipe())
        making.waitUntilExit()

        let database = try TestDatabase.current
        let fields = Dictionary(
            database.connectionString.split(separator: " ").compactMap { field in
                let parts = field.split(separator: "=", maxSplits: 1)
                return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
            }
        ) { $1 }
        let socket = "\(try #require(fields["host"]))/.s.PGSQL.\(try #require(fields["port"]))"
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "tls_proxy.py").path
        let output = Pipe()
        let proxy = try start("/usr/bin/python3", [script, certificate, key, socket], output)
        defer { proxy.terminate() }
        let port = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)

        let connection = PostgresConnection(
            try PostgresConfiguration(
                connectionString: database.connectionString + " host=127.0.0.1 port=\(port) sslmode=require",
                applicationName: "tests"),
            logger: quiet)
        // Some of these leave a part of the last record behind: it is larger than the room beside an unfinished row.
        for count in 20...60 {
            let rows = try await connection.execute(
                query("SELECT repeat('x', 7000) FROM generate_series(1, \(count))", as: String.self),
                deadline: .now + .seconds(10))
            #expect(rows.count == count && rows.allSatisfy { $0.utf8.count == 7_000 })
        }
        await connection.close()
    }

    private func start(_ program: String, _ arguments: [String], _ output: Pipe) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        return process
    }
}

import Foundation
import LibPQ
import PostgresTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct TLSTests {
    /// Servers and proxies may send TLS records of 16 KiB. libpq reads a part of one if its buffer has less room, and
    /// the rest is no longer at the socket.
    @Test(.database) func `an answer in large records of TLS arrives whole`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (certificate, key) = try OpenSSL.makeCertificate(in: folder)

        let database = try TestDatabase.current
        let fields = Dictionary(
            database.connectionString.split(separator: " ").compactMap { field in
                let parts = field.split(separator: "=", maxSplits: 1)
                return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
            }
        ) { $1 }
        let socket = "\(try #require(fields["host"]))/.s.PGSQL.\(try #require(fields["port"]))"
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "tls_proxy.py").path
        let (proxy, output) = (Process(), Pipe())
        proxy.executableURL = URL(filePath: "/usr/bin/python3")
        proxy.arguments = [script, certificate, key, socket]
        proxy.standardOutput = output
        proxy.standardError = FileHandle.nullDevice
        proxy.standardInput = FileHandle.nullDevice
        try proxy.run()
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
}

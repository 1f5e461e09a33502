import Foundation
import Glibc
import HTTPTesting
import TestSupport
import Testing

/// A running `sluice serve`.
final class GatewayProcess: Sendable {
    let port: UInt16
    /// The port of admins and of monitoring: that of apps, unless SLUICE_ADMIN_LISTEN is set.
    let adminPort: UInt16
    let process: RunningProcess

    /// Starts a gateway on a free port and waits until it reports that it listens, on all its ports.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - command: A command that becomes the gateway when the program's command is appended to it.
    static func start(
        _ environment: [String: String], of program: String = Program.path, by command: [String] = []
    ) async throws -> GatewayProcess {
        let settings = ["SLUICE_LISTEN": "127.0.0.1:0"].merging(environment) { $1 }
        let process = try RunningProcess(command + [program, "serve"], environment: settings)
        let listeners = settings["SLUICE_ADMIN_LISTEN"] == nil ? ["api"] : ["api", "admin"]
        var ports: [UInt16] = []
        try await waitUntil("the gateway listens") {
            ports = listeners.compactMap { announcedPort(of: $0, in: process.errors) }
            guard ports.count == listeners.count || process.isRunning else {
                throw ProgramError(status: await process.exitStatus(), output: process.errors)
            }
            return ports.count == listeners.count
        }
        guard let port = ports.first, let adminPort = ports.last else {
            throw ProgramError(status: nil, output: process.errors)
        }
        return GatewayProcess(port: port, adminPort: adminPort, process: process)
    }

    private init(port: UInt16, adminPort: UInt16, process: RunningProcess) {
        self.port = port
        self.adminPort = adminPort
        self.process = process
    }

    private static func announcedPort(of listener: String, in log: String) -> UInt16? {
        for line in log.split(separator: "\n")
        where line.hasSuffix("listening") || line.contains(#""message":"listening""#) {
            guard line.contains("listener=\(listener) ") || line.contains(#""listener":"\#(listener)""#) else {
                continue
            }
            guard let port = line.firstRange(of: " port=") ?? line.firstRange(of: #""port":"#) else { continue }
            return UInt16(line[port.upperBound...].prefix { $0.isNumber })
        }
        return nil
    }

    /// Its log so far.
    var log: String { process.errors }

    /// Its metrics. Throws if it does not show them.
    func metrics() async throws -> String {
        let fields = [(name: "Host", value: "127.0.0.1:\(adminPort)"), (name: "Connection", value: "close")]
        let answer = try await RawRequest("GET", "/metrics", headers: fields).answer(fromPort: adminPort)
        try #require(
            answer.status == 200 && answer.text.contains("\nsluice_"), "\(answer.status) \(answer.text.prefix(200))")
        return answer.text
    }

    /// Ends it at once, as a crash would (SIGKILL).
    func crash() async {
        process.signal(SIGKILL)
        _ = await process.exitStatus()
    }

    /// Asks it to end (SIGTERM); returns its exit status.
    func terminate() async -> Int32 {
        process.signal(SIGTERM)
        return await process.exitStatus()
    }
}

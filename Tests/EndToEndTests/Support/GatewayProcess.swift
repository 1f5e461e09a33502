import Foundation
import Glibc

/// A running `sluice serve`.
final class GatewayProcess: Sendable {
    let port: UInt16
    let process: RunningProcess

    /// Starts a gateway on a free port and waits until it reports that it listens.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - command: A command that becomes the gateway when the program's command is appended to it.
    static func start(
        _ environment: [String: String], of program: String = Program.path, by command: [String] = []
    ) async throws -> GatewayProcess {
        let settings = ["SLUICE_LISTEN": "127.0.0.1:0"].merging(environment) { $1 }
        let process = try RunningProcess(command + [program, "serve"], environment: settings)
        var port: UInt16?
        try await waitUntil("the gateway listens") {
            port = announcedPort(in: process.errors)
            guard port != nil || process.isRunning else {
                throw ProgramError(status: await process.exitStatus(), output: process.errors)
            }
            return port != nil
        }
        guard let port else { throw ProgramError(status: nil, output: process.errors) }
        return GatewayProcess(port: port, process: process)
    }

    private init(port: UInt16, process: RunningProcess) {
        self.port = port
        self.process = process
    }

    private static func announcedPort(in log: String) -> UInt16? {
        for line in log.split(separator: "\n") where line.hasSuffix("listening") {
            guard let port = line.firstRange(of: " port=") else { continue }
            return UInt16(line[port.upperBound...].prefix { $0.isNumber })
        }
        return nil
    }

    /// Its log so far.
    var log: String { process.errors }

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

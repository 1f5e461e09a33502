import Foundation
import Testing

/// The running program on PostgreSQL under Patroni, and on databases that were restored from backups.
///
/// `script/ha` does it, with the program that was built. That needs root and takes minutes, so it is done only where
/// `SLUICE_TEST_HA` is set: to the number of faults.
@Suite(
    .enabled(if: ProcessInfo.processInfo.environment["SLUICE_TEST_HA"] != nil, "SLUICE_TEST_HA is not set"),
    .serialized, .timeLimit(.minutes(60)))
struct HighAvailabilityTests {
    @Test func `faults of the database lose no link, revive no grant and exceed no quota`() async throws {
        let rounds = try #require(ProcessInfo.processInfo.environment["SLUICE_TEST_HA"])
        let table = try await run(["test", "--rounds", rounds])
        #expect(table.contains("| lost |"))
    }

    @Test func `the gateway goes on with a database from a dump and from a base backup`() async throws {
        let output = try await run(["backup"])
        #expect(output.contains("were restored"))
    }

    /// Runs `script/ha`; returns what it prints.
    private func run(_ arguments: [String]) async throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")
            .standardizedFileURL
        let process = try RunningProcess(
            [root.appending(path: "script/ha").path(percentEncoded: false), "--binary", Program.path] + arguments,
            environment: [:])
        let status = await process.exitStatus()
        try #require(status == 0, "\(process.output)\(process.errors)")
        return process.output
    }
}

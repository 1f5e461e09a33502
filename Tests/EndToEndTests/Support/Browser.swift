import Foundation
import TestSupport
import Testing

/// Chromium, without a window and with its own profile, which is deleted when it ends.
enum Browser {
    /// The program.
    static let path = "/usr/bin/chromium"

    /// Cancels the test where there is no browser, unless one is required.
    static func require() throws {
        try Surroundings.require(FileManager.default.isExecutableFile(atPath: path), orElse: "\(path) is missing")
    }

    /// Opens a page, waits until its scripts and requests are done, and returns its document in that state.
    static func document(at url: String) async throws -> String {
        let home = FileManager.default.temporaryDirectory.appending(path: "sluice-browser-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: home) }
        let command = [
            path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-crash-reporter",
            "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
            "--user-data-dir=\(home.path())",
            // Time that the page itself may wait for. This clock stands still while a request is under way.
            "--virtual-time-budget=10000", "--dump-dom", url,
        ]
        let process = try RunningProcess(command, environment: ["HOME": home.path()])
        defer { process.signal(SIGKILL) }
        try await waitUntil("the browser is done", seconds: 60) { !process.isRunning }
        let status = await process.exitStatus()
        try #require(status == 0, "\(process.errors)")
        return process.output
    }
}

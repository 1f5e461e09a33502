import Foundation
import Testing

@Suite("settings", .timeLimit(.minutes(1)))
struct SettingsTests {
    @Test func allMistakesAreNamedTogetherAndNoValueIsShown() throws {
        let result = try Command.run(
            ["serve", "--set", "log.format=xml"],
            environment: [
                "SLUICE_LISTEN": "nowhere", "SLUICE_HTTP_THREADS": "many", "SLUICE_LEDGER_KEEP_DAYS": "31",
                "SLUICE_TRUSTED_PROXIES": "10.0.0.0/8,elsewhere", "SLUICE_BOOTSTRAP_ADMIN_KEY": "made-up-short",
                "SLUICE_MASTER_KEY": "made-up-master-key", "SLUICE_TLS_KEY_FILE": "/key.pem", "SLUICE_LISTEM": "1",
            ])
        #expect(result.status == 1)
        let named = result.errors.split(separator: "\n").compactMap { line in
            line.firstMatch(of: #/^  (SLUICE_[A-Z_]+): /#).map { String($0.1) }
        }
        #expect(
            Set(named) == [
                "SLUICE_LOG_FORMAT", "SLUICE_LISTEN", "SLUICE_HTTP_THREADS", "SLUICE_LEDGER_KEEP_DAYS",
                "SLUICE_TRUSTED_PROXIES", "SLUICE_BOOTSTRAP_ADMIN_KEY", "SLUICE_MASTER_KEY", "SLUICE_DATABASE_URL",
                "SLUICE_TLS_CERTIFICATE_FILE", "SLUICE_LISTEM",
            ])
        #expect(!result.errors.contains("made-up"))
    }

    @Test func theVersionIsThatOfTheContract() throws {
        let contract = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../openapi/sluice.yaml")
        let text = try String(contentsOf: contract.standardizedFileURL, encoding: .utf8)
        let version = try #require(text.firstMatch(of: /(?m)^  version: (.+)$/)).1
        let result = try Command.run(["--version"])
        #expect(result.status == 0)
        #expect(result.output == "\(version)\n")
    }

    @Test(arguments: [
        "made-up key with spaces, quite long enough", "made-up#key-that-no-bearer-token-can-be", "made-up",
    ])
    func aBootstrapKeyThatNoRequestCouldCarryIsAMistake(key: String) throws {
        let result = try Command.run(["serve"], environment: ["SLUICE_BOOTSTRAP_ADMIN_KEY": key])
        #expect(result.errors.contains("  SLUICE_BOOTSTRAP_ADMIN_KEY: "))
        #expect(!result.errors.contains("made-up"))
    }

    @Test(arguments: [
        ("https://app.example/", false), ("app.example", false), ("https://App.example", false),
        ("https://app.example", true), ("http://localhost:3000,https://[::1]:3000", true), ("*", true),
    ])
    func originsAreInTheFormThatBrowsersSend(origins: String, areGood: Bool) throws {
        let result = try Command.run(["serve"], environment: ["SLUICE_CORS_ALLOWED_ORIGINS": origins])
        #expect(result.errors.contains("  SLUICE_DATABASE_URL: "))
        #expect(result.errors.contains("  SLUICE_CORS_ALLOWED_ORIGINS: ") == !areGood)
    }

    @Test func flagsComeBeforeTheEnvironmentAndTheEnvironmentBeforeTheFile() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"listen": "file", "http": {"threads": "file"}, "admin-listen": "file", "lost": 1}"#.utf8)
            .write(to: file)
        let result = try Command.run(
            ["serve", "--config", file.path, "--set", "listen=127.0.0.1:1"],
            environment: ["SLUICE_LISTEN": "environment", "SLUICE_HTTP_THREADS": "1"])
        #expect(result.status == 1)
        #expect(!result.errors.contains("SLUICE_LISTEN:"))
        #expect(!result.errors.contains("SLUICE_HTTP_THREADS:"))
        #expect(result.errors.contains("SLUICE_ADMIN_LISTEN:"))
        #expect(result.errors.contains("there is no setting 'lost'"))
    }

    @Test func theReadmeListsTheSettingsThatTheHelpLists() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let listed = readme.matches(of: #/(?m)^\| `(SLUICE_[A-Z_]+)` \|/#).map { String($0.1) }
        let help = try Command.run(["serve", "--help"]).output
        let known = help.matches(of: #/(?m)^(SLUICE_[A-Z_]+)$/#).map { String($0.1) }
        #expect(known.count > 20)
        #expect(listed == known)
    }
}

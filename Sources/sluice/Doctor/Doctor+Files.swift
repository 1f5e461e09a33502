import FoundationEssentials
import LocalFiles
import StrictJSON

extension Doctor {
    /// Files with secrets, by the settings that name them.
    private static let secretFiles: [SettingName] = [
        .databasePasswordFile, .masterKeyFile, .bootstrapAdminKeyFile, .tlsKeyFile,
    ]

    /// Looks at the files that settings name: whether they are there, and who else can read the secret ones.
    mutating func examineFiles(_ options: SettingsOptions, _ reader: SettingReader) {
        var reader = reader
        let before = report.findings.count
        if let file = options.file, Self.holdsSecret(file) { examineReaders(of: file, named: "the configuration file") }
        for name in Self.secretFiles {
            guard let file = reader.text(name) else { continue }
            examineReaders(of: file, named: name.variable)
        }
        // The reader of settings has named the other files that it cannot read.
        for name in [SettingName.tlsCertificateFile, .tlsKeyFile] {
            guard let file = reader.text(name), let flaw = FileStatus.readingFlaw(of: file) else { continue }
            report.note(
                .files, .failed, "\(name.variable): '\(file)' \(flaw).",
                advice: "Correct the path, or let the user that runs 'sluice serve' read the file.")
        }
        if report.findings.count == before { report.note(.files, .ok, "No other user can read a file with secrets.") }
    }

    /// Warns if users besides the owner can read a file.
    private mutating func examineReaders(of file: String, named name: String) {
        guard let mode = try? FileStatus(file).permissions, mode & 0o044 != 0 else { return }
        let who = mode & 0o004 != 0 ? "every user of this machine" : "the group of the file"
        report.note(
            .files, .warning,
            "\(name): '\(file)' holds secrets, and \(who) can read it (mode \(String(mode, radix: 8))).",
            advice: "Run: chmod 600 '\(file)'")
    }

    /// Whether a configuration file has a master key, a bootstrap key, or a password for the database.
    private static func holdsSecret(_ file: String) -> Bool {
        guard let settings = try? SettingsFile(file) else { return false }
        if settings[.masterKey] != nil || settings[.bootstrapAdminKey] != nil { return true }
        guard case .string(let url) = settings[.databaseURL] else { return false }
        return Settings.Database.hasPassword(url)
    }
}

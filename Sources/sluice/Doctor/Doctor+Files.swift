import FoundationEssentials
import Glibc
import LibCrypto
import LocalFiles
import StrictJSON

extension Doctor {
    /// Files with secrets, by the settings that name them.
    private static let secretFiles: [SettingName] = [
        .databasePasswordFile, .masterKeyFile, .bootstrapAdminKeyFile, .tlsKeyFile,
    ]

    /// Looks at the files that settings name: whether they are there, who can needlessly read the secret ones, and when
    /// the certificate expires.
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
        if let file = reader.text(.tlsCertificateFile) { examineExpiry(of: file) }
        if report.findings.count == before {
            report.note(.files, .ok, "No file with secrets can be read by more users than necessary.")
        }
    }

    /// Notes that a certificate of a file has expired, or will within seven days. A file without certificates gets no
    /// line.
    private mutating func examineExpiry(of file: String) {
        guard let text = try? String(contentsOf: URL(filePath: file), encoding: .utf8),
            let chain = try? CertificateChain(pem: text)
        else { return }
        let end = Date(timeIntervalSince1970: TimeInterval(chain.expiresAt))
        let left = end.timeIntervalSinceNow
        guard left < 7 * 86_400 else { return }
        let (outcome, verb): (DoctorReport.Outcome, String) = left > 0 ? (.warning, "expires") : (.failed, "expired")
        report.note(
            .files, outcome,
            "\(SettingName.tlsCertificateFile.variable): a certificate in '\(file)' \(verb) at \(end.formatted(.iso8601)).",
            advice: "Renew it, and send the gateways SIGHUP, by 'systemctl reload sluice' for example.")
    }

    /// Warns if more users can read a file than necessary.
    ///
    /// A gateway may read a file of another user by the file's group: the Debian package and Kubernetes give it files
    /// of root in this way. A file of its own needs no group that reads it.
    private mutating func examineReaders(of file: String, named name: String) {
        guard let mode = try? FileStatus(file).permissions else { return }
        let (isOpen, isOwn) = (mode & 0o004 != 0, Self.belongsToThisUser(file))
        guard isOpen || isOwn && mode & 0o040 != 0 else { return }
        let who = isOpen ? "every user of this machine" : "the group of the file"
        let advice =
            isOwn
            ? "Run: chmod 600 '\(file)'"
            : "Let the user that runs 'sluice serve' own it or be in its group, and run: chmod o-rwx '\(file)'"
        report.note(
            .files, .warning,
            "\(name): '\(file)' holds secrets, and \(who) can read it (mode \(String(mode, radix: 8))).",
            advice: advice)
    }

    /// Whether a file belongs to the user of this process, and is not root's: root may examine the files of a service
    /// that runs as another user.
    private static func belongsToThisUser(_ file: String) -> Bool {
        let user = geteuid()
        let path = URL(fileURLWithPath: file).resolvingSymlinksInPath().path
        let owner = try? FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? UInt
        return user != 0 && owner == UInt(user)
    }

    /// Whether a configuration file has a master key, a bootstrap key, or a password for the database.
    private static func holdsSecret(_ file: String) -> Bool {
        guard let settings = try? SettingsFile(file) else { return false }
        if settings[.masterKey] != nil || settings[.bootstrapAdminKey] != nil { return true }
        guard case .string(let url) = settings[.databaseURL] else { return false }
        return Settings.Database.hasPassword(url)
    }
}

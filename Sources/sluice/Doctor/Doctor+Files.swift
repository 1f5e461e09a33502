import FoundationEssentials
import Glibc
import LibCrypto
import LocalFiles
import MicroHTTPD
import StrictJSON

extension Doctor {
    /// Files with secrets, by the settings that name them.
    private static let secretFiles: [SettingName] = [
        .databasePasswordFile, .masterKeyFile, .bootstrapAdminKeyFile, .tlsKeyFile,
    ]

    /// Looks at the files that settings name: whether they are there, who can needlessly read the secret ones, whether
    /// the key is that of the certificate, and when the certificate is valid.
    mutating func examineFiles(_ options: SettingsOptions, _ reader: SettingReader) {
        var reader = reader
        let before = report.findings.count
        if let file = options.file, Self.holdsSecret(file) { examineReaders(of: file, named: "the configuration file") }
        for name in Self.secretFiles {
            guard let file = reader.text(name) else { continue }
            examineReaders(of: file, named: name.variable)
        }
        // The reader of settings has named the other files that it cannot read.
        var areReadable = true
        for name in [SettingName.tlsCertificateFile, .tlsKeyFile] {
            guard let file = reader.text(name), let flaw = FileStatus.readingFlaw(of: file) else { continue }
            areReadable = false
            report.note(
                .files, .failed, "\(name.variable): '\(file)' \(flaw).",
                advice: "Correct the path, or let the user that runs 'sluice serve' read the file.")
        }
        let certificate = reader.text(.tlsCertificateFile)
        if areReadable, let certificate, let key = reader.text(.tlsKeyFile) {
            examinePair(HTTPServerConfiguration.TLS(certificateFile: certificate, keyFile: key))
        }
        if let certificate { examineDates(of: certificate) }
        if report.findings.count == before {
            report.note(.files, .ok, "No file with secrets can be read by more users than necessary.")
        }
    }

    /// Notes why no gateway starts with a certificate and a key.
    private mutating func examinePair(_ files: HTTPServerConfiguration.TLS) {
        do throws(HTTPServerError) {
            try HTTPServer.checkCertificate(files)
        } catch {
            report.note(.files, .failed, "TLS: \(error)", advice: error.advice)
        }
    }

    /// Notes that clients refuse a certificate of a file for its dates, or will within seven days. A file without
    /// certificates gets no line.
    private mutating func examineDates(of file: String) {
        guard let bytes = try? Data(contentsOf: URL(filePath: file)) else { return }
        let (text, now) = (String(decoding: bytes, as: UTF8.self), Date.now)
        let name = SettingName.tlsCertificateFile.variable
        let advice = "Renew it, and send the gateways SIGHUP, by 'systemctl reload sluice' for example."
        if let flaw = CertificateDates.flaw(ofPEM: text, at: now) {
            report.note(.files, .failed, "\(name): '\(file)': \(flaw).", advice: advice)
        } else if let chain = try? CertificateChain(pem: text) {
            let end = Date(timeIntervalSince1970: TimeInterval(chain.expiresAt))
            guard end.timeIntervalSince(now) < 7 * 86_400 else { return }
            report.note(
                .files, .warning, "\(name): a certificate in '\(file)' expires at \(end.formatted(.iso8601)).",
                advice: advice)
        }
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

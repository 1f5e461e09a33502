import FoundationEssentials
import GatewayCloud
import GatewayPostgres
import LineLogging
import Logging

/// Looks at everything that a gateway needs: settings, files, database, keys, networks. It changes nothing and may run
/// beside a gateway. Where systemd holds the sockets of a stopped gateway, its request starts the gateway.
///
/// A mistake in one place does not hide those in others: whatever can still be looked at is looked at.
struct Doctor {
    var report = DoctorReport()
    /// All settings; `nil` if some are wrong.
    private(set) var settings: Settings?
    /// The settings of the database; `nil` if they are wrong.
    private(set) var database: Settings.Database?
    private(set) var masterKeys: MasterKeyRing?
    private(set) var outbound: OutboundPolicy?
    let logger = Logger(label: "sluice.doctor") { _ in SwiftLogNoOpLogHandler() }

    /// Makes all examinations.
    ///
    /// - Throws: An error of the command line.
    mutating func examine(_ options: SettingsOptions) async throws {
        let reader = try await readSettings(options)
        examineFiles(options, reader)
        let endpoints = await examineDatabase()
        await examineOutbound(endpoints)
        await examineListeners(reader)
    }

    /// Reads the settings as `serve` does, and names each mistake.
    private mutating func readSettings(_ options: SettingsOptions) async throws -> SettingReader {
        let reader = try await openSettings(options)
        var whole = reader
        _ = LogSetup(reading: &whole)
        do {
            settings = try Settings(&whole)
            report.note(.settings, .ok, "Every setting can be read.")
        } catch let error as SettingMistakes {
            let advice = "'sluice serve --help' lists the settings."
            for mistake in error.mistakes { report.note(.settings, .failed, mistake, advice: advice) }
        }
        // Each part again by itself, as another part may have the mistakes.
        var part = reader
        database = Settings.Database(reading: &part)
        masterKeys = MasterKeyRing(reading: &part)
        outbound = OutboundPolicy(reading: &part)
        return reader
    }

    /// Opens the settings, without the file if that cannot be read.
    private mutating func openSettings(_ options: SettingsOptions) async throws -> SettingReader {
        guard let file = options.file, (try? SettingsFile(file)) == nil else { return try await options.reader() }
        report.note(
            .settings, .failed, SettingsOptions.complaint(about: file),
            advice: "Correct --config or SLUICE_CONFIG, or the file.")
        return try await options.reader(file: nil)
    }
}

import ArgumentParser
import FoundationEssentials
import GatewayCore
import GatewayPostgres
import LibCrypto
import LibPQ
import LineLogging
import Logging

/// `sluice rotate-master-key`: seals all stored secrets with the first master key.
struct RotateMasterKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-master-key",
        abstract: "Seal all stored secrets with the first of the master keys.",
        discussion: """
            To change the master key, put a line 'id:base64' with the new key after the old
            one and reload or restart every gateway. Then put the new line first, since the
            first key seals, and reload every gateway again. Run this command with both
            keys, and reload the gateways with the new key only. Write an old key that has
            no identifier as 'default:base64'. While a gateway runs that does not seal with
            the new key, this command names it and seals nothing. The exit status is 1
            then, and if a row cannot be opened with these keys.
            """
    )

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        var reader = try await options.reader()
        let logger = LogSetup(reading: &reader).install()
        let keys = MasterKeyRing(reading: &reader)
        do {
            let configuration = try PostgresConfiguration(maintaining: &reader)
            guard let keys else { throw SettingMistakes(mistakes: reader.mistakes) }
            try await rotate(keys, configuration, logger)
        } catch {
            throw ExitCode(logging: error, to: logger, "The rotation of the master key failed", as: .gateway)
        }
    }

    private func rotate(_ keys: MasterKeyRing, _ configuration: PostgresConfiguration, _ logger: Logger) async throws {
        let connection = try await PostgresConnection.toMigrated(configuration, logger: logger)
        let requestID = UUID.version7(at: .now, randomBytes: try randomBytes(count: 10)).uuidString.lowercased()
        let outcome = try await MasterKeyRotation(connection: connection, keys: keys, now: { .now })
            .run(requestID: requestID)
        await connection.close()
        try writeLine("Sealed \(outcome.resealed) rows again.")
        for row in outcome.unopened {
            try writeLine("Not changed: \(row.table) \(row.id.uuidString.lowercased()): \(row.reason)")
        }
        if !outcome.unopened.isEmpty { throw ExitCode(1) }
    }
}

import ArgumentParser
import FoundationEssentials
import GatewayPostgres
import LibPQ
import LineLogging
import Logging

/// `sluice audit-quotas`: compares the counters of quotas with the ledger.
struct AuditQuotasCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit-quotas",
        abstract: "Compare the counters of quotas with the rows of the ledger.",
        discussion: """
            Prints each counter of a current period that differs from the sum of its
            rows: quota, holder, start of the period, counted, recorded. The exit status
            is 1 if there is such a counter and it was not repaired. Gateways may run at
            the same time.
            """
    )

    @OptionGroup var options: SettingsOptions

    @Flag(help: "Set wrong counters to the sum of their rows.")
    var repair = false

    func run() async throws {
        var reader = try await options.reader()
        let logger = LogSetup(reading: &reader).install()
        do {
            try await audit(PostgresConfiguration(maintaining: &reader), logger)
        } catch {
            throw ExitCode(logging: error, to: logger, "The audit of the quotas failed", as: .gateway)
        }
    }

    private func audit(_ configuration: PostgresConfiguration, _ logger: Logger) async throws {
        let connection = try await PostgresConnection.toMigrated(configuration, logger: logger)
        let auditor = QuotaAuditor(connection: connection)
        let found = try await auditor.audit()
        for wrong in found {
            var line = [
                wrong.quotaID.uuidString.lowercased(), wrong.holder, wrong.periodStart.formatted(.iso8601),
                "\(wrong.used)", "\(wrong.charged)",
            ]
            if repair { line.append("now \(try await auditor.repair(wrong))") }
            try writeLine(line.joined(separator: "\t"))
        }
        await connection.close()
        if found.isEmpty { try writeLine("All counters agree with the ledger.") }
        if !found.isEmpty && !repair { throw ExitCode(1) }
    }
}

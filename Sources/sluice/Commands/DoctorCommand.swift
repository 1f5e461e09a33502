import ArgumentParser
import FoundationEssentials

/// `sluice doctor`: looks for what would keep a gateway from working.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what would keep a gateway from working. It changes nothing.",
        discussion: """
            Run it with the settings of 'sluice serve', before the first start or beside a
            running gateway. It looks at the settings and their files, the database, its
            durability, locks and schema, the rights of the login, the clocks, the master
            key, the servers that buckets, credentials and issuers name, and the addresses
            to listen on. Where systemd holds the sockets, it starts a stopped gateway.
            Each line says ok, warning, failed or skipped, with advice. The exit status is
            1 if something failed.
            """
    )

    @OptionGroup var options: SettingsOptions

    @Flag(help: "Print one JSON object: {\"ok\": …, \"checks\": [{\"check\", \"outcome\", \"message\", \"advice\"}]}.")
    var json = false

    func run() async throws {
        var doctor = Doctor()
        try await doctor.examine(options)
        try writeLine(json ? doctor.report.json() : doctor.report.text)
        if doctor.report.hasFailed { throw ExitCode(1) }
    }
}

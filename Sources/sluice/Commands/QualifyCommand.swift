import ArgumentParser
import FoundationEssentials
import GatewayCloud
import GatewayCore
import GatewayPostgres
import LibCrypto
import LibPQ
import LineLogging
import LocalFiles
import Logging
import StoreQualification
import Terminal

/// `sluice qualify`: tests whether a bucket's store enforces what links bind.
struct QualifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "qualify",
        abstract: "Test whether a bucket's store enforces what links bind.",
        discussion: """
            Sends the store rightful requests, and requests with one thing changed, which
            it has to refuse: links for uploads and downloads, forms, parts, temporary
            credentials and signatures. It reads the bucket and its credential from the
            database, with the settings of 'sluice serve', and signs as the gateway does.
            It consults no grants and writes nothing to the database.

            All objects lie below sluice-qualify/ and a random name in the bucket, and are
            removed at the end. About 200 requests are sent for each scheme. The store's
            address is the bucket's; SLUICE_OUTBOUND_ALLOW does not matter here, except for
            the service that opens sessions.

            'broken' means that a holder of a link can do more than the link says. 'noted'
            means that the store is lenient without breaking a promise. 'notJudged' says
            why. Not judged at all: who else has access to the bucket, TLS, and durability.

            Ctrl-C ends the checks and removes what was made; a second one ends the command
            at once.

            Exit status: 0 if no promise is broken, 1 if one is, if something was left
            behind, or if checks were not made or not concluded: the time was up, the store
            was in trouble, or what a check needs failed.
            """
    )

    @Argument(help: "The bucket.")
    var bucket: String

    @Flag(help: "Try all schemes of the bucket's provider, not only the bucket's own.")
    var allSchemes = false

    @Flag(help: "Show every check, also those that are kept.")
    var verbose = false

    @Flag(help: "Print the report as JSON.")
    var json = false

    @Option(help: ArgumentHelp("Time for all checks, 1 to 86400 seconds.", valueName: "seconds"))
    var patience = 300

    @Option(help: ArgumentHelp("Time for one answer, 1 to 600 seconds.", valueName: "seconds"))
    var timeout = 10

    @OptionGroup var options: SettingsOptions

    func validate() throws {
        guard 1...86_400 ~= patience else { throw ValidationError("'--patience' takes 1 to 86400 seconds.") }
        guard 1...600 ~= timeout else { throw ValidationError("'--timeout' takes 1 to 600 seconds.") }
    }

    func run() async throws {
        let name: BucketName
        do { name = try BucketName(bucket) } catch { throw ValidationError("'\(bucket)' is not the name of a bucket.") }
        var reader = try await options.reader()
        let logger = LogSetup(reading: &reader).install()
        do {
            try await qualify(name, &reader, logger)
        } catch let error as ValidationError {
            throw error
        } catch {
            throw ExitCode(logging: error, to: logger, "The qualification failed", as: .gateway)
        }
    }

    private func qualify(_ name: BucketName, _ reader: inout SettingReader, _ logger: Logger) async throws {
        let keys = MasterKeyRing(reading: &reader)
        let outbound = OutboundPolicy(reading: &reader)
        let database = Settings.Database(reading: &reader)
        guard reader.mistakes.isEmpty, let keys, let outbound, let database else {
            throw SettingMistakes(mistakes: reader.mistakes)
        }
        let place = try await location(of: name, in: database, keys, logger)
        let client = OutboundClient(policy: outbound)
        let qualification = Qualification(
            place.bucket, place.credential,
            opener: SecurityTokenService(
                client: client, logger: logger, now: { .now }, randomBytes: { try LibCrypto.randomBytes(count: $0) }),
            transport: StoreCall.network(timeout: .seconds(timeout)), now: { .now }, patience: .seconds(patience))
        let interrupts = Interrupts {
            writeToStandardError("Interrupted. What was made is being removed; press Ctrl-C again to stop at once.\n")
            qualification.stop()
        }
        let report = await qualification.run(allSchemes ? qualification.schemes : [place.bucket.scheme])
        interrupts.end()
        try writeLine(
            json ? QualificationText.json(report, of: place.bucket) : QualificationText.table(report, all: verbose))
        let isComplete = !report.isCutShort && !report.isInconclusive
        if report.isBroken || !isComplete || !report.leftBehind.isEmpty { throw ExitCode(1) }
    }

    private func location(
        of name: BucketName, in database: Settings.Database, _ keys: MasterKeyRing, _ logger: Logger
    ) async throws -> (bucket: Bucket, credential: StorageCredential) {
        let configuration = try database.configuration(
            "sluice-qualify", sessionSettings: PostgresPolicySource.sessionSettings)
        try await PostgresConnection.toMigrated(configuration, logger: logger).close()
        let pool = PostgresPool(configuration, size: 1, logger: logger)
        let source = PostgresPolicySource(pool: pool, keys: keys, logger: logger)
        let found: (bucket: Bucket, credential: StorageCredential)?
        do { found = try await PolicyCache(source: source).location(of: name) } catch {
            await pool.close()
            throw error
        }
        await pool.close()
        guard let place = found else {
            throw ValidationError("There is no bucket '\(name)'.")
        }
        return place
    }
}

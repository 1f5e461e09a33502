import ArgumentParser
import ObjectClient

/// `sluice credentials`: prints temporary credentials for tools that sign their own requests.
struct CredentialsCommand: AsyncParsableCommand {
    /// The name and the text of `--help`.
    static let configuration = CommandConfiguration(
        commandName: "credentials",
        abstract: "Print temporary credentials for a bucket, or for a part of it.",
        discussion: """
            The credentials permit what your grants permit below the prefix. They live for
            at least 15 minutes. The bucket must open the protocol
            'aws-container-credentials'. With '--format process', AWS SDKs and tools call
            the command themselves when they need credentials. In ~/.aws/config:

            [profile photos]
            credential_process = sluice credentials photos/team/a/ --format process

            \(GatewayOptions.environmentHelp)

            \(GatewayOptions.statusHelp)

            Example:
            sluice credentials photos/team/a/ --format process
            """)

    /// The forms of output.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        /// The JSON that `credential_process` of the AWS SDKs expects, version 1.
        case process
    }

    @Argument(help: ArgumentHelp("The bucket, or bucket and prefix.", valueName: "bucket/prefix"))
    var scope: String

    @Option(help: "The form of output: 'process' for credential_process.")
    var format = Format.process

    @OptionGroup var options: GatewayOptions

    /// Creates the command, for the parser.
    init() {}

    /// Prints the credentials.
    ///
    /// - Throws: `ExitCode`, after writing the reason to standard error.
    func run() async throws {
        try await options.run { (stop) async throws(ClientFailure) in
            let credentials = try await options.client(stop: stop).credentials(for: scope)
            try writeToStandardOutput(jsonLine(Told(credentials)))
        }
    }

    private struct Told: Encodable {
        var version = 1
        var accessKeyID: String
        var secretAccessKey: String
        var sessionToken: String
        var expiration: String

        enum CodingKeys: String, CodingKey {
            case version = "Version"
            case accessKeyID = "AccessKeyId"
            case secretAccessKey = "SecretAccessKey"
            case sessionToken = "SessionToken"
            case expiration = "Expiration"
        }

        init(_ credentials: TemporaryCredentials) {
            accessKeyID = credentials.accessKeyID
            secretAccessKey = credentials.secretAccessKey
            sessionToken = credentials.sessionToken
            expiration = credentials.expiration
        }
    }
}

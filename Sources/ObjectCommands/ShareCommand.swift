import ArgumentParser
import Glibc
import LocalFiles
import ObjectClient
import Terminal

/// `sluice share`: prints a link that downloads an object.
struct ShareCommand: AsyncParsableCommand {
    /// The name and the text of `--help`.
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Print a link that downloads an object.",
        discussion: """
            Whoever has the link can download the object until it expires. Sluice shortens
            the life to what your grant and the bucket allow, and the command then says so.
            On a terminal, a QR code follows if the command 'qrencode' is installed.

            \(GatewayOptions.environmentHelp)

            \(GatewayOptions.statusHelp)

            Example:
            sluice share photos/users/alice/cat.png --expires 1h --download cat.png
            """)

    @Argument(help: ArgumentHelp("Which object.", valueName: "bucket/key"))
    var address: String

    @Option(help: ArgumentHelp("Life of the link: 90s, 15m, 1h or 7d. Default: the bucket's.", valueName: "time"))
    var expires: String?

    @Option(help: ArgumentHelp("The name under which browsers save the object.", valueName: "name"))
    var download: String?

    @Flag(inversion: .prefixedNo, help: "Draw a QR code. Default: on a terminal.")
    var qr: Bool?

    @OptionGroup var options: GatewayOptions

    /// Creates the command, for the parser.
    init() {}

    /// Prints the link.
    ///
    /// - Throws: `ExitCode`, after writing the reason to standard error.
    func run() async throws {
        try await options.run { (stop) async throws(ClientFailure) in
            let object = try ObjectAddress(address)
            guard !object.isPlace else { throw .usage("'\(address)' names no object.") }
            var request = LinkRequest(downloading: object)
            if let expires {
                guard let seconds = TimeAmount.seconds(expires) else {
                    throw .usage("'--expires \(expires)' is not a time. Examples: 90s, 15m, 1h, 7d.")
                }
                request.expiresIn = seconds
            }
            request.response = download.map { LinkRequest.Response(filename: $0) }
            let link = try await options.client(stop: stop).link(request)
            if let wanted = request.expiresIn, link.expiresIn < wanted {
                options.warn("the link lives for \(link.expiresIn) seconds, which is what is allowed here")
            }
            if options.json {
                try writeToStandardOutput(jsonLine(Told(url: link.url, expiresAt: link.expiresAt, id: link.id)))
            } else {
                // The link is what was asked for, so it is printed whatever else is not.
                try writeToStandardOutput(link.url + "\n")
                try await show(link)
            }
        }
    }

    private struct Told: Encodable {
        var url: String
        var expiresAt: String
        var id: String
    }

    private func show(_ link: Link) async throws(ClientFailure) {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        if isTerminal, !options.quiet { writeToStandardError("expires at \(link.expiresAt.visible)\n") }
        guard qr ?? (isTerminal && !options.quiet) else { return }
        if let drawing = await QRCode.drawing(of: link.url) {
            try writeToStandardOutput(drawing)
        } else if qr == true {
            options.warn("no QR code: install the package 'qrencode'")
        }
    }
}

import ArgumentParser
import FoundationEssentials
import Glibc
import ObjectClient
import Terminal

/// `sluice ls`: lists objects.
struct ListCommand: AsyncParsableCommand {
    /// The name and the text of `--help`.
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "List objects.",
        discussion: """
            Lists what is directly below a prefix: folders, whose names end with '/', then
            objects. A prefix that ends inside a segment lists what begins with it. Your
            grant must permit ListObjects for the whole prefix, or Sluice refuses the
            listing. Each page takes a link of its own, which counts in quotas, and is
            printed when it arrives; '--json' prints one document at the end. If nothing
            is there, nothing is printed, and the status is 0.

            \(GatewayOptions.environmentHelp)

            \(GatewayOptions.statusHelp)

            Examples:
            sluice ls photos/users/alice/
            sluice ls --recursive photos/users/alice/ --json
            """)

    @Argument(
        help: ArgumentHelp("The bucket, or bucket and what the keys begin with.", valueName: "bucket/prefix"))
    var address: String

    @Flag(name: .shortAndLong, help: "List all objects below the prefix, with their whole keys.")
    var recursive = false

    @Option(help: ArgumentHelp("Number of entries that one link asks for, at most 1000.", valueName: "number"))
    var pageSize = ObjectListing.largestPage

    @OptionGroup var options: GatewayOptions

    /// Creates the command, for the parser.
    init() {}

    /// Checks what the parser cannot.
    func validate() throws {
        guard 1...ObjectListing.largestPage ~= pageSize else {
            throw ValidationError("'--page-size' takes a number from 1 to \(ObjectListing.largestPage).")
        }
    }

    /// Prints the list.
    ///
    /// - Throws: `ExitCode`, after writing the reason to standard error.
    func run() async throws {
        try await options.run { (stop) async throws(ClientFailure) in
            let place = try ObjectAddress(place: address)
            let listing = ObjectListing(client: try options.client(stop: stop), stop: stop, pageSize: pageSize)
            // The list is what was asked for, so it is printed whatever else is not.
            guard options.json else {
                try await printPages(of: place, listing)
                return
            }
            // A document that ends in the middle would be none.
            let found = try await listing.entries(of: place, recursive: recursive)
            try writeToStandardOutput(
                jsonLine(Told(bucket: place.bucket, prefix: place.key, folders: found.folders, items: found.objects)))
        }
    }

    /// Prints each page when it arrives: a later one may fail, and there may be millions of objects.
    private func printPages(of place: ObjectAddress, _ listing: ObjectListing) async throws(ClientFailure) {
        let stream = TerminalStream(STDOUT_FILENO, environment: ProcessInfo.processInfo.environment)
        // Without a folder, the whole key is the name.
        let folder = recursive ? "" : place.folder
        var isFirst = true
        try await listing.pages(of: place, recursive: recursive) { (page) throws(ClientFailure) in
            let text = Self.table(page, in: folder, on: stream, hasHeading: isFirst)
            guard !text.isEmpty else { return }
            isFirst = false
            try writeToStandardOutput(text)
        }
    }

    private struct Told: Encodable {
        var bucket: String
        var prefix: String
        var folders: [String]
        var items: [ListedObject]
    }

    /// Room for a size such as `1023.9 KiB` and for a time, so that the pages of a list line up.
    private static let widths = [10, 20]

    /// The lines for people of one page; none if nothing is on it.
    ///
    /// - Parameters:
    ///   - page: Folders, which have neither size nor time, and objects.
    ///   - folder: What the keys begin with and the names do not.
    ///   - stream: Where the lines go.
    ///   - hasHeading: Whether the names of the columns come first.
    static func table(
        _ page: ObjectListing.Outcome, in folder: String, on stream: TerminalStream, hasHeading: Bool
    ) -> String {
        guard !page.folders.isEmpty || !page.objects.isEmpty else { return "" }
        func name(_ key: String) -> String {
            // Some programs make an object whose key is that of the folder.
            key.utf8.count > folder.utf8.count
                ? String(decoding: key.utf8.dropFirst(folder.utf8.count), as: UTF8.self).visible : key.visible
        }
        var lines = hasHeading ? [["SIZE", "LAST-MODIFIED", "NAME"]] : []
        lines += page.folders.map { ["-", "-", name($0)] }
        lines += page.objects.map { object in
            [ByteCount.text(object.size), object.lastModified.map(Self.time) ?? "-", name(object.key)]
        }
        let text = TextGrid.text(lines, least: Self.widths)
        guard hasHeading else { return text }
        let heading = text.prefix { $0 != "\n" }
        return stream.styled(String(heading), .bold) + text[heading.endIndex...]
    }

    /// A time without fractions of a second.
    private static func time(_ text: String) -> String { text.replacing(/\.[0-9]+Z$/, with: "Z").visible }
}

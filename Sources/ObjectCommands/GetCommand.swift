import ArgumentParser
import Glibc
import LocalFiles
import ObjectClient
import Terminal

/// `sluice get`: downloads an object.
struct GetCommand: AsyncParsableCommand {
    /// The name and the text of `--help`.
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Download an object.",
        discussion: """
            The file appears when it is complete; until then FILE.sluice-part holds its
            beginning. Run the same command again after an interruption: it goes on where
            it stopped, unless the object has changed. Without '--force', a file that
            exists is never replaced, even if it appears meanwhile. The length and the MD5
            or SHA-256 are compared where the store tells them.

            \(GatewayOptions.environmentHelp)

            \(GatewayOptions.statusHelp)

            Example:
            sluice get photos/users/alice/cat.png
            """)

    @Argument(help: ArgumentHelp("Which object.", valueName: "bucket/key"))
    var address: String

    @Argument(
        help: ArgumentHelp(
            "File or directory to write to, or '-' for standard output. Default: the last part of the key.",
            valueName: "file"))
    var file: String?

    @Flag(help: "Replace a file that exists.")
    var force = false

    @OptionGroup var options: GatewayOptions

    /// Creates the command, for the parser.
    init() {}

    /// Downloads the object.
    ///
    /// - Throws: `ExitCode`, after writing the reason to standard error.
    func run() async throws {
        try await options.run { (stop) async throws(ClientFailure) in
            let object = try ObjectAddress(address)
            guard !object.isPlace else { throw .usage("'\(address)' names no object.") }
            let isStream = file == "-"
            let target = try isStream ? "-" : target(for: object)
            let client = try options.client(stop: stop)
            let bar = ProgressBar(isOn: !options.quiet && !options.json && !(isStream && isatty(STDOUT_FILENO) == 1))
            let download = ObjectDownload(client: client, memory: options.memory, stop: stop, meter: bar.meter)
            defer { bar.end() }
            let outcome =
                if isStream { try await download.fetch(object, to: .standardOutput) } else {
                    try await download.fetch(object, to: target, replaces: force)
                }
            bar.end()
            // Standard output is the object.
            guard !isStream else { return }
            try options.report(
                Told(
                    bucket: object.bucket, key: object.key, file: target, size: outcome.size, etag: outcome.etag,
                    contentType: outcome.contentType, checked: outcome.checked),
                "\(target): \(ByteCount.text(outcome.size)), "
                    + (outcome.checked == "nothing" ? "not compared" : "\(outcome.checked) agrees"))
        }
    }

    private struct Told: Encodable {
        var bucket: String
        var key: String
        var file: String
        var size: Int64
        var etag: String?
        var contentType: String?
        var checked: String
    }

    private func target(for object: ObjectAddress) throws(ClientFailure) -> String {
        guard file != "" else { throw .usage("The name of the file is empty.") }
        // A key may have a last part that a file system reads otherwise.
        guard !["", ".", ".."].contains(object.name) || file != nil else {
            throw .usage("Name a file to write to: the last part of the key cannot be the name of a file.")
        }
        var path = file ?? object.name
        if FileStatus.isDirectory(path) {
            path += (path.hasSuffix("/") ? "" : "/") + object.name
        } else if path.hasSuffix("/") {
            throw .file("There is no directory '\(path)'.")
        }
        switch try kind(of: path) {
        case .directory: throw .file("'\(path)' is a directory. Name another file.")
        case .other: throw .file("'\(path)' is not a regular file. To write to a program, use '-'.")
        case .regular, nil:
            guard force || !FileStatus.isTaken(path) else {
                throw .file("'\(path)' exists. Use '--force' to replace it, or name another file.")
            }
        }
        return path
    }

    /// The kind of the file that has a name; `nil` if there is none, or if only an attempt to write tells.
    private func kind(of path: String) throws(ClientFailure) -> FileStatus.Kind? {
        do throws(FileError) { return try FileStatus(path).kind } catch {
            guard error.number != ENAMETOOLONG else {
                throw .file("'\(path)' is too long for the name of a file. Name another file.")
            }
            return nil
        }
    }
}

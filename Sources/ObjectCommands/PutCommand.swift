import ArgumentParser
import FoundationEssentials
import ObjectClient
import Terminal

/// `sluice put`: uploads files.
struct PutCommand: AsyncParsableCommand {
    /// The name and the text of `--help`.
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Upload files.",
        discussion: """
            An address that ends with '/' names a place: the objects there get the names of
            the files. Files longer than a part are uploaded in parts. Run the same command
            again after an interruption: the parts that arrived are not sent again. What an
            interrupted upload needs is kept in $XDG_STATE_HOME/sluice/transfers
            (~/.local/state/sluice/transfers), without keys or links. '-' reads standard
            input, which is kept in a temporary file first, because its length must be
            known.

            \(GatewayOptions.environmentHelp)

            \(GatewayOptions.statusHelp)

            Examples:
            sluice put cat.png photos/users/alice/cat.png
            sluice put --recursive album photos/users/alice/
            pg_dump app | sluice put - backups/app.sql --content-type application/sql
            """)

    @Argument(
        help: ArgumentHelp("Files to upload, then the address.", valueName: "file ... bucket/key"),
        completion: .file())
    var arguments: [String]

    @Option(help: ArgumentHelp("Content type. Default: by the extension of each file.", valueName: "type"))
    var contentType: String?

    @Option(
        name: .customLong("metadata"),
        help: ArgumentHelp("Metadata of the object; repeatable.", valueName: "name=value"))
    var metadata: [String] = []

    @Flag(help: "Refuse to replace an object that exists. Only for files of one part.")
    var createOnly = false

    @Flag(name: .shortAndLong, help: "Upload directories with all files in them. Symbolic links in them are left out.")
    var recursive = false

    @Option(help: ArgumentHelp("Length of a part, such as 16M; at least 5M.", valueName: "bytes"))
    var partSize = "16M"

    @Option(help: ArgumentHelp("Number of parts that are sent at once.", valueName: "number"))
    var parallel = 4

    @Flag(help: "Give up an upload that was interrupted, and remove its parts at the store.")
    var abort = false

    @Flag(help: "Start anew instead of taking up an upload that was interrupted.")
    var restart = false

    @Flag(help: "Do not ask the gateway what arrived.")
    var noConfirm = false

    @OptionGroup var options: GatewayOptions

    /// Creates the command, for the parser.
    init() {}

    /// Checks what the parser cannot.
    func validate() throws {
        guard arguments.count >= 2 else { throw ValidationError("Name a file and an address, such as photos/cat.png.") }
        guard 1...32 ~= parallel else { throw ValidationError("'--parallel' takes a number from 1 to 32.") }
        let range = ObjectUpload.leastPartSize...(5 << 30)
        guard let size = ByteCount.number(partSize), range ~= size else {
            throw ValidationError("'--part-size' takes a size from 5M to 5G, such as 16M.")
        }
    }

    /// Uploads the files.
    ///
    /// - Throws: `ExitCode`, after writing the reason to standard error.
    func run() async throws {
        try await options.run { (stop, stage) async throws(ClientFailure) in
            let files = arguments.dropLast()
            let target = try ObjectAddress(arguments[arguments.count - 1])
            let items = try UploadList.items(Array(files), at: target, recursive: recursive)
            let client = try options.client(stop: stop)
            let bar = ProgressBar(isOn: !options.quiet && !options.json)
            defer { bar.end() }
            let meter = bar.meter
            let uploads = try items.map { (item) throws(ClientFailure) in
                ObjectUpload(
                    client: client, memory: options.memory, options: try uploadOptions(for: item), stop: stop,
                    meter: meter)
            }
            // Standard input comes alone. To give an upload up takes only the name of its file.
            let input: InputCopy? = try await !abort && items.contains(where: \.isInput) ? InputCopy(stop: stop) : nil
            // The copy is opened by its path, which exists as long as this value.
            defer { withExtendedLifetime(input) {} }
            // Of several files, none is sent if one cannot be.
            var sizes: [Int64] = []
            for (item, upload) in zip(items, uploads) where !abort {
                let file = if let input { try LocalFile(input.path) } else { try item.look() }
                try file.checkReadable()
                try upload.check(file)
                sizes.append(file.size)
            }
            for (place, (item, upload)) in zip(items, uploads).enumerated() {
                if items.count > 1 {
                    stage = .init(path: item.path, address: "\(item.address)", done: place, count: items.count)
                }
                guard !abort else {
                    try await giveUp(upload, item)
                    continue
                }
                // The file may have changed while the others were sent.
                let file = if let input { try LocalFile(input.path) } else { try item.look() }
                sizes[place] = file.size
                meter.expect(sizes.reduce(0, +))
                let outcome: ObjectUpload.Outcome
                do throws(ClientFailure) { outcome = try await upload.send(file, to: item.address) } catch {
                    throw item.isInput ? await withoutRest(error, file, item, meter) : error
                }
                bar.end()
                try tell(outcome, item)
            }
        }
    }

    private func uploadOptions(for item: UploadList.Item) throws(ClientFailure) -> ObjectUpload.Options {
        var wanted = ObjectUpload.Options(
            contentType: contentType
                ?? ContentTypes.type(of: item.isInput ? item.address.key : item.path))
        for pair in metadata {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw .usage("'--metadata \(pair)' is not of the form name=value.")
            }
            wanted.metadata[String(parts[0])] = String(parts[1])
        }
        wanted.createsOnly = createOnly
        wanted.partSize = ByteCount.number(partSize) ?? ObjectUpload.defaultPartSize
        wanted.parallel = parallel
        wanted.confirms = !noConfirm
        wanted.resumes = !restart
        return wanted
    }

    private func giveUp(_ upload: ObjectUpload, _ item: UploadList.Item) async throws(ClientFailure) {
        let end = try await upload.abort(item.path, to: item.address)
        let text =
            switch end {
            case .aborted: "aborted"
            case .completed: "nothing to abort: the upload is complete"
            case .nothing: "there is no interrupted upload of '\(item.path)'"
            }
        try options.report(
            ToldEnd(
                bucket: item.address.bucket, key: item.address.key, aborted: end == .aborted,
                completed: end == .completed),
            "\(item.address): \(text)")
    }

    private struct ToldEnd: Encodable {
        var bucket: String
        var key: String
        var aborted: Bool
        var completed: Bool
    }

    /// Removes what an upload of standard input left at the store: no later run can go on with it.
    ///
    /// - Returns: The failure that the user is told.
    private func withoutRest(
        _ failure: ClientFailure, _ file: LocalFile, _ item: UploadList.Item, _ meter: TransferMeter
    ) async -> ClientFailure {
        var isRemoved = true
        // The flag of the upload is set by the first Ctrl-C; a second one ends the process.
        let stop = StopFlag()
        do throws(ClientFailure) {
            let upload = ObjectUpload(
                client: try options.client(stop: stop), memory: options.memory, options: try uploadOptions(for: item),
                stop: stop, meter: meter)
            _ = try await upload.abort(file.path, to: item.address)
        } catch {
            isRemoved = false
        }
        guard case .stopped = failure else { return failure }
        return .stopped(
            "Interrupted. Standard input is not kept: send it again from its beginning."
                + (isRemoved ? "" : " The gateway removes the parts that have arrived when the upload expires."))
    }

    private func tell(_ outcome: ObjectUpload.Outcome, _ item: UploadList.Item) throws(ClientFailure) {
        if outcome.state == nil, !noConfirm {
            options.warn("\(item.address): the store took it, but the gateway could not confirm that")
        }
        try options.report(
            Told(
                bucket: outcome.address.bucket, key: outcome.address.key, size: outcome.size, etag: outcome.etag,
                id: outcome.id, state: outcome.state, parts: outcome.parts),
            "\(item.address): \(ByteCount.text(outcome.size))"
                + (outcome.parts.map { ", \($0) parts" } ?? "") + (outcome.state.map { ", \($0)" } ?? ""))
    }

    private struct Told: Encodable {
        var bucket: String
        var key: String
        var size: Int64
        var etag: String?
        var id: String
        var state: String?
        var parts: Int?
    }
}

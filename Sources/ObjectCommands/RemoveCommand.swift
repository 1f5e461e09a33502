import ArgumentParser
import LocalFiles
import ObjectClient
import Terminal

/// `sluice rm`: deletes objects.
struct RemoveCommand: AsyncParsableCommand {
    /// The name and the text of `--help`.
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Delete objects.",
        discussion: """
            An object that does not exist counts as deleted. In a bucket with versions, the
            newest version becomes hidden. The command asks first if a person is at a
            terminal, unless '--yes' says not to. With '--recursive', an address ends with
            '/', and all objects below it are listed and then deleted, which takes grants
            for ListObjects and DeleteObject. Markers of folders, which some programs make
            and whose keys end with '/', are refused: no grant can be for them. If an
            object is refused, the others are still deleted, and the status is that of the
            first refusal. Overload ends the command.

            \(GatewayOptions.environmentHelp)

            \(GatewayOptions.statusHelp)

            Examples:
            sluice rm photos/users/alice/cat.png
            sluice rm --recursive photos/users/alice/album/ --yes
            """)

    @Argument(help: ArgumentHelp("Which objects.", valueName: "bucket/key"))
    var addresses: [String]

    @Flag(name: .shortAndLong, help: "Delete all objects below the addresses, which end with '/'.")
    var recursive = false

    @Flag(help: "Do not ask for confirmation. Without a terminal, nothing is asked anyway.")
    var yes = false

    @OptionGroup var options: GatewayOptions

    /// Creates the command, for the parser.
    init() {}

    /// Deletes the objects.
    ///
    /// - Throws: `ExitCode`, after writing the reasons to standard error.
    func run() async throws {
        var firstRefusal: Int32?
        try await options.run { (stop, stage) async throws(ClientFailure) in
            let named = try addresses.map { (text) throws(ClientFailure) in try address(text) }
            let client = try options.client(stop: stop)
            var objects = recursive ? [] : named
            for place in recursive ? named : [] {
                stage = .init(address: "\(place)", done: 0, count: 1)
                do throws(ClientFailure) {
                    let found = try await ObjectListing(client: client, stop: stop).entries(of: place, recursive: true)
                    objects += found.objects.map { ObjectAddress(bucket: place.bucket, key: $0.key) }
                } catch {
                    guard error.concernsOneAddress else { throw error }
                    options.tell(error, at: stage)
                    firstRefusal = firstRefusal ?? error.exitCode
                }
            }
            stage = nil
            // Addresses may overlap, and keys that look alike may differ.
            var seen: Set<[UInt8]> = []
            objects = objects.filter { seen.insert(Array("\($0)".utf8)).inserted }
            try await confirm(objects, stop)
            let deletion = ObjectDeletion(client: client, stop: stop)
            var done = 0
            for object in objects {
                stage = .init(address: "\(object)", done: done, count: objects.count)
                // Nothing is sent once the end was asked for.
                guard !stop.isSet else { throw .stopped("Interrupted.") }
                do throws(ClientFailure) {
                    let id = try await deletion.delete(object)
                    done += 1
                    try options.report(Told(bucket: object.bucket, key: object.key, id: id), "\(object): deleted")
                } catch {
                    guard error.concernsOneAddress else { throw error }
                    options.tell(error, at: stage)
                    firstRefusal = firstRefusal ?? error.exitCode
                }
            }
        }
        if let firstRefusal { throw ExitCode(firstRefusal) }
    }

    private struct Told: Encodable {
        var bucket: String
        var key: String
        var id: String
    }

    private func address(_ text: String) throws(ClientFailure) -> ObjectAddress {
        let address = try ObjectAddress(text)
        switch (recursive, address.isPlace) {
        case (false, true): throw .usage("'\(text)' names no object. '--recursive' deletes all objects below it.")
        // Without its slash, the text could begin keys that nobody thinks of.
        case (true, false): throw .usage("With '--recursive', an address ends with '/': '\(text)/'.")
        default: return address
        }
    }

    /// Asks the person at a terminal, if there is anything to delete.
    private func confirm(_ objects: [ObjectAddress], _ stop: StopFlag) async throws(ClientFailure) {
        guard let first = objects.first, !yes, TerminalQuestion.isDue else { return }
        let object = objects.count == 1 ? "\(first)" : "\(objects.count) objects"
        let question = "Delete \(object)" + (recursive ? ", all below \(addresses.joined(separator: ", "))?" : "?")
        // The thread that waits for the answer must not hold up Ctrl-C.
        let outcome = await blocking(until: stop) { () -> Result<Bool, FileError> in
            Result { () throws(FileError) in try TerminalQuestion.confirms(question) }
        }
        guard let outcome, !stop.isSet else { throw .stopped("Interrupted. Nothing was deleted.") }
        switch outcome {
        case .success(true): return
        case .success(false): throw .declined("Nothing was deleted.")
        case .failure: throw .usage(TerminalQuestion.refusal)
        }
    }
}

extension ClientFailure {
    /// Whether other addresses may fare better. Without a valid key or an answer, and where the gateway or the store is
    /// overloaded or a quota used up, none does.
    fileprivate var concernsOneAddress: Bool {
        switch self {
        case .gateway(let problem, _): ![401, 429].contains(problem.status) && problem.status < 500
        case .store(let refusal, _): refusal.status != 429 && refusal.status < 500
        case .usage, .file, .unreachable, .different, .stopped, .declined: false
        }
    }
}

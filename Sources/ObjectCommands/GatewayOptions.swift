import ArgumentParser
import FoundationEssentials
import LocalFiles
import ObjectClient
import Terminal

/// The options that the commands for objects have in common.
struct GatewayOptions: ParsableArguments {
    /// The part of the help about the environment.
    static let environmentHelp = """
        SLUICE_URL names the gateway; without it, http://127.0.0.1:8080 is asked.
        SLUICE_KEY holds your API key or token, or SLUICE_KEY_FILE names a file that
        holds it. An address is BUCKET/KEY.
        """

    /// The meaning of each exit status, for `--help`.
    static let statusHelp = """
        Exit status: 0 success, 1 a file cannot be read or written, or you answered no,
        2 the request was rejected, 3 the key is not valid or no grant permits this,
        4 there is no such object, 5 the object exists already or the upload has ended,
        6 too many requests or an error in the gateway or the store, 7 no answer,
        8 what arrived differs from what was sent, 64 the command line is wrong,
        130 interrupted.
        """

    @Option(help: ArgumentHelp("The gateway; also SLUICE_URL.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("Give up a request after this many seconds without progress.", valueName: "seconds"))
    var timeout = 60

    @Option(help: ArgumentHelp("Repeat a request that failed up to this many times.", valueName: "number"))
    var retries = 5

    @Flag(help: "Print the result, and any error, as JSON.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print errors only, and what was asked for: a link or a list.")
    var quiet = false

    func validate() throws {
        guard timeout > 0 else { throw ValidationError("'--timeout' takes a number greater than 0.") }
        guard 0...100 ~= retries else { throw ValidationError("'--retries' takes a number from 0 to 100.") }
    }

    /// Makes the client. The key never comes from the command line, where other users could read it.
    func client(stop: StopFlag) throws(ClientFailure) -> GatewayClient {
        let environment = ProcessInfo.processInfo.environment
        let client = try GatewayClient(
            url: url ?? environment["SLUICE_URL"].flatMap { $0.isEmpty ? nil : $0 } ?? "http://127.0.0.1:8080",
            key: try key(environment), timeout: .seconds(timeout), retries: Retries(limit: retries, stop: stop))
        if let warning = client.warning { warn(warning) }
        return client
    }

    private func key(_ environment: [String: String]) throws(ClientFailure) -> String {
        if let key = environment["SLUICE_KEY"], !key.isEmpty { return key }
        if let file = environment["SLUICE_KEY_FILE"], !file.isEmpty {
            guard let bytes = try? OpenFile(file, for: .reading).readToEnd() else {
                throw .usage("SLUICE_KEY_FILE: '\(file)' \(FileStatus.readingFlaw(of: file) ?? "cannot be read").")
            }
            return String(decoding: bytes, as: UTF8.self).trimmed()
        }
        throw .usage("Set SLUICE_KEY to your key, or SLUICE_KEY_FILE to the name of a file that holds it.")
    }

    /// Where transfers that were interrupted are kept.
    var memory: TransferMemory { .standard(environment: ProcessInfo.processInfo.environment) }

    /// Writes a warning to standard error, which with JSON holds nothing but errors.
    func warn(_ text: String) { if !quiet, !json { writeToStandardError("warning: \(text)\n") } }

    /// Prints the result of a command: JSON, or a line for people.
    func report(_ result: some Encodable, _ line: String) throws(ClientFailure) {
        if json {
            try writeToStandardOutput(jsonLine(result))
        } else if !quiet {
            try writeToStandardOutput(line.visible + "\n")
        }
    }

    /// Runs a command, and tells its failure.
    func run(_ body: (_ stop: StopFlag) async throws(ClientFailure) -> Void) async throws {
        try await run { (stop, _) async throws(ClientFailure) in try await body(stop) }
    }

    /// Runs a command for several files or objects, and tells its failure and at which of them it was.
    func run(_ body: (_ stop: StopFlag, _ stage: inout Stage?) async throws(ClientFailure) -> Void) async throws {
        let stop = StopFlag()
        let interrupts = Interrupts { stop.set() }
        defer { interrupts.end() }
        var stage: Stage?
        do throws(ClientFailure) {
            try await body(stop, &stage)
        } catch {
            tell(error, at: stage)
            throw ExitCode(error.exitCode)
        }
    }

    /// Writes a failure to standard error, and at which file or object it was.
    func tell(_ failure: ClientFailure, at stage: Stage?) {
        if json {
            writeToStandardError(failure.document(at: stage))
        } else {
            let lines = failure.lines + (stage?.lines ?? [])
            writeToStandardError(lines.map(\.visible).joined(separator: "\n") + "\n")
        }
    }

    /// The file or object that a command for several is at.
    struct Stage: Encodable {
        /// The file, if the command sends files.
        var path: String?
        var address: String
        /// Number of files or objects that were done before.
        var done: Int
        /// Number of all files or objects.
        var count: Int

        fileprivate var lines: [String] {
            let place = path.map { "  file: \($0) for \(address)" } ?? "  object: \(address)"
            guard count > 1 else { return [place] }
            return [place, "  done before: \(done) of \(count) \(path == nil ? "objects" : "files")"]
        }
    }
}

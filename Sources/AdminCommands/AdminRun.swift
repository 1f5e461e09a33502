import ContractModel
import Foundation
import Glibc
import LibCurl

/// One run of `sluice admin`.
struct AdminRun {
    private let environment: [String: String]
    private let model: ContractModel
    private let commands: [AdminOperation]
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    init(environment: [String: String]) throws(AdminFailure) {
        self.environment = environment
        do { model = try ContractModel.embedded() } catch {
            throw .usage("The embedded API contract cannot be read: \(error.reason)")
        }
        commands = AdminOperation.all(of: model)
    }

    /// Runs the command that the arguments name.
    func run(_ arguments: [String]) throws(AdminFailure) {
        // The contract's own word is accepted too: `sluice admin storage-credentials list`.
        let words = arguments.prefix { !$0.hasPrefix("-") }.map { AdminOperation.shorter[$0] ?? $0 }
        let matching = commands.filter { $0.words.count <= words.count && words.starts(with: $0.words) }
        guard let command = matching.max(by: { $0.words.count < $1.words.count }) else {
            return try helpOnGroup(words, asked: arguments.contains { $0 == "--help" || $0 == "-h" })
        }
        let invocation = try AdminInvocation(
            Array(arguments.dropFirst(command.words.count)), of: command, model
        ) { name throws(AdminFailure) in
            String(decoding: try AdminFiles.content(name), as: UTF8.self).trimmingCharacters(in: .newlines)
        }
        guard !invocation.asksForHelp else { return print(AdminHelp(model: model).text(on: command)) }
        let client = try AdminClient(
            url: invocation.url ?? environment["SLUICE_ADMIN_URL"] ?? "http://127.0.0.1:8080", key: key(),
            timeout: invocation.timeout)
        let call = AdminCall(command: command, invocation: invocation, model: model, client: client)
        try call.run(isTerminal: isTerminal)
    }

    private func helpOnGroup(_ words: [String], asked: Bool) throws(AdminFailure) {
        let below = commands.filter { $0.words.starts(with: words) }
        guard !below.isEmpty else {
            let command = words.joined(separator: " ")
            throw .usage("There is no command 'admin \(command)'. 'sluice admin --help' lists the commands.")
        }
        let text = AdminHelp(model: model).text(on: below, all: words.isEmpty)
        guard asked || words.isEmpty else { throw .usage("A command is missing.\n\n" + text) }
        print(text)
    }

    /// Returns the bearer token. It never comes from the command line, where other users could read it.
    private func key() throws(AdminFailure) -> String {
        if let key = environment["SLUICE_ADMIN_KEY"], !key.isEmpty { return key }
        if let file = environment["SLUICE_ADMIN_KEY_FILE"], !file.isEmpty {
            let text = String(decoding: try AdminFiles.content(file), as: UTF8.self)
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        throw .usage("Set SLUICE_ADMIN_KEY to the key, or SLUICE_ADMIN_KEY_FILE to the name of a file that holds it.")
    }
}

import AdminCommands
import ArgumentParser
import Dispatch
import EventLoops
import FoundationEssentials
import LocalFiles
import Synchronization

/// `sluice complete-words`: what the scripts of `sluice completion` ask for. It prints the words that fit at the place
/// of the last one, and never an error: a shell would show it amid the line.
struct CompleteWordsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "complete-words", abstract: "Complete the last word of a command line.", shouldDisplay: false)

    /// How long the gateway may take.
    private static let patience = DispatchTimeInterval.seconds(1)

    @Argument(parsing: .captureForPassthrough, help: "The words after the program's name.")
    var words: [String] = []

    func run() {
        guard let tree = try? Sluice.tree() else { return }
        let completion = Completion(of: Array(words.first == "--" ? words.dropFirst() : words[...]), in: tree)
        let lines = completion.lines(with: Self.names(for: completion))
        if !lines.isEmpty { try? OpenFile.standardOutput.write((lines.joined(separator: "\n") + "\n").utf8) }
    }

    /// Asks the gateway. A name server that hangs would outlast the client's own time, so the thread is left behind.
    private static func names(for completion: Completion) -> [ProgramTree.Entry] {
        let environment = ProcessInfo.processInfo.environment
        guard completion.needsGateway else { return [] }
        let found = FoundNames()
        let done = DispatchSemaphore(value: 0)
        let isStarted = startThread {
            found.names.withLock { $0 = completion.askGateway(environment: environment) }
            done.signal()
        }
        guard isStarted, done.wait(timeout: .now() + patience) == .success else { return [] }
        return found.names.withLock { $0 }
    }

    private final class FoundNames: Sendable {
        let names = Mutex<[ProgramTree.Entry]>([])
    }
}

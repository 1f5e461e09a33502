import Glibc
import LocalFiles
import Terminal

/// The streams of a command, and whether a person is at them.
struct AdminScreen: Sendable {
    let output: TerminalStream
    let errors: TerminalStream
    /// Whether a person is at standard input, and has to be asked.
    let isInteractive: Bool

    init(environment: [String: String]) {
        output = TerminalStream(STDOUT_FILENO, environment: environment)
        errors = TerminalStream(STDERR_FILENO, environment: environment)
        isInteractive = TerminalQuestion.isDue
    }

    /// Writes a line to standard error, beside the answer.
    func note(_ text: String) {
        writeToStandardError(errors.styled(text.visible, .dim) + "\n")
    }
}

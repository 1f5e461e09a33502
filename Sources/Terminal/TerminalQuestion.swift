import Glibc
import LocalFiles

/// Questions to the person at a terminal.
public enum TerminalQuestion {
    /// Whether a question can be asked and answered.
    public static var isPossible: Bool { isatty(STDERR_FILENO) == 1 && isatty(STDIN_FILENO) == 1 }

    /// Asks a question on standard error, and waits for the answer. Only `y` and `yes` mean yes.
    public static func confirms(_ question: String) -> Bool {
        writeToStandardError(question.visible + " [y/N] ")
        let answer = readLine()?.lowercased().trimmed()
        return answer == "y" || answer == "yes"
    }
}

import Glibc
public import LocalFiles

/// Questions to the person at a terminal.
public enum TerminalQuestion {
    /// Whether a person is at standard input, and has to be asked.
    public static var isDue: Bool { isatty(STDIN_FILENO) == 1 }

    /// What a command says that has to ask and cannot, and therefore does nothing.
    public static let refusal = """
        You cannot be asked: standard error is not a terminal, and /dev/tty cannot be opened. '--yes' goes on without \
        a question.
        """

    /// Asks a question, and waits for the answer. Only `y` and `yes` mean yes. Where standard error is not a terminal,
    /// the question goes to `/dev/tty`.
    ///
    /// - Throws: `FileError` if nobody can see the question.
    public static func confirms(_ question: String) throws(FileError) -> Bool {
        let isSeen = isatty(STDERR_FILENO) == 1
        let screen: OpenFile = try isSeen ? .standardError : OpenFile("/dev/tty", for: .appending)
        try screen.write((question.visible + " [y/N] ").utf8)
        let answer = readLine()?.lowercased().trimmed()
        return answer == "y" || answer == "yes"
    }
}

import Glibc
public import LocalFiles

/// Questions to the person at a terminal.
public enum TerminalQuestion {
    /// Whether a person is at standard input, and has to be asked.
    public static var isDue: Bool { isatty(STDIN_FILENO) == 1 }

    /// What a command says that has to ask and cannot, and therefore does nothing.
    public static let refusal = """
        You cannot be asked: standard input or standard error is not a terminal, and /dev/tty cannot be opened. \
        '--yes' goes on without a question.
        """

    /// Asks a question, and waits for the answer. Only `y` and `yes` mean yes. Where standard error is not a terminal,
    /// the question goes to `/dev/tty`. Where standard input is not one, the answer comes from there.
    ///
    /// - Throws: `FileError` if nobody can see the question, or answer it.
    public static func confirms(_ question: String) throws(FileError) -> Bool {
        // Before the question is seen: it may not be possible to answer it.
        let keyboard: OpenFile? = try isDue ? nil : OpenFile("/dev/tty", for: .reading)
        let isSeen = isatty(STDERR_FILENO) == 1
        let screen: OpenFile = try isSeen ? .standardError : OpenFile("/dev/tty", for: .appending)
        try screen.write((question.visible + " [y/N] ").utf8)
        let line = if let keyboard { try Self.line(from: keyboard) } else { readLine() }
        let answer = line?.lowercased().trimmed()
        return answer == "y" || answer == "yes"
    }

    /// Reads a line. A terminal gives no more than that at once.
    private static func line(from terminal: OpenFile) throws(FileError) -> String? {
        var bytes: [UInt8] = []
        while !bytes.contains(UInt8(ascii: "\n")), case let piece = try terminal.read(atMost: 1024), !piece.isEmpty {
            bytes += piece
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

import Glibc

/// Standard output or standard error, and what it can show to its reader.
public struct TerminalStream: Sendable {
    /// Whether a person reads it at a terminal.
    public let isTerminal: Bool
    /// Whether colours may be used. `NO_COLOR` and the terminal `dumb` forbid them.
    let hasColours: Bool
    /// Columns of the terminal; `nil` if the stream is not one.
    public let width: Int?

    /// Describes a stream.
    ///
    /// - Parameters:
    ///   - descriptor: `STDOUT_FILENO` or `STDERR_FILENO`.
    ///   - environment: The environment. `COLUMNS` overrides the terminal's own width.
    public init(_ descriptor: Int32, environment: [String: String]) {
        self.init(
            isTerminal: isatty(descriptor) == 1, columns: Self.columns(of: descriptor), environment: environment)
    }

    /// Describes a stream, for tests.
    ///
    /// - Parameters:
    ///   - isTerminal: Whether it is a terminal.
    ///   - columns: The width that the terminal itself states; `nil` if it states none.
    ///   - environment: The environment.
    public init(isTerminal: Bool, columns: Int?, environment: [String: String]) {
        self.isTerminal = isTerminal
        hasColours = isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
        let wanted = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        width = isTerminal ? wanted ?? columns ?? 80 : nil
    }

    /// Returns the text in a style, or unchanged where there are no colours.
    public func styled(_ text: String, _ style: TerminalStyle) -> String {
        hasColours ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    private static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}

/// A style of text at a terminal.
public enum TerminalStyle: String, Sendable {
    /// Headings.
    case bold = "1"
    /// What is less important.
    case dim = "2"
    /// Errors.
    case red = "31"
}

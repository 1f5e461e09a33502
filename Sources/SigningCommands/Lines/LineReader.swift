import FoundationEssentials
import LocalFiles

/// Splits a stream into lines as they arrive. It holds at most one line.
struct LineReader {
    /// A line, or a note that one was too long and was skipped.
    enum Line: Equatable {
        case text(Data)
        case tooLong
    }

    private let maxLineBytes: Int
    private let read: () throws(FileError) -> Data
    private var pending = Data()
    private var isSkipping = false
    private var isAtEnd = false

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - maxLineBytes: Maximum length of a line, in bytes.
    ///   - read: Returns the next bytes as soon as there are some. No bytes mean the end.
    init(maxLineBytes: Int, read: @escaping () throws(FileError) -> Data) {
        self.maxLineBytes = maxLineBytes
        self.read = read
    }

    /// Returns the next line without its line feed; `nil` at the end. The last line needs no line feed.
    ///
    /// - Throws: What `read` throws.
    mutating func next() throws(FileError) -> Line? {
        var searched = 0
        while true {
            if let lineFeed = pending.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n")) {
                let line = Data(pending[..<lineFeed])
                pending = Data(pending[(lineFeed + 1)...])
                return finish(line)
            }
            if pending.count > maxLineBytes {
                isSkipping = true
                pending = Data()
            }
            searched = pending.count
            if isAtEnd {
                guard isSkipping || !pending.isEmpty else { return nil }
                let line = pending
                pending = Data()
                return finish(line)
            }
            let more = try read()
            isAtEnd = more.isEmpty
            pending.append(more)
        }
    }

    private mutating func finish(_ line: Data) -> Line {
        defer { isSkipping = false }
        return isSkipping || line.count > maxLineBytes ? .tooLong : .text(line)
    }
}

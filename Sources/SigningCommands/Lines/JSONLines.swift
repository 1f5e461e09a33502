import ArgumentParser
import FoundationEssentials
import LocalFiles
import Terminal

/// Reads one JSON object per line from standard input, and writes one answer per line to standard output.
enum JSONLines {
    /// The longest line, in bytes.
    private static let maxLineBytes = 1 << 20

    /// The answer to a line that cannot be processed.
    struct ErrorAnswer: Error, Encodable {
        /// The name in the line, if it can be read.
        let name: String?
        let error: LineFailure
    }

    /// Answers every line that is not empty, each before it reads the next.
    ///
    /// - Parameter answer: Makes the answer to a line. If it throws an error, the error is the answer, and the run
    ///   continues.
    /// - Throws: `ExitCode.failure` at the end if a line was answered with an error; ``StreamFailure`` at once.
    static func run<Answer: Encodable>(_ answer: (Data) throws(ErrorAnswer) -> Answer) throws {
        var lines = LineReader(maxLineBytes: maxLineBytes) { () throws(FileError) in
            try Data(OpenFile.standardInput.read(atMost: 1 << 16))
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var failed = false
        while let line = try next(of: &lines) {
            let json: Data
            switch result(of: line, answer) {
            case nil: continue
            case .success(let answer): json = try encoder.encode(answer)
            case .failure(let answer):
                failed = true
                json = try encoder.encode(answer)
            }
            let text = String(decoding: json, as: UTF8.self).visibleJSON + "\n"
            do { try OpenFile.standardOutput.write(text.utf8) } catch {
                throw StreamFailure(description: "Standard output cannot be written: \(error).")
            }
        }
        if failed { throw ExitCode.failure }
    }

    /// Why the input or the output ended early.
    struct StreamFailure: Error, CustomStringConvertible {
        let description: String
    }

    private static func next(of lines: inout LineReader) throws(StreamFailure) -> LineReader.Line? {
        do throws(FileError) { return try lines.next() } catch {
            throw StreamFailure(description: "Standard input cannot be read: \(error).")
        }
    }

    /// Returns the answer to a line; `nil` for an empty line.
    private static func result<Answer: Encodable>(
        of line: LineReader.Line, _ answer: (Data) throws(ErrorAnswer) -> Answer
    ) -> Result<Answer, ErrorAnswer>? {
        guard case .text(let data) = line else {
            let failure = LineFailure(code: "LineTooLong", detail: "A line may be up to \(maxLineBytes) bytes long.")
            return .failure(ErrorAnswer(name: nil, error: failure))
        }
        guard !data.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) else { return nil }
        do throws(ErrorAnswer) {
            return .success(try answer(data))
        } catch {
            return .failure(error)
        }
    }
}

import Foundation
import SystemPackage
import Testing

@testable import LineLogging

@Suite(.timeLimit(.minutes(1))) struct LogOutputTests {
    private func write(_ text: String, to output: LogOutput, isUrgent: Bool) {
        output.write(at: Date(), isUrgent: isUrgent) { bytes, _ in bytes += Array((text + "\n").utf8) }
    }

    /// Otherwise a reader that stands still would stop each loop at its first error.
    @Test func `an urgent line does not wait for a reader that stands still, and is not lost`() async throws {
        let pipe = Pipe()
        let reader = pipe.fileHandleForReading
        let output = LogOutput(FileDescriptor(rawValue: pipe.fileHandleForWriting.fileDescriptor))
        write("first", to: output, isUrgent: true)
        // An urgent line is there when the call returns.
        #expect(try reader.read(upToCount: 6) == Data("first\n".utf8))

        let large = String(repeating: "x", count: 300_000)
        write(large, to: output, isUrgent: false)
        // Once a byte is there, the writer is in its write, which cannot end: a pipe holds less.
        #expect(try reader.read(upToCount: 1) == Data("x".utf8))
        try await Task.sleep(for: .milliseconds(100))
        write("urgent", to: output, isUrgent: true)
        write("late", to: output, isUrgent: true)

        let rest = Data((large.dropFirst() + "\nurgent\nlate\n").utf8)
        let read = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try reader.read(upToCount: rest.count) })
            }
        }
        #expect(read == rest)
    }
}

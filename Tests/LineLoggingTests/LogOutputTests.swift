import Dispatch
import Figures
import Foundation
import Synchronization
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

    /// A hundred thousand bytes with its number and its line end.
    private func line(_ number: Int) -> String {
        let digits = String(number)
        return digits + String(repeating: "x", count: 99_999 - digits.utf8.count)
    }

    /// Otherwise each loop would wait in its next line, and a gateway that is told to stop would not.
    @Test func `a reader that stands still costs lines, but holds nobody up`() throws {
        let pipe = Pipe()
        defer { withExtendedLifetime(pipe) {} }
        let output = LogOutput(FileDescriptor(rawValue: pipe.fileHandleForWriting.fileDescriptor))
        let isOver = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            for number in 0..<100 { write(line(number), to: output, isUrgent: number % 10 == 0) }
            // As at the end of the process.
            output.flush()
            isOver.signal()
        }
        try #require(isOver.wait(timeout: .now() + 30) == .success)
        #expect(output.taken == 100)
        let kept = 100 - output.dropped.value
        // A megabyte waits, and a batch or two are on their way.
        #expect((11..<60).contains(kept))

        // What was not dropped arrives, in its order, once the reader goes on; so do later lines.
        let reader = pipe.fileHandleForReading
        let read = try #require(try reader.read(upToCount: kept * 100_000))
        #expect(read == Data((0..<kept).map { line($0) + "\n" }.joined().utf8))
        write("late", to: output, isUrgent: true)
        #expect(try reader.read(upToCount: 5) == Data("late\n".utf8))
        #expect(output.dropped.value == 100 - kept)
    }

    /// A megabyte takes the reader longer than the second after which one that takes nothing stands still.
    @Test func `a slow reader loses no line`() throws {
        let pipe = Pipe()
        defer { withExtendedLifetime(pipe) {} }
        let output = LogOutput(FileDescriptor(rawValue: pipe.fileHandleForWriting.fileDescriptor))
        let reader = pipe.fileHandleForReading
        let received = Mutex(Data())
        let count = 25
        let isOver = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let total = count * 100_000
            var data = Data()
            while data.count < total, let bytes = try? reader.read(upToCount: min(total - data.count, 32_768)),
                !bytes.isEmpty
            {
                data += bytes
                // The pace of the reader.
                Thread.sleep(forTimeInterval: 0.045)
            }
            received.withLock { $0 = data }
            isOver.signal()
        }
        for number in 0..<count { write(line(number), to: output, isUrgent: false) }
        output.flush()
        try #require(isOver.wait(timeout: .now() + 30) == .success)
        #expect(output.dropped.value == 0)
        let data = received.withLock { $0 }
        #expect(data == Data((0..<count).map { line($0) + "\n" }.joined().utf8))
    }
}

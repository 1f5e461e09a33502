import Foundation
import Synchronization

/// The body of an answer that is kept whole.
final class AdminKept: Sendable {
    /// No answer that comes in pages is longer.
    private static let most = 64 << 20
    private let state = Mutex<[UInt8]>([])

    var bytes: [UInt8] { state.withLock { $0 } }

    func take(_ bytes: [UInt8]) -> Bool {
        state.withLock { kept in
            guard kept.count + bytes.count <= Self.most else { return false }
            kept += bytes
            return true
        }
    }
}

/// What is left of a request's body.
final class AdminRest: Sendable {
    private let state: Mutex<ArraySlice<UInt8>>

    init(_ bytes: [UInt8]) { state = Mutex(bytes[...]) }

    func next(_ most: Int) -> [UInt8] {
        state.withLock { rest in
            defer { rest = rest.dropFirst(most) }
            return Array(rest.prefix(most))
        }
    }
}

/// How far a file has come, on standard error, for whoever looks at a terminal.
final class AdminProgress: Sendable {
    private struct State {
        var bytes: Int64 = 0
        var lines = 0
        var shown: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let verb: String
    private let total: Int64?
    private let isOn: Bool

    /// - Parameters:
    ///   - verb: `Sent` or `Received`.
    ///   - total: All bytes, where that is known.
    init(_ verb: String, total: Int64?, isOn: Bool) {
        self.verb = verb
        self.total = total
        self.isOn = isOn
    }

    func add(_ bytes: some Sequence<UInt8>) {
        guard isOn else { return }
        state.withLock { state in
            for byte in bytes {
                state.bytes += 1
                if byte == UInt8(ascii: "\n") { state.lines += 1 }
            }
            let now = ContinuousClock.now
            // The end shows at once: what follows may take its time.
            let isDue = state.shown.map { now - $0 > .milliseconds(100) } ?? true
            guard isDue || state.bytes == total else { return }
            state.shown = now
            Self.write("\r" + Self.line(verb, bytes: state.bytes, lines: state.lines, of: total) + "\u{1B}[K")
        }
    }

    /// Takes the line away.
    func end() {
        let wasShown = state.withLock { exchange(&$0.shown, with: nil) } != nil
        if wasShown { Self.write("\r\u{1B}[K") }
    }

    /// What is shown: a bar where the whole is known, else what has come.
    static func line(_ verb: String, bytes: Int64, lines: Int, of total: Int64?) -> String {
        let size = bytes.formatted(.byteCount(style: .binary))
        guard let total, total > 0 else { return "\(verb) \(size), \(lines) lines" }
        let width = 30
        let part = min(Double(bytes) / Double(total), 1)
        let done = Int(part * Double(width))
        let bar = String(repeating: "#", count: done) + String(repeating: ".", count: width - done)
        return "\(verb) [\(bar)] \(Int(part * 100)) % of \(total.formatted(.byteCount(style: .binary)))"
    }

    private static func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}

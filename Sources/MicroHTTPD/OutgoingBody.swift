import CMicroHTTPD
import HTTPServing
import Synchronization

/// The part of a streamed answer that is written but not sent yet. It is an object of its own, because most answers
/// have no such body.
///
/// - Invariant: It is touched only under the lock of the exchange's state.
final class OutgoingBody: @unchecked Sendable {
    /// If this many bytes are unsent, a writer waits.
    private static let highWater = 64 * 1_024

    private enum End {
        case open
        /// The writer has finished.
        case complete
        /// The client has disconnected, the writer threw, or the deadline has passed.
        case broken
    }

    private let length: Int64?
    private var accepted: Int64 = 0
    private var unsent: [UInt8] = []
    private var sent = 0
    private var end = End.open
    private var writer: CheckedContinuation<Void, Never>?

    init(length: Int64?) {
        self.length = length
    }

    /// Takes a piece; `false` if the writer must wait first.
    func accept(_ bytes: [UInt8]) throws -> Bool {
        guard end == .open else { throw ResponseBodyError.closed }
        guard unsent.count - sent < Self.highWater else { return false }
        accepted += Int64(bytes.count)
        if let length, accepted > length { throw ResponseBodyError.tooLong }
        if sent == unsent.count {
            unsent = bytes
            sent = 0
        } else {
            unsent.append(contentsOf: bytes)
        }
        return true
    }

    /// Makes a writer wait; `false` if there is room by now, or waiting is pointless.
    func wait(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard end == .open, unsent.count - sent >= Self.highWater else { return false }
        precondition(writer == nil, "an answer has one writer")
        writer = continuation
        return true
    }

    /// Notes that no more will be written.
    func finish(complete: Bool) {
        guard end == .open else { return }
        end = complete && (length == nil || length == accepted) ? .complete : .broken
    }

    /// Notes that nothing more will be sent. The caller resumes the waiting writer, if there is one.
    func close() -> CheckedContinuation<Void, Never>? {
        if end == .open { end = .broken }
        defer { writer = nil }
        return writer
    }

    /// Moves bytes into libmicrohttpd's buffer.
    ///
    /// - Returns: The number of bytes, 0 to wait for the writer, or one of libmicrohttpd's two values for an end.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> (Int, CheckedContinuation<Void, Never>?) {
        let count = min(buffer.count, unsent.count - sent)
        guard count > 0 else {
            switch end {
            case .open: return (0, nil)
            case .complete: return (Int(MHD_CONTENT_READER_END_OF_STREAM), nil)
            case .broken: return (Int(MHD_CONTENT_READER_END_WITH_ERROR), nil)
            }
        }
        unsafe unsent.withUnsafeBytes { source in
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[sent..<(sent + count)]))
        }
        sent += count
        if sent == unsent.count {
            unsent = []
            sent = 0
        }
        guard unsent.count - sent < Self.highWater / 2 else { return (count, nil) }
        defer { writer = nil }
        return (count, writer)
    }
}

/// Why a piece of an answer was not taken.
enum ResponseBodyError: Error {
    /// The client has disconnected or is too slow, or the server stops.
    case closed
    /// The piece exceeds the announced length.
    case tooLong
}

/// Writes the pieces of a streamed answer.
struct StreamWriter: ResponseBodyWriter {
    let exchange: Exchange

    func write(_ bytes: [UInt8]) async throws {
        while try !exchange.accept(bytes) { await exchange.waitForRoom() }
    }
}

extension Exchange {
    fileprivate func accept(_ bytes: [UInt8]) throws -> Bool {
        guard !bytes.isEmpty else { return true }
        return try state.withLock { state in
            guard !state.isComplete, try state.outgoing?.accept(bytes) == true else {
                if state.isComplete { throw ResponseBodyError.closed }
                return false
            }
            state.progress = .now
            if state.pause == .output { resume(&state) }
            return true
        }
    }

    fileprivate func waitForRoom() async {
        await withCheckedContinuation { continuation in
            let waits = state.withLock { $0.outgoing?.wait(continuation) == true }
            if !waits { continuation.resume() }
        }
    }

    func finishOutput(complete: Bool) {
        state.withLock { state in
            state.outgoing?.finish(complete: complete)
            if state.pause == .output { resume(&state) }
        }
    }

    /// Called on libmicrohttpd's thread for the next bytes of a streamed answer.
    func readOutput(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let (count, writer) = state.withLock { state -> (Int, CheckedContinuation<Void, Never>?) in
            guard let outgoing = state.outgoing else { return (Int(MHD_CONTENT_READER_END_WITH_ERROR), nil) }
            let result = unsafe outgoing.read(into: buffer)
            if result.0 == 0, !suspend(&state, for: .output) {
                return (Int(MHD_CONTENT_READER_END_WITH_ERROR), result.1)
            }
            if result.0 > 0 { state.progress = .now }
            return result
        }
        writer?.resume()
        return count
    }
}

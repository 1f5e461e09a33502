import HTTPServing
import Synchronization

/// What has arrived of a streamed body and is not read yet. An object of its own, as most requests have no such body.
///
/// - Invariant: Touched by who holds the lock of the exchange's state only.
final class IncomingBody: @unchecked Sendable {
    /// A reader that waited, and what it waited for.
    struct Reader {
        var continuation: CheckedContinuation<[UInt8]?, any Error>
        var result: Result<[UInt8]?, any Error>

        func resume() {
            continuation.resume(with: result)
        }
    }

    /// Whether the reader keeps all of it in memory.
    let isKept: Bool
    private let maxBytes: Int64
    /// Beyond this much unread, nothing more is taken from libmicrohttpd, which then reads no more from the socket.
    private let highWater: Int
    var isEnded = false
    /// The reader has asked at least once.
    var isWanted = false
    private(set) var failure: RequestBodyError?
    private var total: Int64 = 0
    private var unread: [UInt8] = []
    private var reader: CheckedContinuation<[UInt8]?, any Error>?

    init(maxBytes: Int64, highWater: Int, isKept: Bool) {
        self.maxBytes = maxBytes
        self.highWater = highWater
        self.isKept = isKept
    }

    var isFull: Bool { unread.count >= highWater }

    /// Adds bytes; what a waiting reader is to get, if there is one.
    func append(_ bytes: UnsafeRawBufferPointer) -> Reader? {
        total += Int64(bytes.count)
        guard total <= maxBytes else { return failed(.tooLarge) }
        unsafe unread.append(contentsOf: bytes)
        return takeReaderIfReady()
    }

    /// Takes no more bytes, and forgets those unread; what a waiting reader is to get, if there is one.
    func failed(_ error: RequestBodyError) -> Reader? {
        failure = error
        unread = []
        return takeReaderIfReady()
    }

    /// What the reader gets at once, `nil` where it must wait.
    func take() -> Result<[UInt8]?, any Error>? {
        if let failure { return .failure(failure) }
        if !unread.isEmpty {
            defer { unread = [] }
            return .success(unread)
        }
        return isEnded ? .success(nil) : nil
    }

    func wait(_ continuation: CheckedContinuation<[UInt8]?, any Error>) {
        precondition(reader == nil, "a request body has one reader")
        reader = continuation
    }

    func takeReaderIfReady() -> Reader? {
        guard let waiting = reader, let result = take() else { return nil }
        reader = nil
        return Reader(continuation: waiting, result: result)
    }

    /// Ends the body early; the reader that waits, if there is one, is the caller's to resume.
    func fail(_ error: RequestBodyError) -> CheckedContinuation<[UInt8]?, any Error>? {
        if !isEnded, failure == nil { failure = error }
        defer { reader = nil }
        return reader
    }

    /// Takes back the waiting reader.
    func cancel() -> CheckedContinuation<[UInt8]?, any Error>? {
        defer { reader = nil }
        return reader
    }
}

extension Exchange {
    /// The next piece of the streamed body; resumes the connection that waits for the reader.
    func nextChunk() async throws -> [UInt8]? {
        // No answer is being made meanwhile: who sends slowly takes nobody's place.
        core.runningTasks.subtract(1, ordering: .relaxed)
        defer { core.runningTasks.add(1, ordering: .relaxed) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<[UInt8]?, any Error>? in
                    guard let incoming = state.incoming else { return .success(nil) }
                    incoming.isWanted = true
                    state.progress = .now
                    let result = Task.isCancelled ? .failure(CancellationError()) : incoming.take()
                    if result == nil { incoming.wait(continuation) }
                    if state.pause == .reader || state.pause == .space { resume(&state) }
                    return result
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.incoming?.cancel() }?.resume(throwing: CancellationError())
        }
    }
}

import HTTPServing
import Synchronization

/// The part of a streamed body that has arrived but is not read yet. It is an object of its own, because most requests
/// have no such body.
///
/// - Invariant: It is touched only under the lock of the exchange's state.
final class IncomingBody: @unchecked Sendable {
    /// A reader, and what it waited for.
    struct Reader {
        var continuation: CheckedContinuation<[UInt8]?, any Error>
        var result: Result<[UInt8]?, any Error>

        func resume() {
            continuation.resume(with: result)
        }
    }

    /// Whether the reader keeps the whole body in memory.
    let isKept: Bool
    private let maxBytes: Int64
    /// If this many bytes are unread, no more are taken from libmicrohttpd, which then stops reading from the socket.
    private let highWater: Int
    var isEnded = false
    /// Whether the reader has asked at least once.
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

    /// Adds bytes. Returns the waiting reader, if there is one, and its piece.
    func append(_ bytes: UnsafeRawBufferPointer) -> Reader? {
        total += Int64(bytes.count)
        guard total <= maxBytes else { return failed(.tooLarge) }
        unsafe unread.append(contentsOf: bytes)
        return takeReaderIfReady()
    }

    /// Refuses further bytes and drops unread ones. Returns the waiting reader, if there is one, and its piece.
    func failed(_ error: RequestBodyError) -> Reader? {
        failure = error
        unread = []
        return takeReaderIfReady()
    }

    /// What the reader gets at once; `nil` if it must wait.
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

    /// Ends the body early. The caller resumes the waiting reader, if there is one.
    func fail(_ error: RequestBodyError) -> CheckedContinuation<[UInt8]?, any Error>? {
        if !isEnded, failure == nil { failure = error }
        defer { reader = nil }
        return reader
    }

    /// Removes the waiting reader.
    func cancel() -> CheckedContinuation<[UInt8]?, any Error>? {
        defer { reader = nil }
        return reader
    }
}

extension Exchange {
    /// Returns the next piece of the streamed body, and resumes a connection that waits for the reader.
    func nextChunk() async throws -> [UInt8]? {
        // A request does not count as being answered meanwhile, so slow senders take nobody's place.
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

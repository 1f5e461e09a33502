import HTTPServing
import Synchronization

/// What has arrived of a streamed body and is not read yet.
struct IncomingBody {
    /// A reader that waited, and what it waited for.
    struct Reader {
        var continuation: CheckedContinuation<[UInt8]?, any Error>
        var result: Result<[UInt8]?, any Error>

        func resume() {
            continuation.resume(with: result)
        }
    }

    /// Beyond this much unread, nothing more is taken from libmicrohttpd, which then reads no more from the socket.
    private static let highWater = 128 * 1_024

    var maxBytes: Int64 = 0
    var isEnded = false
    /// The reader has asked at least once.
    var isWanted = false
    /// Bytes that nobody was to have.
    var discarded = 0
    private(set) var failure: RequestBodyError?
    private var total: Int64 = 0
    private var unread: [UInt8] = []
    private var reader: CheckedContinuation<[UInt8]?, any Error>?

    var isFull: Bool { unread.count >= Self.highWater }

    /// Adds bytes; what a waiting reader is to get, if there is one.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Reader? {
        total += Int64(bytes.count)
        if total > maxBytes {
            failure = .tooLarge
            unread = []
        } else {
            unsafe unread.append(contentsOf: bytes)
        }
        return takeReaderIfReady()
    }

    /// What the reader gets at once, `nil` where it must wait.
    mutating func take() -> Result<[UInt8]?, any Error>? {
        if let failure { return .failure(failure) }
        if !unread.isEmpty {
            defer { unread = [] }
            return .success(unread)
        }
        return isEnded ? .success(nil) : nil
    }

    mutating func wait(_ continuation: CheckedContinuation<[UInt8]?, any Error>) {
        precondition(reader == nil, "a request body has one reader")
        reader = continuation
    }

    mutating func takeReaderIfReady() -> Reader? {
        guard let waiting = reader, let result = take() else { return nil }
        reader = nil
        return Reader(continuation: waiting, result: result)
    }

    /// Ends the body early; the reader that waits, if there is one, is the caller's to resume.
    mutating func fail(_ error: RequestBodyError) -> CheckedContinuation<[UInt8]?, any Error>? {
        if !isEnded, failure == nil { failure = error }
        defer { reader = nil }
        return reader
    }

    /// Takes back the waiting reader.
    mutating func cancel() -> CheckedContinuation<[UInt8]?, any Error>? {
        defer { reader = nil }
        return reader
    }
}

extension Exchange {
    /// The next piece of the streamed body; resumes the connection that waits for the reader.
    func nextChunk() async throws -> [UInt8]? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<[UInt8]?, any Error>? in
                    state.incoming.isWanted = true
                    state.progress = .now
                    let result = Task.isCancelled ? .failure(CancellationError()) : state.incoming.take()
                    if result == nil { state.incoming.wait(continuation) }
                    if state.pause == .reader || state.pause == .space { resume(&state) }
                    return result
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.incoming.cancel() }?.resume(throwing: CancellationError())
        }
    }
}

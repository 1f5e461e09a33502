/// An upload or a download under way. It begins when it is made, and goes on whether or not anybody waits for it.
public final class Transfer<Value: Sendable>: Sendable {
    /// How far the transfer is, as an asynchronous sequence for one reader. A slow reader gets the newest value. It
    /// ends with the transfer.
    public let progress: AsyncStream<TransferProgress>

    private let task: Task<Value, any Error>
    private let isPaused: Locked<Bool>

    init(_ work: @escaping @Sendable (TransferControl) async throws -> Value) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TransferProgress.self, bufferingPolicy: .bufferingNewest(1))
        let isPaused = Locked(false)
        progress = stream
        self.isPaused = isPaused
        task = Task {
            defer { continuation.finish() }
            return try await work(TransferControl(continuation: continuation, isPaused: isPaused))
        }
    }

    /// What the transfer results in, once it has ended. Cancelling the task that waits for it cancels the transfer.
    ///
    /// - Throws: A ``SluiceError``, an error of the file system, or a `CancellationError` after ``cancel()`` or
    ///   ``pause()``, unless the object was at the store by then.
    public var value: Value {
        get async throws {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                cancel()
            }
        }
    }

    /// Ends the transfer. An upload in parts is aborted, and the store discards them.
    public func cancel() {
        task.cancel()
    }

    /// Stops the transfer and keeps what has arrived. Once ``value`` has thrown, the same call goes on there, if the
    /// client keeps states.
    public func pause() {
        isPaused.withLock { $0 = true }
        task.cancel()
    }
}

/// How far a transfer is.
public struct TransferProgress: Sendable, Hashable {
    /// Bytes that have been sent or received. A part that has to be sent again takes its bytes back.
    public let loaded: Int64
    /// Length of the whole. Unknown for a download that is decoded on the way.
    public let total: Int64?

    /// Makes a value as a transfer tells it, for previews and tests.
    public init(loaded: Int64, total: Int64?) {
        self.loaded = loaded
        self.total = total
    }

    /// From 0 to 1. Unknown if the length is.
    public var fraction: Double? {
        total.map { $0 == 0 ? 1 : Double(loaded) / Double($0) }
    }
}

/// What the work of a transfer tells, and learns.
struct TransferControl: Sendable {
    let continuation: AsyncStream<TransferProgress>.Continuation
    let isPaused: Locked<Bool>
    private let counts = Locked<[Int: Int64]>([:])

    init(continuation: AsyncStream<TransferProgress>.Continuation, isPaused: Locked<Bool>) {
        self.continuation = continuation
        self.isPaused = isPaused
    }

    var wasPaused: Bool { isPaused.withLock { $0 } }

    /// Notes the bytes of a part, or of the whole under 0.
    func note(_ part: Int = 0, _ bytes: Int64, of total: Int64?) {
        // In the lock, so that an older value never follows a newer one.
        counts.withLock { counts in
            counts[part] = bytes
            let loaded = counts.values.reduce(0, +)
            continuation.yield(TransferProgress(loaded: total.map { min($0, loaded) } ?? loaded, total: total))
        }
    }
}

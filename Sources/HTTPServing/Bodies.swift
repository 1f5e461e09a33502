/// The body of a request.
public enum RequestBody: Sendable {
    /// The whole body, in memory.
    case collected([UInt8])
    /// The body in chunks, as it arrives.
    case stream(RequestBodyStream)
}

/// The chunks of a request's body, in order, for one reader. The server reads from the socket no faster than the reader
/// takes chunks.
public struct RequestBodyStream: AsyncSequence, Sendable {
    private let next: @Sendable () async throws -> [UInt8]?

    /// Creates a stream.
    ///
    /// - Parameter next: Returns the next chunk, which is not empty, or `nil` at the end. Throws ``RequestBodyError``
    ///   if the client is gone, too slow or sends too much.
    public init(next: @escaping @Sendable () async throws -> [UInt8]?) {
        self.next = next
    }

    /// Reads the chunks.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        let read: @Sendable () async throws -> [UInt8]?

        /// Returns the next chunk; `nil` at the end.
        public mutating func next() async throws -> [UInt8]? {
            try await read()
        }
    }

    /// Returns the reader of the stream.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(read: next)
    }
}

/// Why a streamed body ended early.
public enum RequestBodyError: Error, Sendable, Equatable {
    /// The client closed the connection or sent malformed chunks.
    case disconnected
    /// No byte arrived within the idle time.
    case timedOut
    /// The body is larger than its route permits.
    case tooLarge
    /// Bodies have used up all the memory that they may use.
    case noMemory
}

/// The body of a response.
public enum ResponseBody: Sendable {
    /// The whole body, in memory.
    case bytes([UInt8])
    /// A body that is written in pieces. It has `length` bytes, or is chunked if that is `nil`. A write waits until the
    /// client has received most of the earlier pieces, and throws if the client is gone.
    case stream(length: Int64?, @Sendable (any ResponseBodyWriter) async throws -> Void)
}

/// Receives the pieces of a streamed response.
public protocol ResponseBodyWriter: Sendable {
    /// Sends the next piece. Waits while the client is slow, and throws if the client is gone.
    func write(_ bytes: [UInt8]) async throws
}

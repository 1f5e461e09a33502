/// The body of a request.
public enum RequestBody: Sendable {
    /// The whole body, in memory.
    case collected([UInt8])
    /// The body as it arrives.
    case stream(RequestBodyStream)
}

/// The chunks of a request's body, in order. One reader; the server reads
/// from the socket no faster than it is read here.
public struct RequestBodyStream: AsyncSequence, Sendable {
    private let next: @Sendable () async throws -> [UInt8]?

    /// Makes a stream of a function that gives the next non-empty chunk, `nil` at the end, and throws
    /// ``RequestBodyError`` when the client is gone, too slow or sends too much.
    public init(next: @escaping @Sendable () async throws -> [UInt8]?) {
        self.next = next
    }

    /// Reads the chunks.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        let read: @Sendable () async throws -> [UInt8]?

        /// The next chunk, `nil` at the end.
        public mutating func next() async throws -> [UInt8]? {
            try await read()
        }
    }

    /// The reader of the stream.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(read: next)
    }
}

/// Why a streamed body ended early.
public enum RequestBodyError: Error, Sendable, Equatable {
    /// The client closed the connection, or sent malformed chunks.
    case disconnected
    /// No byte came for the idle time.
    case timedOut
    /// More bytes came than the route takes.
    case tooLarge
    /// Bodies take all the memory that they may.
    case noMemory
}

/// The body of an answer.
public enum ResponseBody: Sendable {
    /// The whole body, in memory.
    case bytes([UInt8])
    /// A body written piece by piece, of `length` bytes, or chunked where that is not known. A write waits until the
    /// client has taken most of what was written before, and throws once the client is gone.
    case stream(length: Int64?, @Sendable (any ResponseBodyWriter) async throws -> Void)
}

/// Takes the pieces of a streamed answer.
public protocol ResponseBodyWriter: Sendable {
    /// Sends the next piece; waits while the client is slow, throws when it is gone.
    func write(_ bytes: [UInt8]) async throws
}

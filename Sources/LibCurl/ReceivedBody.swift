import Synchronization

/// The body of an answer, kept in memory as it arrives.
public final class ReceivedBody: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isTooLong = false
    }

    private let limit: Int
    private let state = Mutex(State())

    /// Creates an empty body.
    ///
    /// - Parameter limit: The largest number of bytes that are kept.
    public init(atMost limit: Int) { self.limit = limit }

    /// What has arrived.
    public var bytes: [UInt8] { state.withLock { $0.bytes } }

    /// Whether more arrived than what is kept.
    public var isTooLong: Bool { state.withLock { $0.isTooLong } }

    /// Appends bytes. Returns `false`, and keeps none of them, if the body becomes too long.
    public func append(_ more: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.bytes.count + more.count <= limit else {
                state.isTooLong = true
                return false
            }
            state.bytes += more
            return true
        }
    }
}

extension StreamedTransfer.Upload {
    /// A body in memory.
    ///
    /// - Parameter isChunked: Whether it is sent in chunks, without its length.
    public static func bytes(_ bytes: [UInt8], isChunked: Bool = false) -> Self {
        let rest = UnsentBytes(bytes)
        return .stream(length: isChunked ? nil : Int64(bytes.count)) { rest.next($0) }
    }
}

private final class UnsentBytes: Sendable {
    private let state: Mutex<ArraySlice<UInt8>>

    init(_ bytes: [UInt8]) { state = Mutex(bytes[...]) }

    /// Takes the next bytes; none at the end.
    func next(_ most: Int) -> [UInt8] {
        state.withLock { rest in
            defer { rest = rest.dropFirst(most) }
            return Array(rest.prefix(most))
        }
    }
}

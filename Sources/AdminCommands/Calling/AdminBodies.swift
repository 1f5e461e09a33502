import Synchronization

/// The body of an answer, kept in memory as it arrives.
final class ReceivedBody: Sendable {
    /// The maximum number of bytes kept. No page of a list is longer.
    private static let maxBytes = 64 << 20
    private let state = Mutex<[UInt8]>([])

    var bytes: [UInt8] { state.withLock { $0 } }

    /// Appends bytes. Returns `false` if the body is too long.
    func append(_ bytes: [UInt8]) -> Bool {
        state.withLock { kept in
            guard kept.count + bytes.count <= Self.maxBytes else { return false }
            kept += bytes
            return true
        }
    }
}

/// The part of a request's body that has not been sent yet.
final class UnsentBody: Sendable {
    private let state: Mutex<ArraySlice<UInt8>>

    init(_ bytes: [UInt8]) { state = Mutex(bytes[...]) }

    /// Takes the next bytes, at most `most`. Returns none at the end.
    func next(_ most: Int) -> [UInt8] {
        state.withLock { rest in
            defer { rest = rest.dropFirst(most) }
            return Array(rest.prefix(most))
        }
    }
}

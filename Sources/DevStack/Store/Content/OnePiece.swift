import Synchronization

/// Hands out bytes once.
final class OnePiece: Sendable {
    private let bytes: Mutex<[UInt8]>

    init(_ bytes: [UInt8]) {
        self.bytes = Mutex(bytes)
    }

    /// Returns the bytes; `nil` if they are taken already, or there are none.
    func take() -> [UInt8]? {
        bytes.withLock { bytes in
            defer { bytes = [] }
            return bytes.isEmpty ? nil : bytes
        }
    }
}

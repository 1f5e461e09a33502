import CLibCrypto
import Synchronization

/// Unpredictable bytes from the system's generator.
///
/// - Throws: ``CryptoError/randomUnavailable`` when the system returns none.
public func randomBytes(count: Int) throws(CryptoError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    guard unsafe count == 0 || RAND_bytes(&bytes, Int32(count)) == 1 else { throw .randomUnavailable }
    return bytes
}

/// A pool of random bytes for many small requests. It asks the system's generator for some thousand bytes at a time.
public final class RandomPool: Sendable {
    private static let size = 4096

    private struct State {
        var bytes: [UInt8] = []
        var taken = 0
    }
    private let state = Mutex(State())

    /// Makes an empty pool.
    public init() {}

    /// Unpredictable bytes, which the pool hands out once and then forgets.
    ///
    /// - Throws: ``CryptoError/randomUnavailable`` when the system returns none.
    public func bytes(count: Int) throws(CryptoError) -> [UInt8] {
        guard count <= Self.size / 8 else { return try randomBytes(count: count) }
        return try state.withLock { state throws(CryptoError) in
            if state.bytes.count - state.taken < count { state = State(bytes: try randomBytes(count: Self.size)) }
            let range = state.taken..<(state.taken + count)
            state.taken = range.upperBound
            return unsafe state.bytes.withUnsafeMutableBufferPointer { pool in
                let bytes = unsafe UnsafeMutableBufferPointer(rebasing: pool[range])
                defer { unsafe bytes.update(repeating: 0) }
                return unsafe Array(bytes)
            }
        }
    }
}

/// Compares two byte strings in a time that depends only on their lengths.
public func constantTimeEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBufferPointer { left in
        unsafe right.withUnsafeBufferPointer { right in
            guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return true }
            return unsafe CRYPTO_memcmp(leftBase, rightBase, left.count) == 0
        }
    }
}

/// Compares two byte strings in a time that depends only on their lengths.
public func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    constantTimeEqual(left.span, right.span)
}

import CLibCrypto

/// Bytes of the system's generator that nobody can predict.
///
/// - Throws: ``CryptoError/randomUnavailable`` when the system gives none.
public func randomBytes(count: Int) throws(CryptoError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    guard unsafe count == 0 || RAND_bytes(&bytes, Int32(count)) == 1 else { throw .randomUnavailable }
    return bytes
}

/// Compares two byte strings in a time that depends on their lengths alone.
public func constantTimeEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBufferPointer { left in
        unsafe right.withUnsafeBufferPointer { right in
            guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return true }
            return unsafe CRYPTO_memcmp(leftBase, rightBase, left.count) == 0
        }
    }
}

/// Compares two byte strings in a time that depends on their lengths alone.
public func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    constantTimeEqual(left.span, right.span)
}

import Glibc

extension String {
    /// Whether both texts are the same bytes: `==` takes canonical equivalents for the same, too.
    ///
    /// Not for secrets that somebody guesses at: it ends with the first difference.
    @inlinable
    public func isSameBytes(as other: String) -> Bool {
        let same = unsafe utf8.withContiguousStorageIfAvailable { left in
            unsafe other.utf8.withContiguousStorageIfAvailable { right in unsafe left.isSameBytes(as: right) }
        }
        return (same ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}

extension UnsafeBufferPointer<UInt8> {
    @usableFromInline
    func isSameBytes(as other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count, let left = baseAddress, let right = other.baseAddress else {
            return isEmpty && other.isEmpty
        }
        return unsafe left == right || memcmp(left, right, count) == 0
    }
}

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

    /// Whether a text is these bytes. Not for secrets that somebody guesses at.
    @inlinable
    public func isSameBytes(as bytes: Span<UInt8>) -> Bool {
        guard utf8.count == bytes.count else { return false }
        return unsafe bytes.withUnsafeBufferPointer { right in
            let same = unsafe utf8.withContiguousStorageIfAvailable { unsafe $0.isSameBytes(as: right) }
            return unsafe same ?? utf8.elementsEqual(right)
        }
    }

    /// Whether there is no control character below U+0020 in it and neither of two other characters of ASCII.
    @inlinable
    public func isFree(ofControlsAnd first: UInt8, _ second: UInt8) -> Bool {
        let isFree = unsafe utf8.withContiguousStorageIfAvailable { bytes in
            unsafe bytes.isFree(ofControlsAnd: first, second)
        }
        return isFree ?? !utf8.contains { $0 < 0x20 || $0 == first || $0 == second }
    }

    /// Whether both texts are the same bytes where the other is known to be ASCII, which costs less.
    ///
    /// A text with more than ASCII that is canonically equivalent to one without has more bytes.
    @inlinable
    public func isSame(asASCII other: String) -> Bool {
        self == other && utf8.count == other.utf8.count
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

    @usableFromInline
    func isFree(ofControlsAnd first: UInt8, _ second: UInt8) -> Bool {
        var flaws: UInt8 = 0
        for index in indices {
            let byte = unsafe self[index]
            flaws |= (byte < 0x20 ? 1 : 0) | (byte == first ? 1 : 0) | (byte == second ? 1 : 0)
        }
        return flaws == 0
    }
}

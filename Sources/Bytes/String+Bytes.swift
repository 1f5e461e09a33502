import Glibc

extension String {
    /// Makes a text from bytes that are known to be ASCII, without a check.
    public init(ascii bytes: Span<UInt8>) {
        self.init(copying: unsafe UTF8Span(unchecked: bytes, isKnownASCII: true))
    }

    /// Whether both texts consist of the same bytes. `==` also equates canonically equivalent texts.
    ///
    /// Not suitable for secrets, because it stops at the first difference.
    @inlinable
    public func isSameBytes(as other: String) -> Bool {
        let same = unsafe utf8.withContiguousStorageIfAvailable { left in
            unsafe other.utf8.withContiguousStorageIfAvailable { right in unsafe left.isSameBytes(as: right) }
        }
        return (same ?? nil) ?? utf8.elementsEqual(other.utf8)
    }

    /// Whether a text consists of these bytes. Not suitable for secrets, because it stops at the first difference.
    @inlinable
    public func isSameBytes(as bytes: Span<UInt8>) -> Bool {
        guard utf8.count == bytes.count else { return false }
        return unsafe bytes.withUnsafeBufferPointer { right in
            let same = unsafe utf8.withContiguousStorageIfAvailable { unsafe $0.isSameBytes(as: right) }
            return unsafe same ?? utf8.elementsEqual(right)
        }
    }

    /// Whether this text sorts before another one in PostgreSQL's collation "C", which compares bytes.
    @inlinable
    public func precedesInBytes(_ other: String) -> Bool {
        let precedes = unsafe utf8.withContiguousStorageIfAvailable { left in
            unsafe other.utf8.withContiguousStorageIfAvailable { right in unsafe left.precedesInBytes(right) }
        }
        return (precedes ?? nil) ?? utf8.lexicographicallyPrecedes(other.utf8)
    }

    /// Whether the text contains neither control characters below U+0020 nor two given ASCII characters.
    public func isFree(ofControlsAnd first: UInt8, _ second: UInt8) -> Bool {
        let isFree = unsafe utf8.withContiguousStorageIfAvailable { bytes in
            unsafe bytes.span.firstIndex(ofControlsAnd: first, second) == bytes.count
        }
        return isFree ?? !utf8.contains { $0 < 0x20 || $0 == first || $0 == second }
    }

    /// Whether both texts consist of the same bytes, if the other one is known to be ASCII. This is faster.
    ///
    /// A text beyond ASCII that is canonically equivalent to an ASCII text has more bytes.
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
    func precedesInBytes(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let left = baseAddress, let right = other.baseAddress else { return count < other.count }
        let order = unsafe memcmp(left, right, Swift.min(count, other.count))
        return order == 0 ? count < other.count : order < 0
    }
}

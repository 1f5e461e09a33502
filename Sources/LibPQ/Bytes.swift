import Glibc

extension Span<UInt8> {
    /// The bytes as one big-endian number; `nil` where their count is not the number's size.
    @inline(__always)
    func bigEndian<Integer: FixedWidthInteger>() -> Integer? {
        guard count == MemoryLayout<Integer>.size else { return nil }
        return unsafe withUnsafeBytes { bytes in
            unsafe Integer(bigEndian: bytes.loadUnaligned(as: Integer.self))
        }
    }

    func copied() -> [UInt8] {
        unsafe withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// The bytes as text; `nil` where they are not UTF-8.
    func utf8String() -> String? {
        unsafe withUnsafeBufferPointer { unsafe String(validating: $0, as: UTF8.self) }
    }
}

/// A place in a payload that is being read.
struct PayloadCursor {
    private var offset = 0

    func remaining(in payload: Span<UInt8>) -> Int { payload.count - offset }

    mutating func int32(in payload: Span<UInt8>) -> Int32? {
        guard let range = take(4, in: payload) else { return nil }
        return payload.extracting(range).bigEndian()
    }

    /// The range of the next bytes; `nil` where the payload ends before.
    mutating func take(_ length: Int, in payload: Span<UInt8>) -> Range<Int>? {
        guard length >= 0, length <= remaining(in: payload) else { return nil }
        defer { offset += length }
        return offset..<(offset + length)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Writes a number into the first bytes.
    @inline(__always)
    func storeBigEndian<Integer: FixedWidthInteger>(_ value: Integer, at offset: Int = 0) {
        unsafe storeBytes(of: value.bigEndian, toByteOffset: offset, as: Integer.self)
    }
}

extension String {
    /// Whether a text comes before another one as PostgreSQL's collation "C" orders them, which is by bytes.
    public func precedesInBytes(_ other: String) -> Bool {
        unsafe withContiguousBytes { left in
            unsafe other.withContiguousBytes { right in
                let common = min(left.count, right.count)
                guard let ours = left.baseAddress, let theirs = right.baseAddress, common > 0 else {
                    return left.count < right.count
                }
                let order = unsafe memcmp(ours, theirs, common)
                return order == 0 ? left.count < right.count : order < 0
            }
        }
    }

    /// Whether two texts have the same bytes; `==` takes canonically equivalent ones for one.
    public func equalsInBytes(_ other: String) -> Bool {
        unsafe withContiguousBytes { left in
            unsafe other.withContiguousBytes { right in
                guard left.count == right.count else { return false }
                guard let ours = left.baseAddress, let theirs = right.baseAddress else { return true }
                return unsafe ours == theirs || memcmp(ours, theirs, left.count) == 0
            }
        }
    }

    /// Lends the text's UTF-8.
    @inline(__always)
    func withContiguousBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = unsafe utf8.withContiguousStorageIfAvailable(body) { return result }
        // No string of Swift's own comes here.
        return unsafe Array(utf8).withUnsafeBufferPointer(body)
    }
}

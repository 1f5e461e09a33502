extension [UInt8] {
    @inline(__always)
    mutating func appendBigEndian<Integer: FixedWidthInteger>(_ value: Integer) {
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe append(contentsOf: $0) }
    }

    @inline(__always)
    mutating func replaceBigEndian(at offset: Int, with value: Int32) {
        self[offset] = UInt8(truncatingIfNeeded: value >> 24)
        self[offset + 1] = UInt8(truncatingIfNeeded: value >> 16)
        self[offset + 2] = UInt8(truncatingIfNeeded: value >> 8)
        self[offset + 3] = UInt8(truncatingIfNeeded: value)
    }

    /// Makes room without giving up geometric growth, as an exact reservation per value would.
    mutating func reserve(additional: Int) {
        let needed = count + additional
        if needed > capacity { reserveCapacity(Swift.max(needed, capacity * 2)) }
    }
}

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

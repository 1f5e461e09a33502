extension [UInt8] {
    @inline(__always)
    mutating func appendBigEndian<Integer: FixedWidthInteger>(_ value: Integer) {
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe append(contentsOf: $0) }
    }

    /// Adds so many bytes, all of which `fill` writes.
    @inline(__always)
    mutating func append<Failure: Error>(
        _ additional: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let start = count
        reserve(additional: additional)
        append(contentsOf: repeatElement(0, count: additional))
        var span = mutableSpan
        try unsafe span.withUnsafeMutableBytes { buffer throws(Failure) in
            try unsafe fill(UnsafeMutableRawBufferPointer(rebasing: buffer[start...]))
        }
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

extension UnsafeMutableRawBufferPointer {
    /// Writes a number into the first bytes.
    @inline(__always)
    func storeBigEndian<Integer: FixedWidthInteger>(_ value: Integer, at offset: Int = 0) {
        unsafe storeBytes(of: value.bigEndian, toByteOffset: offset, as: Integer.self)
    }
}

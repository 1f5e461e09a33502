extension Span<UInt8> {
    /// Returns the bytes as one big-endian number; `nil` if their count differs from the number's size.
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

    /// Returns the bytes as text; `nil` if they are not UTF-8.
    func utf8String() -> String? {
        unsafe withUnsafeBufferPointer { unsafe String(validating: $0, as: UTF8.self) }
    }
}

/// A position in a payload that is being read.
struct PayloadCursor {
    private var offset = 0

    func remaining(in payload: Span<UInt8>) -> Int { payload.count - offset }

    mutating func int32(in payload: Span<UInt8>) -> Int32? {
        guard let range = take(4, in: payload) else { return nil }
        return payload.extracting(range).bigEndian()
    }

    /// Returns the range of the next bytes and moves past them; `nil` if the payload ends before.
    mutating func take(_ length: Int, in payload: Span<UInt8>) -> Range<Int>? {
        guard length >= 0, length <= remaining(in: payload) else { return nil }
        defer { offset += length }
        return offset..<(offset + length)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Writes a number at an offset.
    @inline(__always)
    func storeBigEndian<Integer: FixedWidthInteger>(_ value: Integer, at offset: Int = 0) {
        unsafe storeBytes(of: value.bigEndian, toByteOffset: offset, as: Integer.self)
    }
}

extension String {
    /// Calls a function with the text's UTF-8 bytes.
    @inline(__always)
    func withContiguousBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = unsafe utf8.withContiguousStorageIfAvailable(body) { return result }
        // Native Swift strings never reach this line.
        return unsafe Array(utf8).withUnsafeBufferPointer(body)
    }
}

/// Appends many bytes at once, which the standard library's type does not support yet.
extension OutputSpan where Element == UInt8 {
    /// Appends bytes. The output needs room for them.
    @inlinable
    @inline(__always)
    public mutating func append(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(copying: $0) }
    }

    /// Appends bytes. The output needs room for them.
    @inlinable
    public mutating func append(copying bytes: [UInt8]) {
        append(copying: bytes.span)
    }

    /// Appends a text. The output needs room for it.
    @inlinable
    public mutating func append(copying text: String) {
        let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe append(copying: $0) }
        // Only strings from another language's runtime have no contiguous bytes.
        if isDone == nil { for byte in text.utf8 { append(byte) } }
    }

    /// Appends a literal. The output needs room for it.
    @inlinable
    public mutating func append(copying text: StaticString) {
        unsafe append(copying: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inlinable
    @inline(__always)
    mutating func append(copying bytes: UnsafeBufferPointer<UInt8>) {
        precondition(bytes.count <= freeCapacity, "There is no room for so many bytes")
        guard let source = bytes.baseAddress else { return }
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            guard let base = buffer.baseAddress else { return }
            unsafe (base + count).initialize(from: source, count: bytes.count)
            count += bytes.count
        }
    }

    /// Appends the bytes of a number as they lie in memory. The output needs room for them.
    @inline(__always)
    mutating func append(inMemory number: some FixedWidthInteger) {
        let size = MemoryLayout.size(ofValue: number)
        precondition(size <= freeCapacity, "There is no room for so many bytes")
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            unsafe UnsafeMutableRawBufferPointer(buffer).storeBytes(
                of: number, toByteOffset: count, as: type(of: number))
            count += size
        }
    }

    /// Appends a number in decimal. The output needs room for it: at most ``decimalRoom`` bytes.
    public mutating func append(decimal value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var digits = 1
        var bound: UInt64 = 10
        while digits < 19, rest >= bound {
            digits += 1
            bound *= 10
        }
        precondition(digits <= freeCapacity, "There is no room for so many digits")
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            guard let base = buffer.baseAddress else { return }
            count += digits
            var place = unsafe base + count
            while digits >= 2 {
                let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
                unsafe place -= 2
                unsafe UnsafeMutableRawPointer(place).storeBytes(of: Self.digits(of: pair), as: UInt16.self)
                rest = quotient
                digits -= 2
            }
            if digits == 1 { unsafe place[-1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest) }
        }
    }

    /// Appends a number from 0 to 99 as two digits in decimal. The output needs room for them.
    public mutating func append(twoDigits value: Int) {
        precondition(0...99 ~= value, "The number has more digits")
        append(inMemory: Self.digits(of: UInt64(truncatingIfNeeded: value)))
    }

    /// The two digits of a number below 100, as they lie in memory.
    @inline(__always)
    private static func digits(of value: UInt64) -> UInt16 {
        let (tens, ones) = value.quotientAndRemainder(dividingBy: 10)
        return UInt16(truncatingIfNeeded: tens << 8 | ones | 0x3030).bigEndian
    }

    /// Maximum length of a number in decimal, including its sign.
    public static var decimalRoom: Int { 20 }

    /// Appends a copy of bytes that were appended before. The output needs room for them.
    public mutating func append(copyingFrom range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "There are not so many bytes")
        precondition(range.count <= freeCapacity, "There is no room for so many bytes")
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            guard let base = buffer.baseAddress else { return }
            unsafe (base + count).initialize(from: base + range.lowerBound, count: range.count)
            count += range.count
        }
    }

    /// Overwrites appended bytes, beginning at `start`.
    @inlinable
    public mutating func overwrite(from start: Int, with bytes: Span<UInt8>) {
        precondition(start >= 0 && bytes.count <= count - start, "There are not so many bytes")
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let source = source.baseAddress else { return }
            unsafe withUnsafeMutableBufferPointer { buffer, _ in
                guard let base = buffer.baseAddress else { return }
                unsafe (base + start).update(from: source, count: bytes.count)
            }
        }
    }

    /// Removes bytes at the beginning. The following bytes move up.
    public mutating func removeFirst(_ number: Int) {
        precondition(0...count ~= number, "There are not so many bytes")
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            guard let base = buffer.baseAddress else { return }
            unsafe base.update(from: base + number, count: count - number)
            count -= number
        }
    }
}

extension String {
    /// Makes a text from the bytes that `fill` writes, without a copy. The output has room for `room` bytes.
    @inlinable
    public init(room: Int, fill: (inout OutputSpan<UInt8>) -> Void) {
        unsafe self.init(unsafeUninitializedCapacity: room) { buffer in
            var output = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
            fill(&output)
            return unsafe output.finalize(for: buffer)
        }
    }
}

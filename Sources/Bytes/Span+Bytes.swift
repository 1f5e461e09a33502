extension Span where Element == UInt8 {
    /// Whether every byte is greater than an ASCII limit. It checks eight bytes at a time.
    public func isAbove(_ limit: UInt8) -> Bool {
        precondition(limit < 0x7F, "Only bytes of ASCII are looked for")
        guard count >= 8 else {
            for index in indices where self[index] <= limit { return false }
            return true
        }
        var found: UInt64 = 0
        var place = 0
        while true {
            let eight = eight(at: place)
            // The top bit is set for bytes that are too small, but not for bytes beyond ASCII.
            found |= (eight &- Self.each &* UInt64(limit + 1)) & ~eight
            if place == count - 8 { break }
            place = Swift.min(place + 8, count - 8)
        }
        return found & Self.top == 0
    }

    /// Whether all bytes are letters, digits or of `-._~/`, which RFC 3986 does not encode in a path. It checks eight
    /// bytes at a time.
    public var isPlainPath: Bool {
        guard count >= 8 else {
            // The last, incomplete group is filled up with a letter.
            var bytes = UInt64(UInt8(ascii: "a")) &* Self.each
            for index in indices { bytes = bytes << 8 | UInt64(self[index]) }
            return Self.arePlain(bytes)
        }
        var place = 0
        while Self.arePlain(eight(at: place)) {
            if place == count - 8 { return true }
            place = Swift.min(place + 8, count - 8)
        }
        return false
    }

    /// Returns the index of the first byte that a quoted text cannot have as it is: a control character below U+0020,
    /// one of two given ASCII characters and, if asked for, a byte beyond ASCII. Returns `count` if there is none. It
    /// checks eight bytes at a time.
    ///
    /// - Parameter start: The index of the first byte to look at.
    public func firstIndex(
        ofControlsAnd first: UInt8, _ second: UInt8, orBeyondASCII countsBeyondASCII: Bool = false, from start: Int = 0
    ) -> Int {
        // A byte becomes zero where it is the one that is looked for, and only a zero borrows from the byte above. What
        // it borrows from may be taken for a byte that is looked for, too; it comes after one that is found.
        @inline(__always) func marks(_ eight: UInt64) -> UInt64 {
            func equal(_ byte: UInt8) -> UInt64 {
                let difference = eight ^ (Self.each &* UInt64(byte))
                return (difference &- Self.each) & ~difference
            }
            let controls = (eight &- Self.each &* 0x20) & ~eight
            return (controls | equal(first) | equal(second) | (countsBeyondASCII ? eight : 0)) & Self.top
        }
        var place = start
        while place + 8 <= count {
            let found = marks(UInt64(littleEndian: eight(at: place)))
            if found != 0 { return place + found.trailingZeroBitCount / 8 }
            place += 8
        }
        guard place < count else { return count }
        if start + 8 <= count {
            // The last eight bytes, of which some were looked at before.
            let found = marks(UInt64(littleEndian: eight(at: count - 8)))
            return found == 0 ? count : count - 8 + found.trailingZeroBitCount / 8
        }
        while place < count {
            let byte = self[place]
            if byte < 0x20 || byte == first || byte == second || countsBeyondASCII && byte >= 0x80 { break }
            place += 1
        }
        return place
    }

    private static var each: UInt64 { 0x0101_0101_0101_0101 }
    private static var top: UInt64 { 0x8080_8080_8080_8080 }

    @inline(__always)
    private func eight(at place: Int) -> UInt64 {
        unsafe bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self)
    }

    @inline(__always)
    private static func arePlain(_ eight: UInt64) -> Bool {
        // The top bit of each byte tells whether the byte lies between the first and the last one, provided that the
        // top bit was not set before.
        func isIn(_ bytes: UInt64, _ first: UInt8, _ last: UInt8) -> UInt64 {
            (bytes &+ each &* UInt64(0x80 - first)) & ~(bytes &+ each &* UInt64(0x7F - last))
        }
        let isPlain =
            isIn(eight | each &* 0x20, UInt8(ascii: "a"), UInt8(ascii: "z"))
            | isIn(eight, UInt8(ascii: "-"), UInt8(ascii: "9"))
            | isIn(eight, UInt8(ascii: "_"), UInt8(ascii: "_"))
            | isIn(eight, UInt8(ascii: "~"), UInt8(ascii: "~"))
        return (isPlain & ~eight) & top == top
    }

    /// Whether every byte is an ASCII letter or digit, or one of some marks. It checks many bytes at a time.
    public func isAlphanumeric(or marks: SIMD4<UInt8>) -> Bool {
        unsafe withUnsafeBufferPointer { bytes in
            var flaws: UInt8 = 0
            for index in bytes.indices {
                let byte = unsafe bytes[index]
                let isLetter: UInt8 = (byte | 0x20) &- UInt8(ascii: "a") < 26 ? 1 : 0
                let isDigit: UInt8 = byte &- UInt8(ascii: "0") < 10 ? 1 : 0
                let isMark: UInt8 =
                    (byte == marks[0] ? 1 : 0) | (byte == marks[1] ? 1 : 0) | (byte == marks[2] ? 1 : 0)
                    | (byte == marks[3] ? 1 : 0)
                flaws |= (isLetter | isDigit | isMark) ^ 1
            }
            return flaws == 0
        }
    }
}

/// A set of ASCII bytes, one bit for each.
public struct ByteSet: Sendable {
    @usableFromInline let low: UInt64
    @usableFromInline let high: UInt64

    /// Makes the set of the bytes whose bits are set: 0 to 63 in `low`, 64 to 127 in `high`.
    ///
    /// Sets that requests need are written as bits, so that using them neither computes nor initialises anything.
    @inlinable
    public init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// Makes the set of the characters of a text.
    public init(_ characters: String) {
        var bits: (low: UInt64, high: UInt64) = (0, 0)
        for byte in characters.utf8 {
            precondition(byte < 128, "Only bytes of ASCII are in a set")
            if byte < 64 { bits.low |= 1 << UInt64(byte) } else { bits.high |= 1 << UInt64(byte - 64) }
        }
        (low, high) = bits
    }

    /// The set with further characters.
    public func union(_ characters: String) -> ByteSet {
        let other = ByteSet(characters)
        return ByteSet(low: low | other.low, high: high | other.high)
    }

    /// Whether a byte is in the set. Bytes beyond ASCII are in none.
    @inlinable
    public func contains(_ byte: UInt8) -> Bool {
        byte < 128 && ((byte < 64 ? low : high) >> UInt64(byte & 63)) & 1 == 1
    }
}

extension ByteSet {
    /// `0-9`.
    @inlinable public static var digits: ByteSet {
        ByteSet(low: 0x03FF_0000_0000_0000, high: 0)
    }

    /// The lower-case digits of hexadecimal text, `0-9 a-f`.
    @inlinable public static var lowerHexDigits: ByteSet {
        ByteSet(low: 0x03FF_0000_0000_0000, high: 0x0000_007E_0000_0000)
    }

    /// `A-Z a-z 0-9`.
    @inlinable public static var alphanumeric: ByteSet {
        ByteSet(low: 0x03FF_0000_0000_0000, high: 0x07FF_FFFE_07FF_FFFE)
    }

    /// `a-z 0-9`.
    @inlinable public static var lowerAlphanumeric: ByteSet {
        ByteSet(low: 0x03FF_0000_0000_0000, high: 0x07FF_FFFE_0000_0000)
    }

    /// The ASCII characters that are seen: neither controls nor the space.
    @inlinable public static var visible: ByteSet {
        ByteSet(low: 0xFFFF_FFFE_0000_0000, high: 0x7FFF_FFFF_FFFF_FFFF)
    }

    /// The visible ASCII characters and the space.
    @inlinable public static var printable: ByteSet {
        ByteSet(low: 0xFFFF_FFFF_0000_0000, high: 0x7FFF_FFFF_FFFF_FFFF)
    }

    /// What a token may contain, such as the name of a header field (RFC 9110, section 5.6.2).
    @inlinable public static var token: ByteSet {
        ByteSet(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)
    }

    /// `A-Z a-z 0-9 - . _ ~`, which percent-encoding keeps (RFC 3986, section 2.3).
    @inlinable public static var unreserved: ByteSet {
        ByteSet(low: 0x03FF_6000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    }

    /// What percent-encoding keeps of a path, where `/` separates segments.
    @inlinable public static var unreservedAndSlash: ByteSet {
        ByteSet(low: 0x03FF_E000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    }

    /// What a path may contain, encoded or not (RFC 3986, section 3.3), and the `%` of an encoded byte.
    @inlinable public static var path: ByteSet {
        ByteSet(low: 0x2FFF_FFF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFF)
    }
}

extension UInt8 {
    /// The byte, or the lower-case letter of `A-Z`.
    @inlinable
    public var lowercased: UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self ? self | 0x20 : self
    }
}

/// The part of DER (ITU-T X.690) in which libcrypto reads signatures.
enum DER {
    /// A sequence of two numbers, which are big-endian and shorter than 124 bytes.
    static func pair(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> [UInt8] {
        let content = number(first) + number(second)
        let length = UInt8(content.count)
        return (length < 0x80 ? [0x30, length] : [0x30, 0x81, length]) + content
    }

    /// A number without superfluous zeros, and with one zero where the first bit would make it negative.
    private static func number(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return [0x02, UInt8(digits.count)] + digits
    }
}

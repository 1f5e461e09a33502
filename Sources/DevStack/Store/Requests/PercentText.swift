import Bytes

/// The store's own percent-encoding (RFC 3986, section 2.1), separate from the signer's.
enum PercentText {
    /// Decodes each `%XX` once; `nil` if a `%` has no two hexadecimal digits after it.
    static func decode(_ text: some Sequence<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
        var decoded: [UInt8] = []
        var rest = text.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(Hex.value(of:)), let low = rest.next().flatMap(Hex.value(of:))
                else { return nil }
                decoded.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: decoded.append(0x20)
            default: decoded.append(byte)
            }
        }
        return decoded
    }

    /// Decodes a text; `nil` if the escapes are malformed or the bytes are not UTF-8.
    static func text(_ text: some Sequence<UInt8>, plusIsSpace: Bool) -> String? {
        decode(text, plusIsSpace: plusIsSpace).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Encodes every byte except letters, digits, `-._~`, and `/` if wanted.
    static func encode(_ bytes: some Sequence<UInt8>, keepingSlashes: Bool = false) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.append(byte)
            case UInt8(ascii: "/") where keepingSlashes: encoded.append(byte)
            default: encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Splits and decodes `name=value&…`, in order; `nil` if a part is empty or malformed.
    static func pairs(_ text: some Collection<UInt8>) -> [(name: String, value: String)]? {
        guard !text.isEmpty else { return [] }
        var pairs: [(name: String, value: String)] = []
        for part in text.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let sides = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = sides.first, let name = Self.text(first, plusIsSpace: true), !name.isEmpty,
                let value = sides.count == 2 ? Self.text(sides[1], plusIsSpace: true) : ""
            else { return nil }
            pairs.append((name, value))
        }
        return pairs
    }
}

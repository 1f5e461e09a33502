import Bytes

extension JSONReader {
    /// Reads a string or a member name, and adds its place.
    mutating func string() throws(JSONError) {
        let start = position + 1
        // The first byte that is not an unescaped ASCII character.
        let end = bytes.span.firstIndex(
            ofControlsAnd: UInt8(ascii: "\""), UInt8(ascii: "\\"), orBeyondASCII: true, from: start)
        if end < bytes.count, bytes[end] == UInt8(ascii: "\"") {
            position = end + 1
            return found(.plainString, from: start, to: end)
        }
        position = start
        _ = try unescaped()
        found(.string, from: start, to: position - 1)
    }

    /// Reads the rest of a string after its opening quote.
    mutating func unescaped() throws(JSONError) -> String {
        var start = position
        var text = ""
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                let tail = String(decoding: bytes[start..<position], as: UTF8.self)
                position += 1
                return text.isEmpty ? tail : text + tail
            case UInt8(ascii: "\\"):
                text += String(decoding: bytes[start..<position], as: UTF8.self)
                position += 1
                text.unicodeScalars.append(try escape())
                start = position
            case 0..<0x20:
                throw flawHere("A control character in a string must be escaped")
            default:
                position += 1
            }
        }
        throw flawHere("The JSON text ends early")
    }

    private mutating func escape() throws(JSONError) -> Unicode.Scalar {
        guard let byte = next else { throw flawHere("The JSON text ends early") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try escapedScalar()
        default: throw flawHere("An unknown escape")
        }
    }

    private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
        let unit = try hexUnit()
        guard unit != 0 else { throw flawHere("U+0000 is not allowed") }
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard UTF16.isLeadSurrogate(UInt16(unit)), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")),
            case let trail = try hexUnit(), UTF16.isTrailSurrogate(UInt16(trail)),
            let scalar = Unicode.Scalar(0x10000 + ((unit - 0xd800) << 10) + (trail - 0xdc00))
        else { throw flawHere("An unpaired surrogate") }
        return scalar
    }

    private mutating func hexUnit() throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw flawHere("Four hexadecimal digits were expected")
            }
            unit = unit << 4 | UInt32(digit)
            position += 1
        }
        return unit
    }
}

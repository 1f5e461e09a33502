/// The bytes of a text in PEM (RFC 7468, section 3), in lines that libcrypto reads.
///
/// GnuTLS, which reads the files of a server, also takes what libcrypto does not: a label in the middle of a line, as
/// where the end of the line was missing between two files that were joined, lines that are indented, and lines that
/// end with CR alone.
func linesOfPEM(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    let label = Array("-----BEGIN ".utf8)
    var lines: [UInt8] = []
    lines.reserveCapacity(bytes.count + 64)
    var isAtStart = true
    for index in bytes.indices {
        let byte = bytes[index]
        switch byte {
        case UInt8(ascii: "\n") where index > 0 && bytes[index - 1] == UInt8(ascii: "\r"): continue
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
            lines.append(UInt8(ascii: "\n"))
            isAtStart = true
        case UInt8(ascii: " ") where isAtStart, UInt8(ascii: "\t") where isAtStart: continue
        default:
            if !isAtStart, byte == label[0], bytes[index...].starts(with: label) { lines.append(UInt8(ascii: "\n")) }
            lines.append(byte)
            isAtStart = false
        }
    }
    return lines
}

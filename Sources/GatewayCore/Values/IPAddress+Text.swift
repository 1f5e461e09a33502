import Bytes

extension IPNetwork: CustomStringConvertible {
    /// The network as text, such as `192.0.2.0/24`; the address alone if it is the only one.
    public var description: String {
        prefixLength == base.width ? base.description : "\(base)/\(prefixLength)"
    }
}

extension IPAddress: CustomStringConvertible {
    /// The address as text: `192.0.2.1`, or the canonical text of version 6 (RFC 5952, section 4).
    public var description: String {
        isV4
            ? stride(from: 24, through: 0, by: -8).map { String(bits >> UInt128($0) & 0xff) }.joined(separator: ".")
            : version6Text
    }

    /// Appends ``description``. The output needs room for it: at most 45 bytes.
    public func append(to output: inout OutputSpan<UInt8>) {
        guard isV4 else { return output.append(copying: version6Text) }
        for shift in stride(from: 24, through: 0, by: -8) {
            output.append(decimal: Int64(truncatingIfNeeded: bits >> UInt128(shift) & 0xff))
            if shift > 0 { output.append(UInt8(ascii: ".")) }
        }
    }

    /// The network that one subscriber usually has: the address itself in version 4, the first 64 bits in version 6.
    public var subscriber: String {
        isV4 ? description : String(bits >> 64, radix: 16)
    }

    private var version6Text: String {
        let groups = stride(from: 112, through: 0, by: -16).map { UInt16(truncatingIfNeeded: bits >> UInt128($0)) }
        let zeros = Self.longestZeros(in: groups)
        func text(_ part: some Sequence<UInt16>) -> String {
            part.map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard zeros.count > 1 else { return text(groups) }
        return text(groups[..<zeros.lowerBound]) + "::" + text(groups[zeros.upperBound...])
    }

    /// The longest run of zeros, the first one of equal runs.
    private static func longestZeros(in groups: [UInt16]) -> Range<Int> {
        var longest = 0..<0
        var start = 0
        for index in groups.indices {
            if groups[index] != 0 {
                start = index + 1
            } else if index + 1 - start > longest.count {
                longest = start..<index + 1
            }
        }
        return longest
    }
}

import Bytes

/// An IP address of version 4 or 6. An IPv4-mapped IPv6 address counts as the IPv4 address.
public struct IPAddress: Sendable, Hashable {
    /// Whether the address is of version 4.
    let isV4: Bool
    // Two halves instead of one `UInt128`, which would raise the memory alignment of every type that contains an
    // address.
    private let high: UInt64
    private let low: UInt64

    /// The address as a number: 32 bits for version 4, 128 bits for version 6.
    var bits: UInt128 { UInt128(high) << 64 | UInt128(low) }

    /// Number of bits in an address of this version.
    var width: Int { isV4 ? 32 : 128 }

    /// Reads `192.0.2.1` or `2001:db8::1`; `nil` for any other text, including one with a zone, brackets or leading
    /// zeros.
    public init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8.prefix(Self.maxTextBytes))
        guard bytes.count == text.utf8.count else { return nil }
        self.init(bytes: bytes)
    }

    /// Reads a whole string in the same form. This runs once per request, so version 4 is read without a copy.
    public init?(_ text: String) {
        let utf8 = text.utf8
        guard utf8.count <= Self.maxTextBytes else { return nil }
        if let bits = Self.version4(utf8.span) {
            self.init(isV4: true, bits: UInt128(bits))
        } else {
            self.init(bytes: Array(utf8))
        }
    }

    private static let maxTextBytes = 46

    private init?(bytes: [UInt8]) {
        if let bits = Self.version4(bytes.span) {
            self.init(isV4: true, bits: UInt128(bits))
        } else if let bits = Self.version6(bytes) {
            self.init(version6: bits)
        } else {
            return nil
        }
    }

    private init(isV4: Bool, bits: UInt128) {
        self.isV4 = isV4
        high = UInt64(truncatingIfNeeded: bits >> 64)
        low = UInt64(truncatingIfNeeded: bits)
    }

    private init(version6 bits: UInt128) {
        let isMapped = bits >> 32 == 0xffff
        self.init(isV4: isMapped, bits: isMapped ? bits & 0xffff_ffff : bits)
    }

    private static func version4(_ bytes: Span<UInt8>) -> UInt32? {
        var bits: UInt32 = 0
        var dots = 0
        var number: UInt32 = 0
        var digits = 0
        for index in bytes.indices {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "."):
                guard digits > 0, dots < 3 else { return nil }
                bits = bits << 8 | number
                (dots, number, digits) = (dots + 1, 0, 0)
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                // A leading zero must not precede another digit.
                guard digits == 0 || number > 0 else { return nil }
                number = number * 10 + UInt32(byte - UInt8(ascii: "0"))
                digits += 1
                guard number <= 255 else { return nil }
            default: return nil
            }
        }
        return dots == 3 && digits > 0 ? bits << 8 | number : nil
    }

    private static func version6(_ bytes: [UInt8]) -> UInt128? {
        let colon = UInt8(ascii: ":")
        guard let gap = bytes.indices.dropLast().first(where: { bytes[$0] == colon && bytes[$0 + 1] == colon }) else {
            guard let groups = groups(bytes[...], isTail: true), groups.count == 8 else { return nil }
            return number(groups)
        }
        guard let head = groups(bytes[..<gap], isTail: false), let tail = groups(bytes[(gap + 2)...], isTail: true),
            head.count + tail.count <= 7, !(head.isEmpty && gap > 0)
        else { return nil }
        return number(head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail)
    }

    private static func groups(_ bytes: ArraySlice<UInt8>, isTail: Bool) -> [UInt16]? {
        guard !bytes.isEmpty else { return [] }
        var groups: [UInt16] = []
        let parts = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if isTail, index == parts.count - 1, let address = version4(part.span) {
                groups += [UInt16(truncatingIfNeeded: address >> 16), UInt16(truncatingIfNeeded: address)]
                continue
            }
            guard 1...4 ~= part.count, part.allSatisfy({ $0 != UInt8(ascii: "+") }),
                let group = UInt16(String(decoding: part, as: UTF8.self), radix: 16)
            else { return nil }
            groups.append(group)
        }
        return groups
    }

    private static func number(_ groups: [UInt16]) -> UInt128 {
        groups.reduce(0) { $0 << 16 | UInt128($1) }
    }
}

/// A block of IP addresses in CIDR notation.
public struct IPNetwork: Sendable, Hashable {
    let base: IPAddress
    let prefixLength: Int

    /// Reads `10.0.0.0/8`, `2001:db8::/32` or a single address; `nil` for any other text, including one with bits set
    /// after the prefix.
    public init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard let address = IPAddress(parts[0]) else { return nil }
        var length = address.width
        if parts.count == 2 {
            let digits = parts[1].utf8
            guard 1...3 ~= digits.count, digits.allSatisfy(ByteSet.digits.contains),
                digits.count == 1 || digits.first != UInt8(ascii: "0"), let stated = Int(parts[1])
            else { return nil }
            // A mapped address has become an IPv4 address, so its first 96 bits no longer count.
            length = address.isV4 && parts[0].utf8.contains(UInt8(ascii: ":")) ? stated - 96 : stated
        }
        guard 0...address.width ~= length else { return nil }
        let freeBits = address.width - length
        guard freeBits == 128 ? address.bits == 0 : (address.bits >> freeBits) << freeBits == address.bits else {
            return nil
        }
        base = address
        prefixLength = length
    }

    /// Whether an address lies in this block. An address of the other version never does.
    public func contains(_ address: IPAddress) -> Bool {
        guard address.isV4 == base.isV4 else { return false }
        let freeBits = base.width - prefixLength
        return freeBits == 128 || address.bits >> freeBits == base.bits >> freeBits
    }
}

public import FoundationEssentials

extension UUID {
    /// Creates a UUID of version 7 (RFC 9562, section 5.7): 48 bits of time and 74 random bits.
    ///
    /// - Parameters:
    ///   - date: The time, rounded down to milliseconds; times before 1970 count as 1970.
    ///   - randomBytes: At least 10 bytes; missing bytes count as zero.
    public static func version7(at date: Date, randomBytes: [UInt8]) -> UUID {
        let milliseconds = UInt64(max(0, date.timeIntervalSince1970 * 1000))
        func time(_ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: milliseconds >> shift) }
        func random(_ index: Int) -> UInt8 { index < randomBytes.count ? randomBytes[index] : 0 }
        return UUID(
            uuid: (
                time(40), time(32), time(24), time(16), time(8), time(0), 0x70 | random(0) & 0x0f, random(1),
                0x80 | random(2) & 0x3f, random(3), random(4), random(5), random(6), random(7), random(8), random(9)
            )
        )
    }
}

extension UUID {
    /// The time in a UUID of version 7, in whole milliseconds.
    public var version7Instant: Date {
        let id = uuid
        let milliseconds = [id.0, id.1, id.2, id.3, id.4, id.5].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// Whether two UUIDs of version 7 agree in everything except their time.
    public func hasSameTag(as other: UUID) -> Bool {
        let (left, right) = (uuid, other.uuid)
        return left.6 == right.6 && left.7 == right.7 && left.8 == right.8 && left.9 == right.9
            && left.10 == right.10 && left.11 == right.11 && left.12 == right.12 && left.13 == right.13
            && left.14 == right.14 && left.15 == right.15
    }

    func hasTag(of bytes: [UInt8]) -> Bool {
        hasSameTag(as: .version7(at: Date(timeIntervalSince1970: 0), randomBytes: bytes))
    }
}

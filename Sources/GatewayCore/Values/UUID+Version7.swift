public import Foundation

extension UUID {
    /// Makes a UUID of version 7 (RFC 9562, section 5.7): 48 bits of time, 74 random bits.
    ///
    /// - Parameters:
    ///   - date: The time, from 1970 on, kept to the millisecond.
    ///   - randomBytes: At least 10 bytes; missing ones count as zero.
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

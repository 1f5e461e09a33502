/// A cyclic redundancy check whose bits are reflected, and whose register is inverted before and after.
struct CyclicRedundancyCheck: Sendable {
    /// What differs between the checks.
    struct Parameters: Sendable {
        let byteCount: Int
        /// For each byte, what it changes in the register.
        let table: [UInt64]

        private init(byteCount: Int, polynomial: UInt64) {
            self.byteCount = byteCount
            table = (0..<256).map { index in
                (0..<8).reduce(UInt64(index)) { value, _ in value & 1 == 1 ? polynomial ^ (value >> 1) : value >> 1 }
            }
        }

        /// CRC-32 as in Ethernet and gzip (ISO 3309).
        static let crc32 = Parameters(byteCount: 4, polynomial: 0xEDB8_8320)
        /// CRC-32C (RFC 3720, appendix B.4).
        static let crc32c = Parameters(byteCount: 4, polynomial: 0x82F6_3B78)
        /// CRC-64/NVME (NVM Express, NVM Command Set Specification, section 5.2.1.3.4).
        static let crc64nvme = Parameters(byteCount: 8, polynomial: 0x9A6C_9329_AC4B_C9B5)
    }

    private let parameters: Parameters
    private var register: UInt64

    /// Begins with no bytes.
    init(_ parameters: Parameters) {
        self.parameters = parameters
        register = parameters.byteCount == 8 ? .max : 0xFFFF_FFFF
    }

    /// Adds the next bytes.
    mutating func update(_ bytes: [UInt8]) {
        var register = register
        let table = parameters.table
        for byte in bytes { register = table[Int((register ^ UInt64(byte)) & 0xFF)] ^ (register >> 8) }
        self.register = register
    }

    /// The check so far, the highest byte first.
    var bytes: [UInt8] {
        (0..<parameters.byteCount).reversed().map { UInt8(truncatingIfNeeded: ~register >> (8 * $0)) }
    }
}

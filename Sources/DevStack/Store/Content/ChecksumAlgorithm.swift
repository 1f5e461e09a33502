import LibCrypto

/// The checksums that clients of S3 send with an upload, and that a download tells back.
///
/// - SeeAlso: Amazon S3 User Guide, "Checking object integrity".
enum ChecksumAlgorithm: String, Sendable, CaseIterable {
    case crc32, crc32c, crc64nvme, sha1, sha256

    /// The name of the header without the vendor's prefix.
    var name: String { "checksum-" + rawValue }

    /// The name of the header.
    var header: String { StoreDialect.s3.headerPrefix + name }

    /// The length of a checksum.
    var byteCount: Int {
        switch self {
        case .crc32, .crc32c: 4
        case .crc64nvme: 8
        case .sha1: 20
        case .sha256: 32
        }
    }

    /// The names of all headers, without the vendor's prefix.
    static let names = Set(allCases.map(\.name))
}

/// A checksum of bytes that arrive in pieces.
enum RunningChecksum: Sendable {
    case digest(IncrementalDigest)
    case redundancy(CyclicRedundancyCheck)

    /// Begins with no bytes.
    init(_ algorithm: ChecksumAlgorithm) {
        self =
            switch algorithm {
            case .crc32: .redundancy(.init(.crc32))
            case .crc32c: .redundancy(.init(.crc32c))
            case .crc64nvme: .redundancy(.init(.crc64nvme))
            case .sha1: .digest(.init(.sha1))
            case .sha256: .digest(.init(.sha256))
            }
    }

    /// Adds the next bytes.
    mutating func update(_ bytes: [UInt8]) {
        switch self {
        case .digest(var digest):
            digest.update(bytes)
            self = .digest(digest)
        case .redundancy(var check):
            check.update(bytes)
            self = .redundancy(check)
        }
    }

    /// The checksum of all bytes. Call it once.
    mutating func finish() -> [UInt8] {
        switch self {
        case .digest(var digest): digest.finalize().bytes
        case .redundancy(let check): check.bytes
        }
    }
}

import Bytes
import LibCrypto

/// Receives a body piece by piece and holds it against the claims.
struct ContentCheck {
    private let claims: ContentClaims
    private var chunks: ChunkDecoder?
    private var md5 = IncrementalDigest(.md5)
    private var checksums: [ChecksumAlgorithm: RunningChecksum] = [:]
    private(set) var byteCount: Int64 = 0

    /// What was computed.
    struct Result {
        let byteCount: Int64
        /// In hexadecimal.
        let md5: String
        /// Those that the client claimed, in base64, by the names of their headers.
        let checksums: [String: String]
    }

    /// Begins with no bytes.
    ///
    /// - Parameter seed: What verifies the chunks, where they have signatures.
    /// - Throws: ``StoreError/notImplemented(_:)`` for chunks that have signatures that nothing verifies.
    init(_ claims: ContentClaims, seed: ChunkSeed? = nil) throws(StoreError) {
        self.claims = claims
        var algorithms = Set(claims.checksums.keys)
        switch claims.payload {
        case .plain(let digest): if digest != nil { algorithms.insert(.sha256) }
        case .chunks(let areSigned, _):
            guard areSigned == (seed != nil) else {
                throw .notImplemented("Chunks have signatures only where the request has an Authorization header.")
            }
            chunks = ChunkDecoder(seed)
        }
        if let trailer = claims.trailer { algorithms.insert(trailer) }
        for algorithm in algorithms { checksums[algorithm] = RunningChecksum(algorithm) }
    }

    /// Adds the next bytes.
    ///
    /// - Returns: The content in them, which is all of them unless the body is in chunks.
    /// - Throws: ``StoreError`` as soon as there are too many.
    @discardableResult
    mutating func add(_ bytes: [UInt8]) throws(StoreError) -> [UInt8] {
        var content = bytes
        if let decoded = try chunks?.decode(bytes) { content = decoded }
        byteCount += Int64(content.count)
        guard byteCount <= claims.maxBytes else {
            throw claims.byteCount == nil ? .entityTooLarge(maxBytes: claims.maxBytes) : .incompleteBody
        }
        md5.update(content)
        for algorithm in checksums.keys { checksums[algorithm]?.update(content) }
        return content
    }

    /// Compares the whole with the claims.
    mutating func finish() throws(StoreError) -> Result {
        guard claims.byteCount == nil || claims.byteCount == byteCount, chunks?.isDone ?? true else {
            throw .incompleteBody
        }
        let digest = md5.finalize()
        guard claims.md5 == nil || claims.md5 == digest.bytes else { throw .badDigest("Content-MD5") }
        let after = try trailer()
        var told: [String: String] = [:]
        var sha256: [UInt8]?
        for algorithm in ChecksumAlgorithm.allCases {
            guard let bytes = checksums[algorithm]?.finish() else { continue }
            if algorithm == .sha256 { sha256 = bytes }
            let claimed = [claims.checksums[algorithm], after[algorithm]].compactMap { $0 }
            guard !claimed.isEmpty else { continue }
            guard claimed.allSatisfy({ $0 == bytes }) else { throw .badDigest(algorithm.rawValue.uppercased()) }
            told[algorithm.header] = Base64.encode(bytes)
        }
        if case .plain(let signed?) = claims.payload, sha256.map({ Hex.encode($0) }) != signed {
            throw .payloadMismatch
        }
        return Result(byteCount: byteCount, md5: digest.hex, checksums: told)
    }

    /// The checksum after the last chunk.
    private func trailer() throws(StoreError) -> [ChecksumAlgorithm: [UInt8]] {
        let received = chunks?.trailers ?? [:]
        guard let algorithm = claims.trailer else {
            guard received.isEmpty else { throw .malformedTrailer }
            return [:]
        }
        guard received.count == 1, let text = received[algorithm.header], let bytes = Base64.decode(text),
            bytes.count == algorithm.byteCount
        else { throw .malformedTrailer }
        return [algorithm: bytes]
    }
}

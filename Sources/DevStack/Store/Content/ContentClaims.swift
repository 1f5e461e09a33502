import HTTPServing
import LibCrypto

/// What a client said about the bytes of a body, to be compared with the bytes.
struct ContentClaims: Sendable {
    /// The exact length; `nil` if it is not known before the end.
    let byteCount: Int64?
    /// The most bytes that are taken.
    let maxBytes: Int64
    let md5: [UInt8]?
    let sha1: [UInt8]?
    let sha256: [UInt8]?
    let crc32: [UInt8]?
    /// The digest that the signature binds, in hexadecimal.
    let signedSHA256: String?

    /// No claims.
    static let none = ContentClaims(maxBytes: .max)

    /// Claims only that a body has at most some bytes.
    init(maxBytes: Int64) {
        byteCount = nil
        self.maxBytes = maxBytes
        (md5, sha1, sha256, crc32, signedSHA256) = (nil, nil, nil, nil, nil)
    }

    /// Reads the claims of a request.
    ///
    /// - Throws: ``StoreError`` for a missing or too large length, and for digests that are not well formed.
    init(_ headers: RequestFields, maxBytes: Int64) throws(StoreError) {
        signedSHA256 = try Self.signed(headers)
        guard let text = headers["content-length"], text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
            let length = Int64(text)
        else { throw .missingContentLength }
        guard length <= maxBytes else { throw .entityTooLarge(maxBytes: maxBytes) }
        byteCount = length
        self.maxBytes = length
        md5 = try headers["content-md5"].map { text throws(StoreError) in
            guard let digest = Base64.decode(text), digest.count == 16 else { throw .invalidDigest }
            return digest
        }
        sha256 = try Self.checksum("sha256", 32, headers)
        sha1 = try Self.checksum("sha1", 20, headers)
        crc32 = try Self.checksum("crc32", 4, headers)
    }

    /// Reads the claims in the fields of a form.
    init(form fields: [String: String], maxBytes: Int64) throws(StoreError) {
        byteCount = nil
        self.maxBytes = maxBytes
        md5 = try fields["content-md5"].map { text throws(StoreError) in
            guard let digest = Base64.decode(text), digest.count == 16 else { throw .invalidDigest }
            return digest
        }
        sha256 = try Self.checksum("sha256", 32, RequestFields(form: fields, dialect: .s3))
        (sha1, crc32, signedSHA256) = (nil, nil, nil)
    }

    /// Reads the claims about a document in a body, whose length the server has checked. The checksums of a completion
    /// are those of the object, not of the body.
    init(bodyOf headers: RequestFields) throws(StoreError) {
        byteCount = nil
        maxBytes = .max
        signedSHA256 = try Self.signed(headers)
        md5 = try headers["content-md5"].map { text throws(StoreError) in
            guard let digest = Base64.decode(text), digest.count == 16 else { throw .invalidDigest }
            return digest
        }
        (sha1, sha256, crc32) = (nil, nil, nil)
    }

    private static func checksum(
        _ name: String, _ byteCount: Int, _ headers: RequestFields
    ) throws(StoreError) -> [UInt8]? {
        guard headers.dialect == .s3, let text = headers["x-amz-checksum-\(name)"] else { return nil }
        guard let digest = Base64.decode(text), digest.count == byteCount else {
            throw .invalidRequest("Value for x-amz-checksum-\(name) header is invalid.")
        }
        return digest
    }

    private static func signed(_ headers: RequestFields) throws(StoreError) -> String? {
        guard let payload = headers[vendor: "content-sha256"], payload != "UNSIGNED-PAYLOAD" else { return nil }
        guard payload.utf8.count == 64, Hex.decode(payload) != nil else {
            throw .notImplemented("This store does not decode payloads.")
        }
        return payload.lowercased()
    }
}

/// Receives a body piece by piece and holds it against the claims.
struct ContentCheck {
    private let claims: ContentClaims
    private var md5 = IncrementalDigest(.md5)
    private var sha1: IncrementalDigest?
    private var sha256: IncrementalDigest?
    private var crc32 = CRC32()
    private(set) var byteCount: Int64 = 0

    /// What was computed.
    struct Result {
        let byteCount: Int64
        /// In hexadecimal.
        let md5: String
        /// In base64, if the client claimed one.
        let sha256: String?
    }

    /// Begins with no bytes.
    init(_ claims: ContentClaims) {
        self.claims = claims
        if claims.sha1 != nil { sha1 = IncrementalDigest(.sha1) }
        if claims.sha256 != nil || claims.signedSHA256 != nil { sha256 = IncrementalDigest(.sha256) }
    }

    /// Adds the next bytes.
    ///
    /// - Throws: ``StoreError`` as soon as there are too many.
    mutating func add(_ bytes: [UInt8]) throws(StoreError) {
        byteCount += Int64(bytes.count)
        guard byteCount <= claims.maxBytes else {
            throw claims.byteCount == nil ? .entityTooLarge(maxBytes: claims.maxBytes) : .incompleteBody
        }
        md5.update(bytes)
        sha1?.update(bytes)
        sha256?.update(bytes)
        if claims.crc32 != nil { crc32.update(bytes) }
    }

    /// Compares the whole with the claims.
    mutating func finish() throws(StoreError) -> Result {
        guard claims.byteCount == nil || claims.byteCount == byteCount else { throw .incompleteBody }
        let digest = md5.finalize()
        let sha1 = sha1?.finalize()
        let sha256 = sha256?.finalize()
        guard claims.md5 == nil || claims.md5 == digest.bytes else { throw .badDigest("Content-MD5") }
        guard claims.sha256 == nil || claims.sha256 == sha256?.bytes else { throw .badDigest("SHA256") }
        guard claims.sha1 == nil || claims.sha1 == sha1?.bytes else { throw .badDigest("SHA1") }
        guard claims.crc32 == nil || claims.crc32 == crc32.bytes else { throw .badDigest("CRC32") }
        guard claims.signedSHA256 == nil || claims.signedSHA256 == sha256?.hex else { throw .payloadMismatch }
        return Result(
            byteCount: byteCount, md5: digest.hex, sha256: claims.sha256 == nil ? nil : sha256?.base64)
    }
}

/// CRC-32 as in Ethernet and gzip (ISO 3309), which SDKs of AWS send.
struct CRC32 {
    private var state: UInt32 = .max

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }

    /// Adds the next bytes.
    mutating func update(_ bytes: [UInt8]) {
        for byte in bytes { state = Self.table[Int((state ^ UInt32(byte)) & 0xFF)] ^ (state >> 8) }
    }

    /// The checksum so far: 4 bytes, the highest first.
    var bytes: [UInt8] {
        let value = ~state
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}

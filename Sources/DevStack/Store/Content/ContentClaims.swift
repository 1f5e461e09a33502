import Bytes

/// What a client said about the bytes of a body, to be compared with the bytes.
struct ContentClaims: Sendable {
    /// The exact length; `nil` if it is not known before the end.
    private(set) var byteCount: Int64?
    /// The most bytes that are taken.
    private(set) var maxBytes: Int64
    private(set) var md5: [UInt8]?
    private(set) var checksums: [ChecksumAlgorithm: [UInt8]] = [:]
    /// The checksum that follows the last chunk.
    private(set) var trailer: ChecksumAlgorithm?
    private(set) var payload = PayloadForm.plain(signedSHA256: nil)

    /// No claims.
    static let none = ContentClaims(maxBytes: .max)

    /// Claims only that a body has at most some bytes.
    init(maxBytes: Int64) { self.maxBytes = maxBytes }

    /// Reads the claims of a request.
    ///
    /// - Throws: ``StoreError`` for a missing or too large length, and for digests that are not well formed.
    init(_ headers: RequestFields, maxBytes: Int64) throws(StoreError) {
        payload = try PayloadForm(headers)
        let text = headers[payload.isChunked ? "x-amz-decoded-content-length" : "content-length"] ?? ""
        guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let length = Int64(text) else {
            throw .missingContentLength
        }
        guard length <= maxBytes else { throw .entityTooLarge(maxBytes: maxBytes) }
        byteCount = length
        self.maxBytes = length
        md5 = try Self.md5(headers)
        checksums = try Self.checksums(headers)
        trailer = try Self.trailer(headers, payload)
    }

    /// Reads the claims in the fields of a form.
    init(form headers: RequestFields, maxBytes: Int64) throws(StoreError) {
        self.maxBytes = maxBytes
        md5 = try Self.md5(headers)
        checksums = try Self.checksums(headers)
    }

    /// Reads the claims about a document in a body, whose length the server has checked.
    ///
    /// - Parameter holdsChecksums: Whether the headers hold checksums of the document. Those of a completion are of the
    ///   object.
    init(documentOf headers: RequestFields, holdsChecksums: Bool) throws(StoreError) {
        maxBytes = .max
        payload = try PayloadForm(headers)
        guard !payload.isChunked else { throw .notImplemented("This store takes documents as they are.") }
        md5 = try Self.md5(headers)
        if holdsChecksums { checksums = try Self.checksums(headers) }
    }

    /// Reads the claims about an object that is put together from parts. A checksum of the checksums of the parts is
    /// not one of the object.
    init(wholeOf headers: RequestFields) throws(StoreError) {
        maxBytes = .max
        if headers["x-amz-checksum-type"] == "FULL_OBJECT" { checksums = try Self.checksums(headers) }
    }

    private static func md5(_ headers: RequestFields) throws(StoreError) -> [UInt8]? {
        guard let text = headers["content-md5"] else { return nil }
        guard let digest = Base64.decode(text), digest.count == 16 else { throw .invalidDigest }
        return digest
    }

    private static func checksums(_ headers: RequestFields) throws(StoreError) -> [ChecksumAlgorithm: [UInt8]] {
        var checksums: [ChecksumAlgorithm: [UInt8]] = [:]
        guard headers.dialect == .s3 else { return checksums }
        for algorithm in ChecksumAlgorithm.allCases {
            guard let text = headers[algorithm.header] else { continue }
            guard let bytes = Base64.decode(text), bytes.count == algorithm.byteCount else {
                throw .invalidRequest("Value for \(algorithm.header) header is invalid.")
            }
            checksums[algorithm] = bytes
        }
        guard checksums.count <= 1 else {
            throw .invalidRequest("Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.")
        }
        return checksums
    }

    private static func trailer(
        _ headers: RequestFields, _ payload: PayloadForm
    ) throws(StoreError) -> ChecksumAlgorithm? {
        guard case .chunks(_, hasTrailer: true) = payload else {
            guard headers["x-amz-trailer"] == nil else { throw .malformedTrailer }
            return nil
        }
        let name = headers["x-amz-trailer"]?.lowercased()
        guard let algorithm = ChecksumAlgorithm.allCases.first(where: { $0.header == name }) else {
            throw .malformedTrailer
        }
        return algorithm
    }
}

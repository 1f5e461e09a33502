import HTTPTypes
import LibCrypto
import Signing

/// The parsed headers of an upload. They are checked before the first byte of the body is read.
struct PutRequest: Sendable {
    /// Maximum total length of the names and values of user metadata, in bytes.
    static let maxMetadataBytes = 2048

    let byteCount: Int64
    let md5: [UInt8]?
    let sha256: [UInt8]?
    let onlyIfAbsent: Bool
    /// Headers that are stored with the object.
    let fields: [ObjectRecord.Field]

    /// Parses the headers.
    ///
    /// - Throws: ``StoreError``; if there are several errors, the one that S3 reports first.
    init(_ headers: RequestFields, maxBytes: Int64) throws(StoreError) {
        try Self.refuseUnknown(headers)
        guard let length = headers["content-length"].flatMap({ Int64($0) }), length >= 0 else {
            throw .missingContentLength
        }
        guard length <= maxBytes else { throw .entityTooLarge(maxBytes: maxBytes) }
        byteCount = length
        md5 = try headers["content-md5"].map { text throws(StoreError) in
            guard let digest = Base64.decode(text), digest.count == 16 else { throw .invalidDigest }
            return digest
        }
        sha256 = try headers["x-amz-checksum-sha256"].map { text throws(StoreError) in
            guard let digest = Base64.decode(text), digest.count == 32 else {
                throw .invalidRequest("Value for x-amz-checksum-sha256 header is invalid.")
            }
            return digest
        }
        onlyIfAbsent =
            try headers["if-none-match"].map { text throws(StoreError) in
                guard text == "*" else { throw .notImplemented("If-None-Match takes only * in an upload.") }
                return true
            } ?? false
        fields = headers.pairs.filter { Self.isKept($0.name) }.map {
            ObjectRecord.Field(name: $0.name, value: $0.value)
        }
        let metadata = fields.filter { $0.name.hasPrefix(Self.metadataPrefix) }
        let metadataBytes = metadata.reduce(0) {
            $0 + $1.name.utf8.count - Self.metadataPrefix.utf8.count + $1.value.utf8.count
        }
        guard metadataBytes <= Self.maxMetadataBytes else { throw .metadataTooLarge }
    }

    private static let metadataPrefix = "x-amz-meta-"
    private static let keptNames: Set<String> = [
        "cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires",
    ]
    /// Headers that clients send but that request nothing, or nothing that would not be done anyway.
    private static let knownNames: Set<String> = [
        "x-amz-checksum-sha256", "x-amz-content-sha256", "x-amz-date", "x-amz-sdk-checksum-algorithm",
        "x-amz-user-agent",
    ]

    private static func isKept(_ name: String) -> Bool {
        keptNames.contains(name) || name.hasPrefix(metadataPrefix)
    }

    private static func refuseUnknown(_ headers: RequestFields) throws(StoreError) {
        for header in headers.pairs where header.name.hasPrefix("x-amz-") {
            guard knownNames.contains(header.name) || header.name.hasPrefix(metadataPrefix) else {
                throw .notImplemented("This store does not know the header \(header.name).")
            }
        }
        if let payload = headers["x-amz-content-sha256"], payload != "UNSIGNED-PAYLOAD" {
            throw .notImplemented("This store does not sign or decode payloads.")
        }
        if headers["content-encoding"]?.contains("aws-chunked") == true || headers["transfer-encoding"] != nil {
            throw .notImplemented("This store takes bodies as they are, with a Content-Length.")
        }
        if headers["if-match"] != nil {
            throw .notImplemented("This store does not know If-Match in an upload.")
        }
    }
}

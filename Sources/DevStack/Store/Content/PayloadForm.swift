import Bytes

/// How the content of an upload lies in its body, as `x-amz-content-sha256` says.
enum PayloadForm: Sendable, Equatable {
    /// As it is. The digest, in hexadecimal, is the one that the signature binds.
    case plain(signedSHA256: String?)
    /// In chunks of AWS, which may each have a signature, and may be followed by a checksum.
    case chunks(areSigned: Bool, hasTrailer: Bool)

    /// Reads the header.
    ///
    /// - Throws: ``StoreError/notImplemented(_:)`` for a form that this store does not know.
    init(_ headers: RequestFields) throws(StoreError) {
        switch headers[vendor: "content-sha256"] {
        case nil, "UNSIGNED-PAYLOAD": self = .plain(signedSHA256: nil)
        case "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"? where headers.dialect == .s3:
            self = .chunks(areSigned: true, hasTrailer: false)
        case "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"? where headers.dialect == .s3:
            self = .chunks(areSigned: true, hasTrailer: true)
        case "STREAMING-UNSIGNED-PAYLOAD-TRAILER"? where headers.dialect == .s3:
            self = .chunks(areSigned: false, hasTrailer: true)
        case let digest?:
            guard digest.utf8.count == 64, Hex.decode(digest) != nil else {
                throw .notImplemented("This store does not know this form of a payload.")
            }
            self = .plain(signedSHA256: digest.lowercased())
        }
    }

    /// Whether the body is in chunks.
    var isChunked: Bool { if case .chunks = self { true } else { false } }
}

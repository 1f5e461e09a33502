/// A part that somebody wants to upload, as it was said.
public struct PartWish: Sendable {
    /// 1…10,000.
    public var number: Int
    /// MD5 of the part, base64 of 16 bytes.
    public var contentMD5: String?
    /// SHA-256 of the part, base64 of 32 bytes; for buckets that bind it as the hash of the request.
    public var checksumSHA256: String?
    /// Length of the part in bytes, 0…5 GiB.
    public var contentLength: Int64?
    /// Life of the URL in seconds, at least 1.
    public var expiresIn: Int?

    /// Names a part.
    public init(
        number: Int, contentMD5: String? = nil, checksumSHA256: String? = nil, contentLength: Int64? = nil,
        expiresIn: Int? = nil
    ) {
        self.number = number
        self.contentMD5 = contentMD5
        self.checksumSHA256 = checksumSHA256
        self.contentLength = contentLength
        self.expiresIn = expiresIn
    }
}

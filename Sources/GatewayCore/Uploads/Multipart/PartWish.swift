/// A part that a client wants to upload, as requested.
public struct PartWish: Sendable {
    /// Part number, 1…10,000.
    public var number: Int
    /// MD5 of the part, base64 of 16 bytes.
    public var contentMD5: String?
    /// SHA-256 of the part, base64 of 32 bytes; for buckets whose signatures bind it as the hash of the request.
    public var checksumSHA256: String?
    /// Length of the part in bytes, 0…5 GiB.
    public var contentLength: Int64?
    /// Lifetime of the URL in seconds, at least 1.
    public var expiresIn: Int?
    /// Name of the bucket's address that the URL is to have; `nil` for the default.
    public var endpoint: String?

    /// Creates a request for a part.
    public init(
        number: Int, contentMD5: String? = nil, checksumSHA256: String? = nil, contentLength: Int64? = nil,
        expiresIn: Int? = nil, endpoint: String? = nil
    ) {
        self.number = number
        self.contentMD5 = contentMD5
        self.checksumSHA256 = checksumSHA256
        self.contentLength = contentLength
        self.expiresIn = expiresIn
        self.endpoint = endpoint
    }
}

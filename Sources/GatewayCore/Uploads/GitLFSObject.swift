import Bytes

/// An object of Git LFS: named by the SHA-256 of its bytes.
public struct GitLFSObject: Sendable {
    /// The name of an object.
    public struct Name: Sendable {
        /// SHA-256 of the bytes, 64 hexadecimal digits in lower case.
        public let text: String
        /// SHA-256 of the bytes.
        fileprivate let digest: [UInt8]

        /// Reads a name.
        ///
        /// - Throws: `invalidArgument` for `oid`.
        public init(_ text: String) throws(GatewayError) {
            guard text.utf8.count == 64, let digest = Hex.decode(text), text == text.lowercased() else {
                throw .invalidArgument(
                    field: "oid", reason: "An object is named by 64 hexadecimal digits in lower case.")
            }
            self.text = text
            self.digest = digest
        }
    }

    /// The name.
    public let name: Name
    /// Number of bytes.
    public let size: Int64

    /// Puts an object together.
    ///
    /// - Throws: `invalidArgument` for `size` if it is negative.
    public init(name: Name, size: Int64) throws(GatewayError) {
        try require(size >= 0, "size", "The size must not be negative.")
        self.name = name
        self.size = size
    }

    /// The name as Git LFS writes it.
    public var oid: String { name.text }

    /// The key of the object below a prefix: two levels of folders, as Git LFS itself stores objects.
    func key(below prefix: String) -> String {
        let digits = oid.utf8
        return prefix + String(Substring(digits.prefix(2))) + "/" + String(Substring(digits.dropFirst(2).prefix(2)))
            + "/" + oid
    }

    /// Returns the fields of a request for a link.
    ///
    /// - Parameters:
    ///   - operation: What the link is for.
    ///   - bucket: The bucket.
    ///   - prefix: Prefix of the key.
    ///   - bindsDigest: Whether the link is to bind the SHA-256 of an upload.
    func fields(
        to operation: GitLFSLinks.Operation, in bucket: BucketName, below prefix: String, bindsDigest: Bool
    ) -> IssueRequest.Fields {
        var fields = IssueRequest.Fields()
        fields.bucket = bucket.rawValue
        fields.key = key(below: prefix)
        switch operation {
        case .download: fields.action = Action.getObject.rawValue
        case .upload:
            fields.action = Action.putObject.rawValue
            fields.contentType = "application/octet-stream"
            fields.contentLength = size
            fields.ifNoneMatch = "*"
            if bindsDigest { fields.checksumSHA256 = Base64.encode(name.digest) }
        }
        return fields
    }
}

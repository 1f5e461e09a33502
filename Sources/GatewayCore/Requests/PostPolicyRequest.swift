public import FoundationEssentials

/// A valid request of `POST /v1/post-policies`.
public struct PostPolicyRequest: Sendable {
    /// The members of the JSON body as received; `nil` if absent.
    public struct Fields: Sendable {
        /// Name of the bucket.
        public var bucket: String?
        /// Key of the object.
        public var key: String?
        /// Prefix of a key that the gateway completes, in place of `key`; see ``IssueRequest/Fields/keyPrefix``.
        public var keyPrefix: String?
        /// Extension of the name that the gateway makes.
        public var keyExtension: String?
        /// Prefix of a key that the client completes, in place of `key`; empty or ending in `/`.
        public var keyStartsWith: String?
        /// The content types that the client may choose from.
        public var contentTypes: [String]?
        /// Smallest size of the file in bytes; 0 if absent.
        public var minBytes: Int64?
        /// Largest size of the file in bytes, 0…5 GiB; required, unless `takesLargestAllowed`.
        public var maxBytes: Int64?
        /// Whether the largest size is what the grant allows, for clients that state none.
        public var takesLargestAllowed = false
        /// Requested lifetime of the form in seconds, at least 1.
        public var expiresIn: Int?
        /// The object's own metadata, by names without the store's prefix.
        public var metadata: [String: String]?
        /// Status of the store's answer to an upload: 200, 201 or 204.
        public var successActionStatus: Int64?
        /// Name of the bucket's address that the form is sent to; `nil` for the default.
        public var endpoint: String?

        /// Creates fields that are all absent.
        public init() {}
    }

    /// The objects that the form may write.
    enum Target: Sendable {
        /// One object.
        case key(ObjectKey)
        /// Every object whose key begins with this prefix, which is empty or ends in `/`.
        case below(ExactText)
    }

    /// Largest number of content types per form.
    static let maxContentTypes = 20

    /// The bucket.
    public let bucket: BucketName
    /// The uploads that the form permits, one per content type, each with the largest size. The first represents the
    /// form in the ledger.
    let uploads: [IssueRequest]
    let target: Target
    /// Permitted size of the file, in bytes.
    public let contentLength: ClosedRange<Int64>
    /// Status of the store's answer to an upload.
    public let successActionStatus: Int?
    /// What the request was made of, where the grant determines the largest size.
    private let openEnded: (fields: Fields, name: UUID)?

    /// Validates the fields of a request.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - newName: Makes a unique name.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, and whatever `newName` throws.
    public init(_ fields: Fields, newName: () throws(GatewayError) -> UUID) throws(GatewayError) {
        var fields = fields
        if fields.takesLargestAllowed, fields.maxBytes == nil { fields.maxBytes = IssueRequest.maxContentLength }
        contentLength = try Self.contentLength(fields)
        let below = try Self.area(fields)
        let name = try newName()
        openEnded = fields.takesLargestAllowed ? (fields, name) : nil
        uploads = try Self.uploads(fields, below: below, name: name)
        bucket = uploads[0].bucket
        target = below.map { .below($0) } ?? .key(uploads[0].key)
        if let status = fields.successActionStatus {
            try require([200, 201, 204].contains(status), "successActionStatus", "The status must be 200, 201 or 204.")
        }
        successActionStatus = fields.successActionStatus.map { Int($0) }
    }

    /// Whether the request states no size, so that the grant's limit is the largest.
    var takesLargestAllowed: Bool { openEnded != nil }

    /// Returns the request with a smaller largest size; `nil` if the request states its size itself.
    func limited(to maxBytes: Int64) -> PostPolicyRequest? {
        guard let (stated, name) = openEnded, maxBytes < contentLength.upperBound else { return nil }
        var fields = stated
        fields.maxBytes = maxBytes
        return try? PostPolicyRequest(fields) { name }
    }

    private static func contentLength(_ fields: Fields) throws(GatewayError) -> ClosedRange<Int64> {
        guard let maxBytes = fields.maxBytes, 0...IssueRequest.maxContentLength ~= maxBytes else {
            throw .invalidArgument(
                field: "maxBytes", reason: "State the largest size of the file, 0 to 5,368,709,120 bytes."
            )
        }
        let minBytes = fields.minBytes ?? 0
        try require(0...maxBytes ~= minBytes, "minBytes", "The smallest size must be 0 to 'maxBytes' bytes.")
        return minBytes...maxBytes
    }

    /// Returns the uploads that the form permits, one per content type. There is at least one.
    private static func uploads(
        _ fields: Fields, below: ExactText?, name: UUID
    ) throws(GatewayError) -> [IssueRequest] {
        let types = fields.contentTypes ?? []
        try require(
            1...Self.maxContentTypes ~= types.count && Set(types).count == types.count, "contentTypes",
            "There must be 1 to 20 content types, each only once."
        )
        var upload = IssueRequest.Fields()
        upload.action = Action.putObject.rawValue
        upload.bucket = fields.bucket
        // No grant can exist for a name made at this moment: a grant that covers it covers every key with the same
        // prefix.
        upload.key = below.map { $0.rawValue + name.lowercaseText } ?? fields.key
        upload.keyPrefix = fields.keyPrefix
        upload.keyExtension = fields.keyExtension
        upload.contentLength = fields.maxBytes
        upload.expiresIn = fields.expiresIn
        upload.metadata = fields.metadata
        upload.endpoint = fields.endpoint
        var uploads: [IssueRequest] = []
        for (index, type) in types.enumerated() {
            upload.contentType = type
            do throws(GatewayError) {
                uploads.append(try IssueRequest(upload, delivery: .postPolicy) { name })
            } catch .invalidArgument(var field, let reason) {
                if field == "contentType" { field = "contentTypes[\(index)]" }
                // The key that stands for those of the clients.
                if field == "key", below != nil { field = "keyStartsWith" }
                throw .invalidArgument(field: field, reason: reason)
            }
        }
        return uploads
    }

    private static func area(_ fields: Fields) throws(GatewayError) -> ExactText? {
        guard let prefix = fields.keyStartsWith else { return nil }
        try require(
            fields.key == nil && fields.keyPrefix == nil && fields.keyExtension == nil, "keyStartsWith",
            "Send exactly one of 'key', 'keyPrefix' and 'keyStartsWith'."
        )
        try require(
            prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/"), "keyStartsWith",
            "The text must be empty or end with '/'."
        )
        return try GatewayError.naming("keyStartsWith") { () throws(GatewayError) in
            ExactText(try KeyPrefix(literal: prefix).text)
        }
    }

    /// The form field `key`. In it, `${filename}` is the part that the client fills in; no object's key contains it.
    var key: String {
        switch target {
        case .key(let key): key.rawValue
        case .below(let prefix): prefix.rawValue + Self.clientName
        }
    }
}

extension PostPolicyRequest {
    /// What the key of a form has in place of the name that the client fills in.
    private static let clientName = "${filename}"

    /// The part of a recorded key before the name that the client fills in; `nil` for the key of one object.
    static func start(ofKey key: String) -> String? {
        let (bytes, name) = (key.utf8, clientName.utf8)
        return bytes.suffix(name.count).elementsEqual(name) ? String(Substring(bytes.dropLast(name.count))) : nil
    }
}

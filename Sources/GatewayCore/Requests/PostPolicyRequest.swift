public import Foundation

/// What a caller asks for with `POST /v1/post-policies`, in a form that cannot be wrong.
public struct PostPolicyRequest: Sendable {
    /// The members of the JSON body as they came, absent where they were not there.
    public struct Fields: Sendable {
        /// Name of the bucket.
        public var bucket: String?
        /// Key of the object.
        public var key: String?
        /// In place of a key, for an object that the gateway names; see ``IssueRequest/Fields/keyPrefix``.
        public var keyPrefix: String?
        /// What such a name ends with.
        public var keyExtension: String?
        /// In place of a key, for an object that the client names: what its key begins with, empty or ending in `/`.
        public var keyStartsWith: String?
        /// The content types of which the client chooses one.
        public var contentTypes: [String]?
        /// Fewest bytes of the file; 0 where absent.
        public var minBytes: Int64?
        /// Most bytes of the file; 0…5 GiB, demanded.
        public var maxBytes: Int64?
        /// Life of the form in seconds, at least 1.
        public var expiresIn: Int?
        /// The object's own metadata, by names without the store's prefix.
        public var metadata: [String: String]?
        /// Status of the store's answer to an upload: 200, 201 or 204.
        public var successActionStatus: Int64?

        /// All absent.
        public init() {}
    }

    /// On what the form may write.
    enum Target: Sendable {
        /// One object.
        case key(ObjectKey)
        /// Every object whose key begins with a text that is empty or ends in `/`.
        case below(ExactText)
    }

    /// Most content types of one form.
    public static let maxContentTypes = 20

    /// Where.
    public let bucket: BucketName
    /// What the form permits, once for each content type, at its largest. The first stands for the form in the ledger.
    let uploads: [IssueRequest]
    let target: Target
    /// The bytes that the file may have.
    public let contentLength: ClosedRange<Int64>
    /// Status of the store's answer.
    public let successActionStatus: Int?

    /// Checks the fields of a request.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - newName: Makes a name that nothing has.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, and what `newName` throws.
    public init(_ fields: Fields, newName: () throws(GatewayError) -> UUID) throws(GatewayError) {
        contentLength = try Self.contentLength(fields)
        let below = try Self.area(fields)
        uploads = try Self.uploads(fields, below: below, name: newName())
        bucket = uploads[0].bucket
        target = below.map { .below($0) } ?? .key(uploads[0].key)
        if let status = fields.successActionStatus {
            try require([200, 201, 204].contains(status), "successActionStatus", "A status is 200, 201 or 204.")
        }
        successActionStatus = fields.successActionStatus.map { Int($0) }
    }

    private static func contentLength(_ fields: Fields) throws(GatewayError) -> ClosedRange<Int64> {
        guard let maxBytes = fields.maxBytes, 0...IssueRequest.maxContentLength ~= maxBytes else {
            throw .invalidArgument(
                field: "maxBytes", reason: "The largest file is to be stated, 0 to 5,368,709,120 bytes."
            )
        }
        let minBytes = fields.minBytes ?? 0
        try require(0...maxBytes ~= minBytes, "minBytes", "The smallest file has 0 to 'maxBytes' bytes.")
        return minBytes...maxBytes
    }

    /// What the form permits, once for each content type, of which there is at least one.
    private static func uploads(
        _ fields: Fields, below: ExactText?, name: UUID
    ) throws(GatewayError) -> [IssueRequest] {
        let types = fields.contentTypes ?? []
        try require(
            1...Self.maxContentTypes ~= types.count && Set(types).count == types.count, "contentTypes",
            "There are 1 to 20 content types, each once."
        )
        var upload = IssueRequest.Fields()
        upload.action = Action.putObject.rawValue
        upload.bucket = fields.bucket
        // No grant can be for a name that is made now: what covers it covers everything that begins like it.
        upload.key = below.map { $0.rawValue + name.lowercaseText } ?? fields.key
        upload.keyPrefix = fields.keyPrefix
        upload.keyExtension = fields.keyExtension
        upload.contentLength = fields.maxBytes
        upload.expiresIn = fields.expiresIn
        upload.metadata = fields.metadata
        var uploads: [IssueRequest] = []
        for (index, type) in types.enumerated() {
            upload.contentType = type
            do throws(GatewayError) {
                uploads.append(try IssueRequest(upload, delivery: .postPolicy) { name })
            } catch .invalidArgument(let field, let reason) {
                throw .invalidArgument(field: field == "contentType" ? "contentTypes[\(index)]" : field, reason: reason)
            }
        }
        return uploads
    }

    private static func area(_ fields: Fields) throws(GatewayError) -> ExactText? {
        guard let prefix = fields.keyStartsWith else { return nil }
        try require(
            fields.key == nil && fields.keyPrefix == nil && fields.keyExtension == nil, "keyStartsWith",
            "The key is either given, left to the gateway or left to the client."
        )
        try require(
            prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/"), "keyStartsWith",
            "The text is empty or ends with '/'."
        )
        do throws(GatewayError) {
            return ExactText(try KeyPrefix(literal: prefix).text)
        } catch .invalidArgument(_, let reason) {
            throw .invalidArgument(field: "keyStartsWith", reason: reason)
        }
    }

    /// The field `key` of the form; `${filename}` stands for what the client fills in, and is in no object's key.
    var key: String {
        switch target {
        case .key(let key): key.rawValue
        case .below(let prefix): prefix.rawValue + "${filename}"
        }
    }
}

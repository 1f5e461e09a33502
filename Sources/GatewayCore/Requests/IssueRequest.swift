import Bytes
public import FoundationEssentials

/// A valid request of `POST /v1/presigned-urls`.
///
/// A class for the reason that ``Caller`` gives.
public final class IssueRequest: Sendable {
    /// Largest body of one upload: 5 GiB.
    static let maxContentLength: Int64 = 5 << 30

    /// The action.
    public let action: Action
    /// The HTTP method that the URL is for.
    public let method: Method
    /// The bucket.
    public let bucket: BucketName
    /// The object's key; for a listing, its prefix.
    public let key: ObjectKey
    /// What is listed; `nil` unless the action is `ListObjects`.
    public let listing: Listing?
    /// Content type of the upload; never `nil` for `PutObject`.
    public let contentType: MediaType?
    /// MD5 of the upload, 16 bytes.
    public let contentMD5: [UInt8]?
    /// MD5 of the upload, in base64.
    let contentMD5Text: String?
    /// SHA-256 of the upload, 32 bytes.
    public let checksumSHA256: [UInt8]?
    /// SHA-256 of the upload, in base64.
    let checksumSHA256Text: String?
    /// Length of the upload, in bytes.
    public let contentLength: Int64?
    /// Requested lifetime of the URL, in seconds. A lifetime above the permitted one is shortened, and the answer
    /// states the result.
    public let expiresIn: Int?
    /// Headers of the download's response.
    public let response: ResponseOverrides
    /// Processing that the store applies to the object before it sends it.
    public let process: ObjectProcess?
    /// The version of the object to read; `nil` for the newest.
    public let versionID: ObjectVersion?
    /// The object's own metadata, sorted by name.
    public let metadata: ObjectMetadata
    /// Whether the upload must not replace an existing object.
    public let createsOnly: Bool
    /// The address of the bucket that the URL names; `nil` for the default.
    public let endpoint: PublicEndpoint.Name?
    /// The form in which the issued credential reaches the caller.
    public let delivery: Delivery
    /// The step of a multipart upload that the request performs; `nil` for a whole object.
    public let multipart: MultipartStep?
    /// Whether the parts of the upload that is started will state neither length nor MD5.
    let startsBareParts: Bool
    /// The fixed properties that make a repeated issuance the same, if the request has an idempotency key.
    let repeatable: RepeatableIssuance?
    /// The binding of the scheme that signs, if that is not the bucket's scheme: the client composed the string to
    /// sign.
    let binding: SchemeBinding?

    /// Validates the fields of a request.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - delivery: The form in which the issued credential reaches the caller.
    ///   - newName: Makes a unique name for an object that the gateway names. If `nil`, the fields must hold a key.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, also for a field that has no meaning for the action,
    ///   and whatever `newName` throws.
    public convenience init(
        _ fields: borrowing Fields, delivery: Delivery = .presignedURL,
        newName: (() throws(GatewayError) -> UUID)? = nil
    ) throws(GatewayError) {
        try self.init(fields, delivery: delivery, multipart: nil, repeatable: nil, newName: newName)
    }

    /// Validates the fields of a request that may be a step of a multipart upload, and that may be signed with another
    /// scheme than the bucket's.
    init(
        _ fields: borrowing Fields, delivery: Delivery, multipart: MultipartStep?, repeatable: RepeatableIssuance?,
        binding: SchemeBinding? = nil, newName: (() throws(GatewayError) -> UUID)?
    ) throws(GatewayError) {
        self.delivery = delivery
        self.multipart = multipart
        self.repeatable = repeatable
        self.binding = binding
        startsBareParts = fields.startsBareParts
        action = try Action(parsing: Self.demand(fields.action, "action"))
        method = try Self.method(fields.method, for: action)
        bucket = try BucketName(Self.demand(fields.bucket, "bucket"))
        if let misfit = fields.misfit(for: action) {
            throw .invalidArgument(field: misfit, reason: "'\(misfit)' does not apply to \(action.rawValue).")
        }
        listing = try Self.listing(fields, for: action)
        key = if let listing { ObjectKey(ofListing: listing) } else { try Self.key(fields, newName: newName) }
        contentType = try Self.contentType(fields.contentType, for: action)
        contentMD5 = try Self.bytes(16, of: fields.contentMD5, "contentMD5")
        contentMD5Text = fields.contentMD5
        checksumSHA256 = try Self.bytes(32, of: fields.checksumSHA256, "checksumSHA256")
        checksumSHA256Text = fields.checksumSHA256
        if let length = fields.contentLength, !(0...Self.maxContentLength ~= length) {
            throw .invalidArgument(field: "contentLength", reason: "The length must be 0 to 5,368,709,120 bytes.")
        }
        contentLength = fields.contentLength
        if let expiresIn = fields.expiresIn, expiresIn < 1 {
            throw .invalidArgument(field: "expiresIn", reason: "The value must be at least 1 second.")
        }
        expiresIn = fields.expiresIn
        response = if let response = fields.response { try ResponseOverrides(response) } else { .none }
        process = if let process = fields.process { try ObjectProcess(process) } else { nil }
        versionID = if let versionID = fields.versionID { try ObjectVersion(versionID) } else { nil }
        try require(process == nil || method == .get, "process", "'process' applies only to GET.")
        metadata = if let metadata = fields.metadata { try ObjectMetadata(metadata) } else { .none }
        if let condition = fields.ifNoneMatch, condition != "*" {
            throw .invalidArgument(field: "ifNoneMatch", reason: "The value must be '*'.")
        }
        createsOnly = fields.ifNoneMatch != nil
        endpoint = if let endpoint = fields.endpoint { try PublicEndpoint.Name(parsing: endpoint) } else { nil }
    }

    private init(_ other: IssueRequest, multipart: MultipartStep?, repeatable: RepeatableIssuance?) {
        action = other.action
        method = other.method
        bucket = other.bucket
        key = other.key
        listing = other.listing
        contentType = other.contentType
        contentMD5 = other.contentMD5
        contentMD5Text = other.contentMD5Text
        checksumSHA256 = other.checksumSHA256
        checksumSHA256Text = other.checksumSHA256Text
        contentLength = other.contentLength
        expiresIn = other.expiresIn
        response = other.response
        process = other.process
        versionID = other.versionID
        metadata = other.metadata
        createsOnly = other.createsOnly
        endpoint = other.endpoint
        delivery = other.delivery
        self.multipart = multipart
        self.repeatable = repeatable
        binding = other.binding
        startsBareParts = other.startsBareParts
    }

    /// Returns this request as another step of the upload.
    func with(_ step: MultipartStep) -> IssueRequest {
        IssueRequest(self, multipart: step, repeatable: repeatable)
    }

    /// Returns this request as an issuance that can be repeated.
    func with(_ issuance: RepeatableIssuance) -> IssueRequest {
        IssueRequest(self, multipart: multipart, repeatable: issuance)
    }

    /// Returns this request as the issuance of a URL that works from one address alone; unchanged for `nil`.
    func bound(to address: IPAddress?) -> IssueRequest {
        guard address != nil, let repeatable else { return self }
        return with(repeatable.bound(to: address))
    }

    private static func demand(_ value: String?, _ field: String) throws(GatewayError) -> String {
        guard let value else { throw .missing(field) }
        return value
    }

    private static func key(
        _ fields: borrowing Fields, newName: (() throws(GatewayError) -> UUID)?
    ) throws(GatewayError) -> ObjectKey {
        guard let prefix = fields.keyPrefix, let newName else {
            try require(fields.keyPrefix == nil, "keyPrefix", "Use 'key': the request must name the object.")
            try require(fields.keyExtension == nil, "keyExtension", "'keyExtension' requires 'keyPrefix'.")
            let key = try ObjectKey(demand(fields.key, "key"))
            return fields.isKeyOnRecord ? key : try key.bounded()
        }
        try require(fields.key == nil, "key", "Send either 'key' or 'keyPrefix', not both.")
        try require(
            prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/"), "keyPrefix",
            "The prefix must be empty or end with '/'."
        )
        var name = try newName().lowercaseText
        if let ending = fields.keyExtension {
            let parts = ending.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            try require(
                ending.utf8.count <= 32
                    && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(ByteSet.alphanumeric.contains) },
                "keyExtension", "The extension must be 1 to 32 letters and digits, with single dots between them."
            )
            name += "." + ending
        }
        return try GatewayError.naming("keyPrefix") { () throws(GatewayError) in
            try ObjectKey(prefix + name).bounded()
        }
    }

    private static func method(_ text: String?, for action: Action) throws(GatewayError) -> Method {
        let methods = action.methods
        guard let text else { return methods[0] }
        guard let method = Method(rawValue: text), methods.contains(method) else {
            let words = methods.map { "'\($0.rawValue)'" }.joined(separator: " or ")
            throw .invalidArgument(field: "method", reason: "The method must be \(words) for \(action.rawValue).")
        }
        return method
    }

    private static func listing(_ fields: borrowing Fields, for action: Action) throws(GatewayError) -> Listing? {
        guard action == .listObjects else { return nil }
        return try Listing(prefix: demand(fields.prefix, "prefix"), fields.list ?? Listing.Fields())
    }

    private static func contentType(_ text: String?, for action: Action) throws(GatewayError) -> MediaType? {
        guard action == .putObject else { return nil }
        guard let type = MediaType(try demand(text, "contentType")) else {
            throw .invalidArgument(
                field: "contentType",
                reason: "The content type must have the form 'type/subtype; name=value'.")
        }
        return type
    }

    private static func bytes(_ count: Int, of text: String?, _ field: String) throws(GatewayError) -> [UInt8]? {
        guard let text else { return nil }
        guard text.utf8.count <= 64, let bytes = Base64.decode(text), bytes.count == count else {
            throw .invalidArgument(field: field, reason: "The value must be base64 of \(count) bytes.")
        }
        return bytes
    }
}

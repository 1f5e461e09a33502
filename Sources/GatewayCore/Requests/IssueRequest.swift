public import Foundation
import LibCrypto

/// What a caller asks for with `POST /v1/presigned-urls`, in a form that cannot be wrong.
///
/// A class, as it goes through many hands and nothing of it changes.
public final class IssueRequest: Sendable {
    /// Longest body of one upload: 5 GiB.
    public static let maxContentLength: Int64 = 5 << 30

    /// What is to be done.
    public let action: Action
    /// With which method.
    public let method: Method
    /// Where.
    public let bucket: BucketName
    /// On what.
    public let key: ObjectKey
    /// Content type of the upload; always there for `PutObject`.
    public let contentType: MediaType?
    /// MD5 of the upload, 16 bytes.
    public let contentMD5: [UInt8]?
    /// The same in base64.
    let contentMD5Text: String?
    /// SHA-256 of the upload, 32 bytes.
    public let checksumSHA256: [UInt8]?
    /// The same in base64.
    let checksumSHA256Text: String?
    /// Length of the upload in bytes.
    public let contentLength: Int64?
    /// Life of the URL in seconds that is asked for; a longer one than is allowed is cut, and the answer says so.
    public let expiresIn: Int?
    /// Headers of the download's response.
    public let response: ResponseOverrides
    /// How the store shall change the object on its way.
    public let process: ObjectProcess?
    /// Which version of the object is read; `nil` for the newest.
    public let versionID: ObjectVersion?
    /// The object's own metadata, sorted by name.
    public let metadata: ObjectMetadata
    /// Whether an object that exists must not be replaced.
    public let createsOnly: Bool
    /// How what is issued reaches the caller.
    public let delivery: Delivery
    /// What it does to an upload in parts; `nil` for a whole object.
    public let multipart: MultipartStep?
    /// What makes it the same issuance again, where the request came with an idempotency key.
    let repeatable: RepeatableIssuance?
    /// What signs, where that is not the scheme of the bucket: a string that a client made.
    let binding: SchemeBinding?

    /// Checks the fields of a request.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - delivery: How what is issued reaches the caller.
    ///   - newName: Makes a name that nothing has, for an object that is to be named here; without it a key must be given.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, also for a field that means nothing for the action, and what
    ///   `newName` throws.
    public convenience init(
        _ fields: Fields, delivery: Delivery = .presignedURL, newName: (() throws(GatewayError) -> UUID)? = nil
    ) throws(GatewayError) {
        try self.init(fields, delivery: delivery, multipart: nil, repeatable: nil, newName: newName)
    }

    /// Checks the fields of a request that may be a step of an upload in parts, and that another scheme than the bucket's may
    /// sign.
    init(
        _ fields: Fields, delivery: Delivery, multipart: MultipartStep?, repeatable: RepeatableIssuance?,
        binding: SchemeBinding? = nil, newName: (() throws(GatewayError) -> UUID)?
    ) throws(GatewayError) {
        self.delivery = delivery
        self.multipart = multipart
        self.repeatable = repeatable
        self.binding = binding
        action = try Action(parsing: Self.demand(fields.action, "action"))
        method = try Self.method(fields.method, for: action)
        bucket = try BucketName(Self.demand(fields.bucket, "bucket"))
        if let misfit = fields.misfit(for: action) {
            throw .invalidArgument(field: misfit, reason: "The field has no meaning for \(action.rawValue).")
        }
        key = try Self.key(fields, newName: newName)
        contentType = try Self.contentType(fields.contentType, for: action)
        contentMD5 = try Self.bytes(16, of: fields.contentMD5, "contentMD5")
        contentMD5Text = fields.contentMD5
        checksumSHA256 = try Self.bytes(32, of: fields.checksumSHA256, "checksumSHA256")
        checksumSHA256Text = fields.checksumSHA256
        if let length = fields.contentLength, !(0...Self.maxContentLength ~= length) {
            throw .invalidArgument(field: "contentLength", reason: "A length is 0 to 5,368,709,120 bytes.")
        }
        contentLength = fields.contentLength
        if let expiresIn = fields.expiresIn, expiresIn < 1 {
            throw .invalidArgument(field: "expiresIn", reason: "A URL lives at least 1 second.")
        }
        expiresIn = fields.expiresIn
        response = if let response = fields.response { try ResponseOverrides(response) } else { .none }
        process = if let process = fields.process { try ObjectProcess(process) } else { nil }
        versionID = if let versionID = fields.versionID { try ObjectVersion(versionID) } else { nil }
        try require(process == nil || method == .get, "process", "Only a GET is processed.")
        metadata = if let metadata = fields.metadata { try ObjectMetadata(metadata) } else { .none }
        if let condition = fields.ifNoneMatch, condition != "*" {
            throw .invalidArgument(field: "ifNoneMatch", reason: "Only '*' can be bound.")
        }
        createsOnly = fields.ifNoneMatch != nil
    }

    private init(_ other: IssueRequest, multipart: MultipartStep?, repeatable: RepeatableIssuance?) {
        action = other.action
        method = other.method
        bucket = other.bucket
        key = other.key
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
        delivery = other.delivery
        self.multipart = multipart
        self.repeatable = repeatable
        binding = other.binding
    }

    /// The same as another step of the upload.
    func with(_ step: MultipartStep) -> IssueRequest {
        IssueRequest(self, multipart: step, repeatable: repeatable)
    }

    /// The same as an issuance that can be made again.
    func with(_ issuance: RepeatableIssuance) -> IssueRequest {
        IssueRequest(self, multipart: multipart, repeatable: issuance)
    }

    private static func demand(_ value: String?, _ field: String) throws(GatewayError) -> String {
        guard let value else { throw .invalidArgument(field: field, reason: "The field is missing.") }
        return value
    }

    private static func key(
        _ fields: Fields, newName: (() throws(GatewayError) -> UUID)?
    ) throws(GatewayError) -> ObjectKey {
        guard let prefix = fields.keyPrefix, let newName else {
            try require(fields.keyPrefix == nil, "keyPrefix", "The object must be named here.")
            try require(fields.keyExtension == nil, "keyExtension", "An extension goes with 'keyPrefix'.")
            let key = try ObjectKey(demand(fields.key, "key"))
            return fields.isKeyOnRecord ? key : try key.bounded()
        }
        try require(fields.key == nil, "key", "A key and 'keyPrefix' exclude each other.")
        try require(
            prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/"), "keyPrefix",
            "A prefix is empty or ends with '/'."
        )
        var name = try newName().lowercaseText
        if let ending = fields.keyExtension {
            let parts = ending.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            try require(
                ending.utf8.count <= 32 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(ASCII.isAlphanumeric) },
                "keyExtension", "An extension has 1 to 32 letters and digits, with single dots between them."
            )
            name += "." + ending
        }
        do throws(GatewayError) {
            return try ObjectKey(prefix + name).bounded()
        } catch .invalidArgument(_, let reason) {
            throw .invalidArgument(field: "keyPrefix", reason: reason)
        }
    }

    private static func method(_ text: String?, for action: Action) throws(GatewayError) -> Method {
        guard let text else { return action == .putObject ? .put : .get }
        guard let method = Method(rawValue: text), method != .post, method.action == action else {
            throw .invalidArgument(
                field: "method", reason: "The method is 'PUT' for PutObject, 'GET' or 'HEAD' for GetObject."
            )
        }
        return method
    }

    private static func contentType(_ text: String?, for action: Action) throws(GatewayError) -> MediaType? {
        guard action == .putObject else { return nil }
        guard let type = MediaType(try demand(text, "contentType")) else {
            throw .invalidArgument(field: "contentType", reason: "A content type reads 'type/subtype; name=value'.")
        }
        return type
    }

    private static func bytes(_ count: Int, of text: String?, _ field: String) throws(GatewayError) -> [UInt8]? {
        guard let text else { return nil }
        guard text.utf8.count <= 64, let bytes = Base64.decode(text), bytes.count == count else {
            throw .invalidArgument(field: field, reason: "The value is base64 of \(count) bytes.")
        }
        return bytes
    }
}

public import Foundation
import Signing

/// What a request does to an upload in parts, where it does not write a whole object at once.
public enum MultipartStep: Sendable, Equatable {
    /// Starts it.
    case start(objectLength: Int64?)
    /// Uploads a part; the row in the ledger has this identifier.
    case part(Part)
    /// Puts the parts together.
    case complete(storeUploadID: String, objectLength: Int64?)
    /// Lists the parts, or drops them.
    case upkeep(storeUploadID: String, method: String)

    /// One part.
    public struct Part: Sendable, Equatable {
        /// The store's own identifier of the upload.
        public var storeUploadID: String
        /// 1…10,000.
        public var number: Int
        /// Identifier of the issuance.
        public var issuance: UUID
        /// Bytes of all parts that are known of, this one too; `nil` where the length of one is not known.
        public var objectLength: Int64?
    }
}

extension IssueRequest {
    /// Checks the fields of an upload that is to be started.
    ///
    /// - Parameters:
    ///   - fields: The fields; `contentLength` is the most that all parts together may have, if anything is said of it.
    ///   - newName: See ``init(_:newName:)``.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, and what `newName` throws.
    convenience init(
        starting fields: Fields, newName: (() throws(GatewayError) -> UUID)?
    ) throws(GatewayError) {
        let longest = Self.maxContentLength * Int64(UploadedPart.maxCount)
        if let length = fields.contentLength, !(0...longest ~= length) {
            throw .invalidArgument(field: "contentLength", reason: "A length is 0 to \(longest) bytes.")
        }
        var whole = fields
        whole.action = Action.putObject.rawValue
        whole.contentLength = nil
        whole.expiresIn = Self.ownLife
        try self.init(
            whole, delivery: .multipartStart, multipart: .start(objectLength: fields.contentLength), repeatable: nil,
            newName: newName)
    }

    /// Asks for a part of an upload.
    convenience init(
        part wish: PartWish, of upload: MultipartUpload, storeUploadID: String, issuance: UUID,
        repeatable: RepeatableIssuance? = nil
    ) throws(GatewayError) {
        try UploadedPart.check(number: wish.number)
        var fields = Fields(upload)
        fields.contentMD5 = wish.contentMD5
        fields.checksumSHA256 = wish.checksumSHA256
        fields.contentLength = wish.contentLength
        fields.expiresIn = wish.expiresIn
        let part = MultipartStep.Part(storeUploadID: storeUploadID, number: wish.number, issuance: issuance)
        try self.init(
            fields, delivery: .multipartPart, multipart: .part(part), repeatable: repeatable, newName: nil)
    }

    /// Asks for an upload to be completed.
    convenience init(
        completing upload: MultipartUpload, storeUploadID: String, objectLength: Int64?
    ) throws(GatewayError) {
        var fields = Fields(upload)
        fields.expiresIn = Self.ownLife
        let step = MultipartStep.complete(storeUploadID: storeUploadID, objectLength: objectLength)
        try self.init(fields, delivery: .multipartComplete, multipart: step, repeatable: nil, newName: nil)
    }

    /// Asks for what the store has of an upload; nothing is issued.
    convenience init(listing upload: MultipartUpload, storeUploadID: String) throws(GatewayError) {
        var fields = Fields(upload)
        fields.expiresIn = Self.ownLife
        let step = MultipartStep.upkeep(storeUploadID: storeUploadID, method: Method.get.rawValue)
        try self.init(fields, delivery: .multipartPart, multipart: step, repeatable: nil, newName: nil)
    }

    /// Life in seconds of URLs that the gateway uses itself, at once.
    private static let ownLife = 60

    /// The method in upper case.
    var httpMethod: String {
        switch multipart {
        case .start, .complete: Method.post.rawValue
        case .part: Method.put.rawValue
        case .upkeep(_, let method): method
        case .none: (delivery == .postPolicy ? Method.post : method).rawValue
        }
    }

    /// The identifier that the row in the ledger is to have, where that was fixed before.
    var issuance: UUID? {
        if case .part(let part) = multipart { part.issuance } else { nil }
    }

    /// Length of the object, as far as it is known before it is there.
    var objectLength: Int64? {
        switch multipart {
        case .none: contentLength
        case .start(let length), .complete(_, let length): length
        case .part(let part): part.objectLength
        case .upkeep: nil
        }
    }

    /// Whether bytes go to the store by this request.
    var carriesBytes: Bool {
        switch multipart {
        case .none, .part: action == .putObject
        case .start, .complete, .upkeep: false
        }
    }

    /// Whether there is an object, or more of one, by this request.
    var makesObject: Bool {
        if case .upkeep = multipart { false } else { action == .putObject }
    }

    /// Whether what limits the size of the object is held only by the length of each part that is still to come.
    var needsLengthOfParts: Bool {
        switch multipart {
        case .start, .part: true
        case .none, .complete, .upkeep: false
        }
    }

    /// Whether the content type is said to the store by this request.
    var bindsContentType: Bool {
        switch multipart {
        case .none, .start: true
        case .part, .complete, .upkeep: false
        }
    }

    /// Whether quotas on URLs count the request: what completes an upload was counted by its parts.
    var countsAsURL: Bool {
        if case .complete = multipart { false } else { true }
    }

    /// The parameters by which the store knows what to do.
    var multipartQuery: [NamedValue] {
        switch multipart {
        case .none: []
        case .start: [NamedValue("uploads", "")]
        case .part(let part):
            [NamedValue("partNumber", String(part.number)), NamedValue("uploadId", part.storeUploadID)]
        case .complete(let storeUploadID, _), .upkeep(let storeUploadID, _): [NamedValue("uploadId", storeUploadID)]
        }
    }
}

extension IssueRequest.Fields {
    /// What every request for an upload repeats.
    fileprivate init(_ upload: MultipartUpload) {
        self.init()
        action = Action.putObject.rawValue
        bucket = upload.bucket.rawValue
        key = upload.key.rawValue
        isKeyOnRecord = true
        contentType = upload.contentType.text
    }
}

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

public import FoundationEssentials
import Signing

/// The step of a multipart upload that a request performs.
public enum MultipartStep: Sendable, Equatable {
    /// Starts the upload.
    case start(objectLength: Int64?)
    /// Uploads one part.
    case part(Part)
    /// Combines the parts into the object.
    case complete(storeUploadID: String, objectLength: Int64?)
    /// Lists the parts, or aborts the upload.
    case upkeep(storeUploadID: String, method: String)

    /// One part of a multipart upload.
    public struct Part: Sendable, Equatable {
        /// The store's own identifier of the upload.
        public var storeUploadID: String
        /// Number of the part, 1…10,000.
        public var number: Int
        /// Identifier of the issuance, which its row in the ledger also has.
        public var issuance: UUID
        /// Total length of all known parts including this one, in bytes; `nil` if the length of any of them is unknown.
        public var objectLength: Int64?
    }
}

extension IssueRequest {
    /// The HTTP method, in upper case.
    var httpMethod: String {
        switch multipart {
        case .start, .complete: Method.post.rawValue
        case .part: Method.put.rawValue
        case .upkeep(_, let method): method
        case .none: (delivery == .postPolicy ? Method.post : method).rawValue
        }
    }

    /// Whether the URL is for reading an object, by the caller.
    var isDownloadLink: Bool {
        action == .getObject && multipart == nil && (delivery == .presignedURL || delivery == .redirect)
    }

    /// Whether the gateway itself sends the request to the store.
    var isSentByGateway: Bool {
        switch multipart {
        case .start, .complete, .upkeep: true
        case .part, .none: false
        }
    }

    /// The identifier that the row in the ledger must have, if it was fixed in advance.
    var issuance: UUID? {
        if case .part(let part) = multipart { part.issuance } else { nil }
    }

    /// Length of the object in bytes, if it is known before the object exists.
    var objectLength: Int64? {
        switch multipart {
        case .none: contentLength
        case .start(let length), .complete(_, let length): length
        case .part(let part): part.objectLength
        case .upkeep: nil
        }
    }

    /// Whether this request sends the object's bytes to the store.
    var carriesBytes: Bool {
        switch multipart {
        case .none, .part: action == .putObject
        case .start, .complete, .upkeep: false
        }
    }

    /// Whether this request creates an object or a part of one.
    var makesObject: Bool {
        if case .upkeep = multipart { false } else { action == .putObject }
    }

    /// Whether the size limit of the object can be enforced only through the length of each part that is still to come.
    var needsLengthOfParts: Bool {
        switch multipart {
        case .start, .part: true
        case .none, .complete, .upkeep: false
        }
    }

    /// Whether this request states to the store what the object is, such as its content type.
    var beginsObject: Bool {
        switch multipart {
        case .none, .start: true
        case .part, .complete, .upkeep: false
        }
    }

    /// Whether quotas on URLs count the request. A completion by the gateway does not count, because nothing leaves it.
    var countsAsURL: Bool { delivery != .multipartComplete }

    /// The parameters that tell the store which step to perform.
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

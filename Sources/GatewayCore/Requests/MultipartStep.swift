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

extension IssueRequest {
    /// The HTTP method that the URL is for.
    public enum Method: String, Sendable, CaseIterable {
        case put = "PUT"
        case get = "GET"
        case head = "HEAD"
        /// For browser forms, and for the gateway's own requests that start and complete multipart uploads.
        case post = "POST"
        case delete = "DELETE"
    }

    /// The members of the JSON body as received; `nil` if absent.
    public struct Fields: Sendable, Equatable {
        /// The name of an ``Action``.
        public var action: String?
        /// A method of the action; if `nil`, the first of ``Action/methods``.
        public var method: String?
        /// Name of the bucket.
        public var bucket: String?
        /// Key of the object; not for `ListObjects`.
        public var key: String?
        /// Text with which the listed keys begin, empty for the whole bucket; required for `ListObjects`.
        public var prefix: String?
        /// How the store groups and pages a listing.
        public var list: Listing.Fields?
        /// Prefix of a key that the gateway completes with a new name, in place of `key`; empty or ending in `/`. Only
        /// for uploads.
        public var keyPrefix: String?
        /// Extension of the new name, after a dot: up to 32 letters and digits, with single dots between them.
        public var keyExtension: String?
        /// Content type of the upload; required for `PutObject`.
        public var contentType: String?
        /// MD5 of the upload, base64 of 16 bytes.
        public var contentMD5: String?
        /// SHA-256 of the upload, base64 of 32 bytes.
        public var checksumSHA256: String?
        /// Length of the upload in bytes, 0…5 GiB.
        public var contentLength: Int64?
        /// Requested lifetime of the URL in seconds, at least 1.
        public var expiresIn: Int?
        /// Headers of the download's response.
        public var response: ResponseOverrides.Fields?
        /// Processing that the store applies to the object before it sends it, in the syntax of Alibaba OSS.
        public var process: String?
        /// The store's identifier of the object's version; `nil` for the newest.
        public var versionID: String?
        /// The object's own metadata, by names without `x-amz-meta-` or the store's equivalent.
        public var metadata: [String: String]?
        /// Only `*`: write only if the object does not exist.
        public var ifNoneMatch: String?
        /// Name of the bucket's address that the URL is to have; `nil` for the default.
        public var endpoint: String?

        /// Whether the key was recorded earlier, so that limits introduced later do not apply to it.
        var isKeyOnRecord = false
        /// Whether the parts of the upload that is started will state neither length nor MD5. It is refused where none
        /// of them could follow.
        public var startsBareParts = false

        /// Creates fields that are all absent.
        public init() {}
    }
}

extension IssueRequest.Fields {
    /// Returns the name of the first field that is present but has no meaning for an action.
    func misfit(for action: Action) -> String? {
        if action != .listObjects {
            if prefix != nil { return "prefix" }
            if list != nil { return "list" }
        }
        switch action {
        case .putObject: return misfitForUploads
        case .getObject: return misfitForOthers
        case .listObjects: return key != nil ? "key" : misfitForUploads ?? misfitForOthers
        case .deleteObject: return misfitForUploads ?? misfitForOthers
        }
    }

    /// The first field that applies only to downloads.
    private var misfitForUploads: String? {
        if response != nil { return "response" }
        if process != nil { return "process" }
        if versionID != nil { return "versionID" }
        return nil
    }

    /// The first field that applies only to uploads.
    private var misfitForOthers: String? {
        if contentType != nil { return "contentType" }
        if contentMD5 != nil { return "contentMD5" }
        if checksumSHA256 != nil { return "checksumSHA256" }
        if contentLength != nil { return "contentLength" }
        if metadata != nil { return "metadata" }
        if ifNoneMatch != nil { return "ifNoneMatch" }
        if keyPrefix != nil { return "keyPrefix" }
        if keyExtension != nil { return "keyExtension" }
        return nil
    }
}

extension Action {
    /// The methods of its requests; the first is the one that a request has unless it names another.
    var methods: [IssueRequest.Method] {
        switch self {
        case .putObject: [.put]
        case .getObject: [.get, .head]
        case .listObjects: [.get]
        case .deleteObject: [.delete]
        }
    }
}

extension IssueRequest {
    /// What the path names in the bucket: the object's key, or nothing where the bucket itself is asked.
    var pathKey: String { listing == nil ? key.rawValue : "" }
}

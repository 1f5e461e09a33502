extension IssueRequest {
    /// The method that the URL is for.
    public enum Method: String, Sendable, CaseIterable {
        case put = "PUT"
        case get = "GET"
        case head = "HEAD"
        /// Of browser forms, and of what the gateway itself starts and completes uploads in parts with.
        case post = "POST"

        /// What it is a method of.
        public var action: Action {
            switch self {
            case .put, .post: .putObject
            case .get, .head: .getObject
            }
        }
    }

    /// The members of the JSON body as they came, absent where they were not there.
    public struct Fields: Sendable {
        /// `PutObject` or `GetObject`.
        public var action: String?
        /// `PUT`, or `GET` or `HEAD`; follows from the action where absent.
        public var method: String?
        /// Name of the bucket.
        public var bucket: String?
        /// Key of the object.
        public var key: String?
        /// In place of a key, for an upload that the gateway names: what the name begins with, empty or ending in `/`.
        public var keyPrefix: String?
        /// What such a name ends with, after a dot: up to 32 letters and digits, with single dots between them.
        public var keyExtension: String?
        /// Content type of the upload; demanded for `PutObject`.
        public var contentType: String?
        /// MD5 of the upload, base64 of 16 bytes.
        public var contentMD5: String?
        /// SHA-256 of the upload, base64 of 32 bytes.
        public var checksumSHA256: String?
        /// Length of the upload in bytes, 0…5 GiB.
        public var contentLength: Int64?
        /// Life of the URL in seconds, at least 1.
        public var expiresIn: Int?
        /// Headers of the download's response.
        public var response: ResponseOverrides.Fields?
        /// How the store shall change the object on its way, in the words of Alibaba OSS.
        public var process: String?
        /// Which version of the object, as the store names it; the newest where absent.
        public var versionID: String?
        /// The object's own metadata, by names without `x-amz-meta-` or what the store puts there.
        public var metadata: [String: String]?
        /// Only `*`: write only where there is no object yet.
        public var ifNoneMatch: String?

        /// Whether the key was on record before, so that no bound which came later refuses it.
        var isKeyOnRecord = false

        /// All absent.
        public init() {}
    }
}

extension IssueRequest.Fields {
    /// The first field that is there and has no meaning for an action.
    func misfit(for action: Action) -> String? {
        switch action {
        case .putObject:
            if response != nil { return "response" }
            if process != nil { return "process" }
            if versionID != nil { return "versionId" }
        case .getObject:
            if contentType != nil { return "contentType" }
            if contentMD5 != nil { return "contentMD5" }
            if checksumSHA256 != nil { return "checksumSHA256" }
            if contentLength != nil { return "contentLength" }
            if metadata != nil { return "metadata" }
            if ifNoneMatch != nil { return "ifNoneMatch" }
            if keyPrefix != nil { return "keyPrefix" }
            if keyExtension != nil { return "keyExtension" }
        }
        return nil
    }
}

import FoundationEssentials

extension IssueRequest {
    /// Creates the request that starts a multipart upload, after validating its fields.
    ///
    /// - Parameters:
    ///   - fields: The fields from the client; `contentLength` is the maximum total length of all parts, if given.
    ///   - newName: See ``init(_:newName:)``.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, and the errors of `newName`.
    convenience init(
        starting fields: Fields, newName: (() throws(GatewayError) -> UUID)?
    ) throws(GatewayError) {
        let longest = Self.maxContentLength * Int64(UploadedPart.maxCount)
        if let length = fields.contentLength, !(0...longest ~= length) {
            throw .invalidArgument(field: "contentLength", reason: "The length must be 0 to \(longest) bytes.")
        }
        var whole = fields
        whole.action = Action.putObject.rawValue
        whole.contentLength = nil
        whole.expiresIn = Self.ownLife
        try self.init(
            whole, delivery: .multipartStart, multipart: .start(objectLength: fields.contentLength), repeatable: nil,
            newName: newName)
    }

    /// Creates the request for a part of an upload.
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
        fields.endpoint = wish.endpoint
        let part = MultipartStep.Part(storeUploadID: storeUploadID, number: wish.number, issuance: issuance)
        try self.init(
            fields, delivery: .multipartPart, multipart: .part(part), repeatable: repeatable, newName: nil)
    }

    /// Creates the request that completes an upload.
    convenience init(
        completing upload: MultipartUpload, storeUploadID: String, objectLength: Int64?
    ) throws(GatewayError) {
        var fields = Fields(upload)
        fields.expiresIn = Self.ownLife
        let step = MultipartStep.complete(storeUploadID: storeUploadID, objectLength: objectLength)
        try self.init(fields, delivery: .multipartComplete, multipart: step, repeatable: nil, newName: nil)
    }

    /// Creates the request that lists the parts of an upload at the store; it issues nothing.
    convenience init(listing upload: MultipartUpload, storeUploadID: String) throws(GatewayError) {
        var fields = Fields(upload)
        fields.expiresIn = Self.ownLife
        let step = MultipartStep.upkeep(storeUploadID: storeUploadID, method: Method.get.rawValue)
        try self.init(fields, delivery: .multipartPart, multipart: step, repeatable: nil, newName: nil)
    }

    /// Lifetime in seconds of URLs that the gateway uses itself, at once.
    private static let ownLife = 60
}

extension IssueRequest.Fields {
    /// Creates the fields that all requests of an upload share.
    fileprivate init(_ upload: MultipartUpload) {
        self.init()
        action = Action.putObject.rawValue
        bucket = upload.bucket.rawValue
        key = upload.key.rawValue
        isKeyOnRecord = true
        contentType = upload.contentType.text
    }
}

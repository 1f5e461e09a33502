import Foundation

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

import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/v1/multipart-uploads` and `/admin/v1/multipart-uploads`.
struct MultipartUploadEndpoints: Sendable {
    /// Body limit of a request for parts, in bytes: the size of 1,000 parts with every member set.
    static let maxPartsBytes = 1 << 18
    /// Body limit of a completion, in bytes: the size of 10,000 parts.
    static let maxCompletionBytes = 2 << 20

    let useCase: MultipartUploads
    let metrics: RequestMetrics
    /// Limits the rate of part URLs; each part counts.
    let rate: LimitRate

    /// Starts an upload.
    @Sendable func start(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        var fields = IssueRequest.Fields()
        fields.bucket = try body.string("bucket")
        fields.key = try body.string("key")
        fields.keyPrefix = try body.string("keyPrefix")
        fields.keyExtension = try body.string("keyExtension")
        fields.contentType = try body.string("contentType")
        fields.contentLength = try body.integer("contentLength")
        fields.metadata = try body.dictionary("metadata", atMost: ObjectMetadata.maxCount)
        try body.end()
        let upload = try await useCase.start(fields, in: request.context(of: caller))
        return .json(.created) { upload.write(to: &$0) }
    }

    /// Shows one of the caller's uploads.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let upload = try await useCase.upload(request.rowID(of: .multipartUpload), of: caller)
        return .json(.ok) { upload.write(to: &$0) }
    }

    /// Issues URLs for parts.
    @Sendable func issueParts(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let expiresIn = try body.integer("expiresIn").map { Int($0) }
        let endpoint = try body.string("endpoint")
        let items = try body.required("parts", body.values("parts", atMost: PresignedURLs.maxBatch))
        try body.end()
        try rate.check(items: items.count, of: caller, for: request)
        var wishes: [PartWish] = []
        for (index, item) in items.enumerated() {
            var part = try JSONObject(item, at: "parts[\(index)]")
            wishes.append(
                PartWish(
                    number: Int(clamping: try part.required("partNumber", part.integer("partNumber"))),
                    contentMD5: try part.string("contentMD5"), checksumSHA256: try part.string("checksumSHA256"),
                    contentLength: try part.integer("contentLength"), expiresIn: expiresIn, endpoint: endpoint))
            try part.end()
        }
        let answers = try await useCase.issue(
            wishes, of: request.rowID(of: .multipartUpload), in: request.context(of: caller))
        return .batch(answers, to: request, countedBy: metrics) { json, place in
            json.member("partNumber", wishes[place].number)
        }
    }

    /// Lists the parts that the store has.
    @Sendable func listParts(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["pageSize", "pageToken"])
        let page = try await useCase.storedParts(
            of: request.rowID(of: .multipartUpload), request.listQuery([:], for: caller),
            in: request.context(of: caller))
        return .json(.ok, capacity: 64 + 128 * page.items.count) { json in page.write(to: &json) { $0.write(to: &$1) } }
    }

    /// Completes an upload.
    @Sendable func complete(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let items = try body.required("parts", body.values("parts", atMost: UploadedPart.maxCount))
        try body.end()
        var parts: [UploadedPart] = []
        for (index, item) in items.enumerated() {
            var part = try JSONObject(item, at: "parts[\(index)]")
            let number = Int(clamping: try part.required("partNumber", part.integer("partNumber")))
            let etag = try part.required("etag", part.string("etag"))
            try part.end()
            parts.append(try part.within { () throws(GatewayError) in try UploadedPart(number: number, etag: etag) })
        }
        let upload = try await useCase.complete(
            request.rowID(of: .multipartUpload), parts: parts, in: request.context(of: caller))
        return .json(.ok) { upload.write(to: &$0) }
    }

    /// Aborts one of the caller's uploads.
    @Sendable func abort(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        try await useCase.abort(request.rowID(of: .multipartUpload), by: caller)
        return .noContent
    }
}

import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import Signing
import StrictJSON

/// The S3 routes of Uppy Companion: `/companion/{ticket}/s3/…` for clients that send no header, and `/companion/s3/…`
/// with a bearer token.
///
/// The gateway names the objects. The client's file name gives only the extension.
struct CompanionEndpoints: Sendable {
    /// Body limit of a completion, in bytes: the size of 10,000 parts, with what clients repeat of each.
    static let maxCompletionBytes = 2 << 20
    /// Most parts of one request for links.
    static let maxParts = PresignedURLs.maxBatch

    let forms: BrowserForms
    let uploads: MultipartUploads
    let sessions: Sessions
    /// Limits the rate of part URLs; each part counts.
    let rate: LimitRate

    /// `GET …/s3/params`: a form for one file.
    @Sendable func params(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let place = try CompanionPlace(of: caller, in: request)
        let file = try CompanionFile(query: request)
        var fields = PostPolicyRequest.Fields()
        fields.bucket = place.bucket.rawValue
        (fields.key, fields.keyPrefix, fields.keyExtension) = place.key(for: file)
        fields.contentTypes = [file.type]
        fields.metadata = file.metadata
        fields.successActionStatus = 201
        fields.takesLargestAllowed = true
        let context = request.context(of: caller)
        let issued = try await forms.issue(forms.request(fields, in: context), in: context)
        var response = ServerResponse.json(.ok) { json in
            json.member("method", "POST")
            json.member("url", issued.url + (issued.url.utf8.last == UInt8(ascii: "/") ? "" : "/"))
            json.object("fields") { json in
                for field in issued.fields.reveal() { json.member(named: field.name, field.value) }
            }
            json.member("expires", issued.expiresIn)
        }
        response.setRateLimit(issued.quotas)
        return response
    }

    /// `POST …/s3/multipart`: starts an upload in parts.
    @Sendable func start(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let place = try CompanionPlace(of: caller, in: request)
        let file = try CompanionFile(body: request)
        var fields = IssueRequest.Fields()
        fields.bucket = place.bucket.rawValue
        (fields.key, fields.keyPrefix, fields.keyExtension) = place.key(for: file)
        fields.contentType = file.type
        fields.metadata = file.metadata
        fields.startsBareParts = true
        let upload: MultipartUpload
        do throws(GatewayError) {
            upload = try await uploads.start(fields, in: request.context(of: caller))
        } catch .conditionFailed(.contentLengthRequired) {
            throw GatewayError.notEnforceable(reason: Self.limitReason)
        }
        return .json(.ok) { json in
            json.member("key", upload.key.rawValue)
            json.member("uploadId", upload.id.lowercaseText)
            json.member("bucket", upload.bucket.rawValue)
        }
    }

    /// `GET …/s3/multipart/{id}`: the parts that the store has.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let upload = try await upload(request, caller)
        let context = request.context(of: caller)
        var parts: [StoredPart] = []
        var query = ListQuery(pageSize: 1000)
        repeat {
            let page = try await uploads.storedParts(of: upload.id, query, in: context)
            parts += page.items
            query.pageToken = page.nextPageToken
        } while query.pageToken != nil
        var json = JSONWriter(capacity: 64 + 96 * parts.count)
        json.array(parts) { json, stored in
            json.object { json in
                json.member("PartNumber", stored.part.number)
                json.member("ETag", stored.part.quotedETag)
                json.member("Size", stored.size)
            }
        }
        return ServerResponse(
            head: ResponseHead(
                status: .ok, headerFields: [.contentType: "application/json", .cacheControl: "no-store"]),
            body: .bytes(json.bytes))
    }

    /// `GET …/s3/multipart/{id}/{number}`: a link for one part.
    @Sendable func signPart(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let upload = try await upload(request, caller)
        let number = try Self.partNumber(request.match.parameters.last ?? "")
        let issued = try await issue([number], of: upload, request, caller)[0].get()
        var response = ServerResponse.json(.ok) { json in
            json.member("url", issued.url.reveal())
            json.member("expires", issued.expiresIn)
        }
        response.setRateLimit(issued.quotas)
        return response
    }

    /// `GET …/s3/multipart/{id}/batch`: links for several parts, all or none.
    @Sendable func signParts(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let upload = try await upload(request, caller)
        let pieces = try (request.query("partNumbers") ?? "").utf8
            .split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard pieces.count <= Self.maxParts else {
            throw GatewayError.invalidArgument(
                field: "partNumbers", reason: "At most \(Self.maxParts) parts are allowed.")
        }
        var numbers: [Int] = []
        for piece in pieces { numbers.append(try Self.partNumber(String(Substring(piece)))) }
        try rate.check(items: numbers.count, of: caller, for: request)
        let answers = try await issue(numbers, of: upload, request, caller)
        var links: [String] = []
        for answer in answers { links.append(try answer.get().url.reveal()) }
        var response = ServerResponse.json(.ok, capacity: 64 + 768 * links.count) { json in
            json.object("presignedUrls") { json in
                for (number, url) in zip(numbers, links) { json.member(named: String(number), url) }
            }
        }
        response.setRateLimit(ofBatch: answers)
        return response
    }

    /// `POST …/s3/multipart/{id}/complete`: assembles the object.
    @Sendable func complete(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let upload = try await upload(request, caller)
        var body = try request.jsonObject()
        let items = try body.required("parts", body.values("parts", atMost: UploadedPart.maxCount))
        var parts: [UploadedPart] = []
        for (index, item) in items.enumerated() {
            var part = try JSONObject(item, at: "parts[\(index)]")
            let number = Int(clamping: try part.required("PartNumber", part.integer("PartNumber")))
            parts.append(try UploadedPart(number: number, etag: part.required("ETag", part.string("ETag"))))
        }
        parts.sort { $0.number < $1.number }
        let completed = try await uploads.complete(upload.id, parts: parts, in: request.context(of: caller))
        let path = completed.key.rawValue.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { PathSegment.encoded(String(Substring($0))) }.joined(separator: "/")
        let location = try await uploads.bucketAddress(of: completed).map { "\($0)/\(path)" }
        return .json(.ok) { json in
            json.member("location", location)
            json.member("key", completed.key.rawValue)
            json.member("bucket", completed.bucket.rawValue)
        }
    }

    /// `DELETE …/s3/multipart/{id}`: gives an upload up.
    @Sendable func abort(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let upload = try await upload(request, caller)
        try await uploads.abort(upload.id, by: caller)
        return .json(.ok) { _ in }
    }

    /// `GET …/s3/sts`: temporary credentials that upload.
    @Sendable func session(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let place = try CompanionPlace(of: caller, in: request)
        let wanted = try SessionRequest(
            bucket: place.bucket, prefix: place.prefix, actions: [.putObject], duration: nil)
        let issued = try await sessions.issue(wanted, in: request.context(of: caller, opensSession: true))
        var response = ServerResponse.json(.ok) { json in
            json.object("credentials") { json in
                json.member("AccessKeyId", issued.credential.accessKeyID)
                json.member("SecretAccessKey", issued.credential.secretAccessKey.reveal())
                json.member("SessionToken", issued.credential.sessionToken.reveal())
                json.member("Expiration", issued.credential.expiresAt)
            }
            json.member("bucket", issued.bucket.name.rawValue)
            json.member("region", issued.bucket.region)
        }
        response.setRateLimit(issued.quotas)
        return response
    }

    /// Reads the ticket in the path.
    @Sendable static func ticket(of request: APIRequest) throws(GatewayError) -> Secret<String> {
        try Authenticate.ticket(request.parameter(0))
    }

    /// Makes the answer for a refusal: Uppy shows `message` to the user.
    @Sendable static func refusal(_ problem: Problem, _ requestID: String) -> ServerResponse {
        var response = ServerResponse.json(problem.kind.status) { json in
            json.member("message", problem.detail ?? problem.kind.title)
            json.member("code", problem.code)
            json.member("requestID", requestID)
            // Uppy adds this one to the message.
            json.member("requestId", requestID)
        }
        problem.addHeaders(to: &response)
        return response
    }

    private static let limitReason = """
        Files here are limited in size, and an upload in parts does not say how large it becomes. Send the file whole \
        ('shouldUseMultipart: false').
        """

    /// Finds the upload that the path names. The client repeats its key.
    private func upload(_ request: APIRequest, _ caller: Caller) async throws(GatewayError) -> MultipartUpload {
        let text = request.match.parameters[caller.hasTicket ? 1 : 0]
        guard let id = UUID(uuidString: text) else { throw .notFound(.multipartUpload) }
        let upload = try await uploads.upload(id, of: caller)
        guard try request.query("key") == upload.key.rawValue else { throw .notFound(.multipartUpload) }
        return upload
    }

    private func issue(
        _ numbers: [Int], of upload: MultipartUpload, _ request: APIRequest, _ caller: Caller
    ) async throws(GatewayError) -> [Result<IssuedURL, GatewayError>] {
        try await uploads.issue(numbers.map { PartWish(number: $0) }, of: upload.id, in: request.context(of: caller))
    }

    private static func partNumber(_ text: String) throws(GatewayError) -> Int {
        guard let number = Int(text), 1...UploadedPart.maxCount ~= number else {
            throw .invalidArgument(field: "partNumber", reason: "The part number must be 1 to 10,000.")
        }
        return number
    }
}

extension UploadedPart {
    /// The entity tag as the store sends it. Uppy gives it back as it is.
    fileprivate var quotedETag: String { "\"\(etag)\"" }
}

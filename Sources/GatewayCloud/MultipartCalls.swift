import Bytes
public import FoundationEssentials
public import GatewayCore
import LibCurl
import Signing
import StrictXML

/// Starts, completes and aborts multipart uploads at stores, by signed URLs in the scheme of the bucket.
public struct MultipartCalls: MultipartStore {
    private let client: OutboundClient
    private let cache: PolicyCache
    private let now: @Sendable () -> Date
    private let signer = URLSigner()

    /// Seconds by which the time of an object may differ, in the gateway's clock.
    private static let clockTolerance: TimeInterval = 2
    private static let urlLife = 60
    private static let maxAnswerBytes = 65_536
    private static let maxListBytes = 1 << 20
    // Stores copy the bytes of large objects before they answer.
    private static let completionTimeout = Duration.seconds(12)
    private static let completionPauses = [200, 400, 800, 1600].map(Duration.milliseconds)

    /// Makes an adapter.
    ///
    /// - Parameters:
    ///   - client: The client for requests to stores.
    ///   - cache: The cached rows of buckets and credentials.
    ///   - now: The clock of the signatures.
    public init(client: OutboundClient, cache: PolicyCache, now: @escaping @Sendable () -> Date) {
        self.client = client
        self.cache = cache
        self.now = now
    }

    /// Starts an upload with a URL that was issued for it.
    public func start(_ issued: IssuedURL) async throws(GatewayError) -> String {
        let answer = try await send(
            .post(body: []), issued.url, fields: issued.headers.map { .init($0.name, $0.value) })
        guard answer.status == 200 else { throw Self.refusal(answer) }
        guard let root = XMLElement.read(answer.body), root.name == "InitiateMultipartUploadResult",
            let id = root.text("UploadId"), Self.isUploadID(id)
        else { throw Self.unreadable }
        return id
    }

    /// Completes an upload with a URL that was issued for it.
    public func complete(
        _ issued: IssuedURL, parts: [UploadedPart]
    ) async throws(GatewayError) -> MultipartCompletion {
        // Numbers and tags contain no special characters of XML.
        let list = parts.map { "<Part><PartNumber>\($0.number)</PartNumber><ETag>\"\($0.etag)\"</ETag></Part>" }
        let body = "<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>"
        let (answer, wasRepeated) = try await answer(toCompletion: Array(body.utf8), by: issued)
        let root = XMLElement.read(answer.body)
        // A status of 200 may precede an error, because it is sent before the work is done. Any other content tells
        // nothing about the parts.
        guard answer.status == 200, root?.name != "Error" else {
            if StoreErrorCode.read(answer) == "NoSuchUpload" { return .unknownUpload(wasRepeated: wasRepeated) }
            throw Self.completionRefusal(answer)
        }
        guard let root, root.name == "CompleteMultipartUploadResult" else { throw Self.unreadable }
        // Ceph leaves it empty.
        return .done(etag: root.text("ETag").flatMap { try? UploadedPart(number: 1, etag: $0).etag })
    }

    /// The parts of an upload that the store has. A list with an unreadable part is refused, because completing an
    /// upload from it would lose that part.
    public func parts(
        of upload: MultipartUpload, after number: Int, atMost count: Int
    ) async throws(GatewayError) -> StoredParts {
        guard let storeUploadID = upload.storeUploadID else { throw .notFound(.multipartUpload) }
        var query = [NamedValue("max-parts", String(count))]
        if number > 0 { query.append(NamedValue("part-number-marker", String(number))) }
        query.append(NamedValue("uploadId", storeUploadID))
        let url = try await url("GET", of: upload.key, query: query, in: upload.bucket)
        let answer = try await send(.get, url, maxBytes: Self.maxListBytes)
        guard answer.status == 200 else {
            throw StoreErrorCode.read(answer) == "NoSuchUpload" ? .notFound(.multipartUpload) : Self.refusal(answer)
        }
        guard let root = XMLElement.read(answer.body), let found = StoredParts(root, after: number) else {
            throw Self.unreadable
        }
        return found
    }

    /// Aborts an upload; returns whether the store knew it.
    public func abort(_ storeUploadID: String, of upload: MultipartUpload) async throws(GatewayError) -> Bool {
        let answer = try await send(.delete, try await deletion(of: storeUploadID, upload))
        if [200, 204].contains(answer.status) { return true }
        // A bucket that was removed has no uploads.
        guard Self.lacks(["NoSuchUpload", "NoSuchBucket"], answer) else { throw Self.refusal(answer) }
        return false
    }

    /// Discards what the store still holds of an aborted upload.
    public func discard(_ storeUploadID: String, of upload: MultipartUpload) async throws(StoreFailure) {
        let url: Secret<String>
        do throws(GatewayError) {
            url = try await deletion(of: storeUploadID, upload)
        } catch {
            throw StoreFailure(unasked: error)
        }
        let answer: HTTPTransfer.Answer
        do throws(OutboundError) {
            answer = try await client.send(.delete, url.reveal(), maxBytes: Self.maxAnswerBytes)
        } catch {
            throw error.asStoreFailure
        }
        guard [200, 204].contains(answer.status) || Self.lacks(["NoSuchUpload"], answer) else {
            throw .unclear(Cause(OutboundError.status(answer.status).phrase))
        }
    }

    /// The entity tag of the object at the key, if the parts of an upload make it.
    ///
    /// Alibaba OSS writes tags in capitals, and makes them of parts in a way that it does not tell. Nor does a tag tell
    /// the content of an object that is encrypted with a key of the key management. Such an object counts if it has the
    /// number of parts, was made since the upload began, and is not too large, but only after a completion was sent:
    /// another upload of the key may have made it.
    public func etag(
        of upload: MultipartUpload, mayBeComplete: Bool
    ) async throws(GatewayError) -> String? {
        let url = try await url("HEAD", of: upload.key, in: upload.bucket)
        let answer = try await send(.head, url)
        switch answer.status {
        case 200: break
        case 404: return nil
        default: throw Self.refusal(answer)
        }
        guard let object = StoredObject(answer, at: now()), let etag = object.etag else { return nil }
        if let expected = upload.expectedETag, etag.lowercased() == expected { return etag }
        guard mayBeComplete, answer.hidesContentFromETag,
            etag.utf8.reversed().starts(with: "-\(upload.parts.count)".utf8.reversed()),
            let modifiedAt = object.modifiedAt, modifiedAt > upload.createdAt.addingTimeInterval(-Self.clockTolerance),
            object.size <= upload.contentLength ?? .max
        else { return nil }
        return etag
    }
}

extension MultipartCalls {
    private func url(
        _ method: String, of key: ObjectKey, query: [NamedValue] = [], in name: BucketName
    ) async throws(GatewayError) -> Secret<String> {
        guard let (bucket, credential) = try await cache.presentLocation(of: name) else {
            // Only an admin can fix this.
            throw .unavailable(retryAfter: 60, cause: "bucket \(name) is gone")
        }
        return try signer.url(
            method, of: key, in: bucket, with: credential, query: query, expiresIn: Self.urlLife, at: now())
    }

    private func deletion(
        of storeUploadID: String, _ upload: MultipartUpload
    ) async throws(GatewayError) -> Secret<String> {
        try await url("DELETE", of: upload.key, query: [NamedValue("uploadId", storeUploadID)], in: upload.bucket)
    }

    /// Sends a completion, and again while the store answers `InternalError`: S3 asks clients to repeat it then, and
    /// Ceph answers so while an equal completion is at work.
    private func answer(
        toCompletion body: [UInt8], by issued: IssuedURL
    ) async throws(GatewayError) -> (HTTPTransfer.Answer, wasRepeated: Bool) {
        let fields = issued.headers.map { HTTPTransfer.Field($0.name, $0.value) }
        let deadline = ContinuousClock.now + Self.completionTimeout
        var pauses = Self.completionPauses[...]
        while true {
            let answer = try await send(
                .post(body: body), issued.url, fields: fields, timeout: deadline - ContinuousClock.now)
            guard StoreErrorCode.read(answer) == "InternalError", let pause = pauses.popFirst(),
                ContinuousClock.now + pause < deadline, (try? await Task.sleep(for: pause)) != nil
            else { return (answer, wasRepeated: pauses.count < Self.completionPauses.count) }
        }
    }

    private func send(
        _ method: HTTPTransfer.Method, _ url: Secret<String>, fields: [HTTPTransfer.Field] = [],
        maxBytes: Int = Self.maxAnswerBytes, timeout: Duration? = nil
    ) async throws(GatewayError) -> HTTPTransfer.Answer {
        // libcurl sets the length.
        let own = fields.filter { $0.name.lowercased() != "content-length" }
        do throws(OutboundError) {
            return try await client.send(method, url.reveal(), fields: own, maxBytes: maxBytes, timeout: timeout)
        } catch {
            throw error.asGatewayError
        }
    }

    /// Whether the store says, by one of these codes, that something is not there. Another 404 may come from a proxy.
    private static func lacks(_ codes: Set<String>, _ answer: HTTPTransfer.Answer) -> Bool {
        answer.status == 404 && StoreErrorCode.read(answer).map(codes.contains) == true
    }

    /// What a refused completion means for the caller, if the parts are the reason.
    private static func completionRefusal(_ answer: HTTPTransfer.Answer) -> GatewayError {
        switch StoreErrorCode.read(answer) {
        case "InvalidPart", "InvalidPartOrder", "InvalidDigest", "MalformedXML":
            .invalidArgument(field: "parts", reason: "The store does not have all of these parts.")
        case "EntityTooSmall":
            .invalidArgument(field: "parts", reason: "A part other than the last one is too small.")
        default: refusal(answer)
        }
    }

    private static func refusal(_ answer: HTTPTransfer.Answer) -> GatewayError {
        OutboundError.refusal(status: answer.status, code: StoreErrorCode.read(answer))
    }

    private static let unreadable = GatewayError.unavailable(
        retryAfter: 5, cause: "the answer of the store cannot be read")

    private static func isUploadID(_ text: String) -> Bool {
        text.consists(of: .visible, count: 1...1024)
    }

    /// Reads `2030-03-17T17:46:40.123Z`, with or without a fraction.
    fileprivate static func instant(_ text: String) -> Date? {
        let style = Date.ISO8601FormatStyle()
        return (try? style.parse(text)) ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
    }
}

extension StoredParts {
    /// Reads the list of parts after a number; `nil` if the list is not plausible.
    fileprivate init?(_ root: XMLElement, after number: Int) {
        guard root.name == "ListPartsResult" else { return nil }
        var parts: [StoredPart] = []
        for child in root.children where child.name == "Part" {
            guard let part = StoredPart(child), part.part.number > parts.last?.part.number ?? number else { return nil }
            parts.append(part)
        }
        guard root.text("IsTruncated") == "true" else {
            self.init(parts: parts, next: nil)
            return
        }
        // Without a part the listing would loop.
        guard let last = parts.last?.part.number else { return nil }
        self.init(parts: parts, next: last)
    }
}

extension StoredPart {
    fileprivate init?(_ element: XMLElement) {
        guard let number = element.text("PartNumber").flatMap({ Int($0) }), let etag = element.text("ETag"),
            let part = try? UploadedPart(number: number, etag: etag),
            let size = element.text("Size").flatMap({ Int64($0) }), size >= 0,
            let modifiedAt = element.text("LastModified").flatMap(MultipartCalls.instant)
        else { return nil }
        self.init(part: part, size: size, modifiedAt: modifiedAt)
    }
}

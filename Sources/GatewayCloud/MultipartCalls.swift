import Bytes
import FoundationEssentials
public import GatewayCore
import LibCurl
import Signing
import StrictXML

/// Starts, completes and aborts multipart uploads at stores, by signed URLs in the scheme of the bucket.
public struct MultipartCalls: MultipartStore {
    private let calls: StoreCalls

    /// Seconds by which the time of an object may differ, in the gateway's clock.
    private static let clockTolerance: TimeInterval = 2
    private static let maxListBytes = 1 << 20
    // Stores copy the bytes of large objects before they answer.
    private static let completionTimeout = Duration.seconds(12)
    private static let completionPauses = [200, 400, 800, 1600].map(Duration.milliseconds)

    /// Makes an adapter on the requests to stores.
    public init(_ calls: StoreCalls) {
        self.calls = calls
    }

    /// Starts an upload with a URL that was issued for it.
    public func start(_ issued: IssuedURL) async throws(GatewayError) -> String {
        let answer = try await send([], by: issued)
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
        let answer: HTTPTransfer.Answer
        do throws(StoreCallError) {
            answer = try await ask("GET", .get, about: upload, query: query, maxBytes: Self.maxListBytes)
        } catch {
            throw error.asGatewayError
        }
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
        let answer: HTTPTransfer.Answer
        do throws(StoreCallError) { answer = try await delete(storeUploadID, of: upload) } catch {
            throw error.asGatewayError
        }
        if [200, 204].contains(answer.status) { return true }
        // A bucket that was removed has no uploads.
        guard Self.lacks(["NoSuchUpload", "NoSuchBucket"], answer) else { throw Self.refusal(answer) }
        return false
    }

    /// Discards what the store still holds of an aborted upload.
    public func discard(_ storeUploadID: String, of upload: MultipartUpload) async throws(StoreFailure) {
        let answer: HTTPTransfer.Answer
        do throws(StoreCallError) { answer = try await delete(storeUploadID, of: upload) } catch {
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
        let head: (look: StoreLook, answer: HTTPTransfer.Answer)
        do throws(StoreCallError) {
            let (bucket, credential) = try await location(of: upload.bucket)
            head = try await calls.head(upload.key, in: bucket, with: credential)
        } catch {
            throw error.asGatewayError
        }
        guard let object = head.look.object, let etag = object.etag else { return nil }
        if let expected = upload.expectedETag, etag.lowercased() == expected { return etag }
        guard mayBeComplete, head.answer.hidesContentFromETag,
            etag.utf8.reversed().starts(with: "-\(upload.parts.count)".utf8.reversed()),
            let modifiedAt = object.modifiedAt, modifiedAt > upload.createdAt.addingTimeInterval(-Self.clockTolerance),
            object.size <= upload.contentLength ?? .max
        else { return nil }
        return etag
    }
}

extension MultipartCalls {
    private func location(
        of name: BucketName
    ) async throws(StoreCallError) -> (bucket: Bucket, credential: StorageCredential) {
        guard let location = try await calls.location(of: name) else {
            // Only an admin can fix this.
            throw .unasked(.unavailable(retryAfter: 60, cause: "bucket \(name) is gone"))
        }
        return location
    }

    private func ask(
        _ name: String, _ method: HTTPTransfer.Method, about upload: MultipartUpload, query: [NamedValue],
        maxBytes: Int = StoreCalls.maxAnswerBytes
    ) async throws(StoreCallError) -> HTTPTransfer.Answer {
        let (bucket, credential) = try await location(of: upload.bucket)
        return try await calls.ask(
            name, method, for: upload.key, in: bucket, with: credential, query: query, maxBytes: maxBytes)
    }

    private func delete(
        _ storeUploadID: String, of upload: MultipartUpload
    ) async throws(StoreCallError) -> HTTPTransfer.Answer {
        try await ask("DELETE", .delete, about: upload, query: [NamedValue("uploadId", storeUploadID)])
    }

    /// Sends a completion, and again while the store answers `InternalError`: S3 asks clients to repeat it then, and
    /// Ceph answers so while an equal completion is at work.
    private func answer(
        toCompletion body: [UInt8], by issued: IssuedURL
    ) async throws(GatewayError) -> (HTTPTransfer.Answer, wasRepeated: Bool) {
        let deadline = ContinuousClock.now + Self.completionTimeout
        var pauses = Self.completionPauses[...]
        while true {
            let answer = try await send(body, by: issued, timeout: deadline - ContinuousClock.now)
            guard StoreErrorCode.read(answer) == "InternalError", let pause = pauses.popFirst(),
                ContinuousClock.now + pause < deadline, (try? await Task.sleep(for: pause)) != nil
            else { return (answer, wasRepeated: pauses.count < Self.completionPauses.count) }
        }
    }

    /// Sends a POST by a URL that was issued for it.
    private func send(
        _ body: [UInt8], by issued: IssuedURL, timeout: Duration? = nil
    ) async throws(GatewayError) -> HTTPTransfer.Answer {
        // libcurl sets the length.
        let headers = issued.headers.filter { $0.name.lowercased() != "content-length" }
        do throws(OutboundError) {
            return try await calls.client.send(
                .post(body: body), issued.url.reveal(), fields: headers.map { .init($0.name, $0.value) },
                maxBytes: StoreCalls.maxAnswerBytes, timeout: timeout)
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

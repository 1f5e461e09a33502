public import FoundationEssentials
import Signing

/// Multipart uploads: the gateway starts and completes them, and issues URLs for the parts.
///
/// Each step is decided and recorded like any other URL. The gateway records what a store may come to hold before it
/// asks the store, so leftovers can be cleaned up even if the gateway dies at any moment.
public struct MultipartUploads: Sendable {
    /// Longest time after which an uncompleted upload is aborted, in seconds.
    public static let maxLife = 2_592_000

    let rows: any MultipartUploadRows
    let store: any MultipartStore
    let now: @Sendable () -> Date
    let issuing: ProvenIssuing
    let cache: PolicyCache
    private let urls: PresignedURLs
    private let life: Duration

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - issuing: Decides about steps for which nothing is signed, and generates names and identifiers.
    ///   - urls: Issues the URLs of the other steps and of the parts.
    ///   - cache: Knows where the buckets are.
    ///   - rows: Stores the uploads.
    ///   - store: Performs operations at stores.
    ///   - life: Time after which an uncompleted upload is aborted.
    ///   - now: The gateway's clock.
    public init(
        _ issuing: ProvenIssuing, urls: PresignedURLs, cache: PolicyCache, rows: any MultipartUploadRows,
        store: any MultipartStore, life: Duration, now: @escaping @Sendable () -> Date
    ) {
        self.issuing = issuing
        self.urls = urls
        self.cache = cache
        self.rows = rows
        self.store = store
        self.life = life
        self.now = now
    }

    /// Starts an upload at the store.
    ///
    /// - Parameters:
    ///   - fields: Bucket, key or its prefix, content type, metadata, and the maximum total length of all parts.
    ///   - context: The caller and the circumstances of the request.
    /// - Throws: The errors of ``PresignedURLs``, `storeRefused`, `unavailable`.
    public func start(
        _ fields: IssueRequest.Fields, in context: RequestContext
    ) async throws(GatewayError) -> MultipartUpload {
        let wanted = try IssueRequest(starting: fields) { () throws(GatewayError) in
            try issuing.newName(at: 0, in: context.repeatable)
        }
        guard let contentType = wanted.contentType else {
            throw .unavailable(retryAfter: 1, cause: "an upload has no content type")
        }
        // If the idempotency key recorded it, a request could not be repeated after the store failed. A repetition
        // starts another upload, and the answer to a success is kept.
        let issued = try await urls.issue(wanted, in: context.withoutKey())
        let startedAt = now()
        var upload = MultipartUpload(
            id: issued.id, principal: context.caller.principal, bucket: wanted.bucket, key: wanted.key,
            contentType: contentType, contentLength: fields.contentLength, state: .starting, createdAt: startedAt,
            expiresAt: startedAt.addingTimeInterval(life / .seconds(1))
        )
        try await rows.insert(upload)
        let storeUploadID: String
        do throws(GatewayError) {
            storeUploadID = try await store.start(issued)
        } catch {
            // Only a refusal proves that the store holds nothing. A failure to record this does no harm.
            if case .storeRefused = error {
                _ = try? await rows.move(upload.id, from: [.starting], to: .aborted(as: nil, mayBeComplete: false))
            }
            throw error
        }
        upload.storeUploadID = storeUploadID
        upload.state = try await rows.open(upload.id, as: storeUploadID)
        guard upload.state == .open else { throw .conflict(reason: "The upload was aborted.") }
        return upload
    }

    /// Reads an upload of the caller.
    ///
    /// - Throws: `notFound`, also for an upload of another principal, and for one that the caller's ticket does not
    ///   cover; `unavailable`.
    public func upload(_ id: UUID, of caller: Caller) async throws(GatewayError) -> MultipartUpload {
        guard let upload = try await rows.find(id), upload.principal == caller.principal,
            caller.subject.mayAsk(for: .putObject, on: upload.key, in: upload.bucket)
        else { throw .notFound(.multipartUpload) }
        return upload
    }

    /// Returns the address of the bucket of an upload, as links of its default endpoint name it; `/` and the key
    /// follow. `nil` if the bucket is gone.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    public func bucketAddress(of upload: MultipartUpload) async throws(GatewayError) -> String? {
        guard let row = try await cache.bucket(named: upload.bucket), case let bucket = row.at(.default) ?? row,
            let endpoint = try? StoreEndpoint(bucket.endpoint),
            let address = try? BucketAddress(
                endpoint: endpoint, bucket: bucket.name.rawValue, addressing: bucket.addressing.forSigning)
        else { return nil }
        return address.origin + address.path
    }

    /// Issues URLs for parts, independently of each other.
    ///
    /// - Returns: One result per part, in order.
    /// - Throws: `notFound`; `conflict` if the upload is not open; `invalidArgument`, also if the parts do not fit the
    ///   length stated at the start; `unavailable`.
    public func issue(
        _ wishes: [PartWish], of id: UUID, in context: RequestContext
    ) async throws(GatewayError) -> [Result<IssuedURL, GatewayError>] {
        let upload = try await upload(id, of: context.caller)
        guard upload.state == .open, let storeUploadID = upload.storeUploadID, now() < upload.expiresAt else {
            throw Self.takesNoParts
        }
        guard Set(wishes.map(\.number)).count == wishes.count else {
            throw .invalidArgument(field: "parts", reason: "The list names a part more than once.")
        }
        var drafts: [Result<IssueRequest, GatewayError>] = []
        for (place, wish) in wishes.enumerated() {
            let repeatable = context.repeatable?.part(at: place, now: now())
            let issuance = if let repeatable { repeatable.id(at: now()) } else { try issuing.newID(at: now()) }
            drafts.append(
                Result { () throws(GatewayError) in
                    try IssueRequest(
                        part: wish, of: upload, storeUploadID: storeUploadID, issuance: issuance,
                        repeatable: repeatable)
                }
            )
        }
        let parts = drafts.compactMap { (try? $0.get())?.reservedPart }
        let objectLength = try await reserve(
            parts, of: id, unmeasured: wishes.firstIndex { $0.contentLength == nil })
        let requests = drafts.compactMap { (try? $0.get())?.with(objectLength: objectLength) }
        let results = await urls.issue(requests, in: context)
        // A part that was issued before remains usable even if it is not issued again, so its reservation is kept.
        await release(
            zip(parts, results).compactMap { part, result in
                result.isRefusal && context.repeatable?.isRecorded(part.issuance) != true ? part.issuance : nil
            })
        return drafts.answered(by: results)
    }

    /// Completes an upload from its parts. Repeating the call changes nothing.
    ///
    /// - Throws: `notFound`; `conflict`, also while the store may still make the object from other parts; the errors of
    ///   ``PresignedURLs``; `invalidArgument` for parts that the store does not have; `storeRefused`; `unavailable` if
    ///   the result is unknown, in which case the caller should repeat the call.
    public func complete(
        _ id: UUID, parts: [UploadedPart], in context: RequestContext
    ) async throws(GatewayError) -> MultipartUpload {
        guard zip(parts, parts.dropFirst()).allSatisfy({ $0.number < $1.number }), !parts.isEmpty else {
            throw .invalidArgument(field: "parts", reason: "List the parts in ascending order of their numbers.")
        }
        var upload = try await upload(id, of: context.caller)
        if upload.state == .completed, upload.parts == parts { return upload }
        let isRepetition = upload.state == .completing && upload.parts == parts
        guard upload.state == .open || upload.state == .completing, let storeUploadID = upload.storeUploadID else {
            throw .conflict(reason: "The upload is \(upload.state.rawValue).")
        }
        guard upload.state == .open || isRepetition else { throw Self.completesFromOtherParts }
        let length: Int64?
        do throws(GatewayError) { length = try await reserve([], of: id) } catch {
            return try await completed(id, from: parts, or: error)
        }
        let wanted = try IssueRequest(completing: upload, storeUploadID: storeUploadID, objectLength: length)
        // This is the gateway's own URL. If the idempotency key recorded it, a request could not be repeated after the
        // store failed. Completing twice changes nothing.
        let issued = try await urls.issue(wanted, in: context.withoutKey())
        guard try await rows.move(id, from: [.open, .completing], to: .completing(parts)) else {
            let reason = "The upload was aborted, completed, or listed with other parts in the meantime."
            return try await completed(id, from: parts, or: .conflict(reason: reason))
        }
        upload.parts = parts
        return try await complete(upload, by: issued, isRepetition: isRepetition)
    }

    private func complete(
        _ upload: MultipartUpload, by issued: IssuedURL, isRepetition: Bool
    ) async throws(GatewayError) -> MultipartUpload {
        let answer: MultipartCompletion
        do throws(GatewayError) {
            answer = try await store.complete(issued, parts: upload.parts)
        } catch {
            // Any other refusal tells nothing about an earlier attempt, whose answer may have been lost.
            if case .invalidArgument = error {
                _ = try? await rows.move(upload.id, from: [.completing], to: .refused(upload.parts))
            }
            throw error
        }
        let etag: String?
        let isCertain: Bool
        switch answer {
        case .done(let told): (etag, isCertain) = (told ?? upload.expectedETag, true)
        case .unknownUpload(let wasRepeated):
            // An earlier attempt may have reached the store, and its answer was lost or is still on its way.
            guard let found = try await store.etag(of: upload, mayBeComplete: isRepetition || wasRepeated) else {
                return try await completed(
                    upload.id, from: upload.parts, or: .conflict(reason: "The store no longer knows the upload."))
            }
            (etag, isCertain) = (found, upload.isTold(by: found))
        }
        // Another attempt, or an abort, may have changed the state while the store worked.
        _ = try await rows.move(
            upload.id, from: [.open, .completing, .aborting, .aborted],
            to: .completed(upload.parts, etag: etag, isCertain: isCertain))
        var completed = upload
        (completed.state, completed.etag) = (.completed, etag)
        return completed
    }

    /// The upload, if another request has completed it from the same parts meanwhile; throws the error otherwise.
    private func completed(
        _ id: UUID, from parts: [UploadedPart], or error: GatewayError
    ) async throws(GatewayError) -> MultipartUpload {
        guard let upload = try await rows.find(id), upload.state == .completed, upload.parts == parts else {
            throw error
        }
        return upload
    }

    /// Reserves parts within the length stated at the start, and returns that of all parts, if it is known.
    ///
    /// - Parameter unmeasured: The place in the request of the first part without a length.
    private func reserve(
        _ parts: [ReservedPart], of id: UUID, unmeasured: Int? = nil
    ) async throws(GatewayError) -> Int64? {
        switch try await rows.reserve(parts, of: id) {
        case .reserved(let objectLength): return objectLength
        case .closed: throw Self.takesNoParts
        case .tooLarge(let maxBytes):
            throw .invalidArgument(
                field: "parts",
                reason: "The start of the upload stated \(maxBytes) bytes, so its parts may have no more in all.")
        case .lengthRequired:
            throw .invalidArgument(
                field: unmeasured.map { "parts[\($0)].contentLength" } ?? "parts",
                reason: "The start of the upload stated its length, so each part has to state its own.")
        }
    }

    private func release(_ issuances: [UUID]) async {
        if !issuances.isEmpty { await rows.release(issuances) }
    }

    private static var completesFromOtherParts: GatewayError {
        .conflict(
            reason: """
                An earlier request lists other parts, from which the store may still make the object. Repeat the \
                completion with those.
                """)
    }

    private static var takesNoParts: GatewayError { .conflict(reason: "The upload does not accept parts now.") }
}

extension IssueRequest {
    /// The part in the form that is reserved; `nil` if the request is not for a part.
    fileprivate var reservedPart: ReservedPart? {
        guard case .part(let part) = multipart else { return nil }
        return ReservedPart(issuance: part.issuance, number: part.number, contentLength: contentLength)
    }

    /// Returns the request with the total length of the object set.
    fileprivate func with(objectLength: Int64?) -> IssueRequest {
        guard case .part(var part) = multipart else { return self }
        part.objectLength = objectLength
        return with(.part(part))
    }
}

extension Result<IssuedURL, GatewayError> {
    /// Whether it is certain that no URL was recorded. Without an answer from the database, one may be.
    fileprivate var isRefusal: Bool {
        switch self {
        case .success, .failure(.unavailable): false
        case .failure: true
        }
    }
}

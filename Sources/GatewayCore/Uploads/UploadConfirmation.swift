import Bytes
public import FoundationEssentials

/// Finds out the result of uploads by asking the store.
///
/// A finding is returned and recorded, but releases no reserved bytes: those are settled after the URL expires.
public struct UploadConfirmation: Sendable {
    private let records: any UploadRecords
    private let objects: any StoredObjects
    /// Users decide when stores are asked, so the gate limits the requests.
    private let gate = Gate(size: 64, share: 16)

    /// Stores report times in whole seconds.
    private static let tolerance: TimeInterval = 2

    /// Creates the use case from its parts.
    public init(records: any UploadRecords, objects: any StoredObjects) {
        self.records = records
        self.objects = objects
    }

    /// Confirms an upload that was issued to the caller. Of a multipart upload that is not completed, this tells what
    /// is known, and does not ask the store.
    ///
    /// - Throws: `notFound` if the issuance is not the caller's, `conflict` if it does not permit an upload of one
    ///   known object, and the errors of ``StoredObjects``.
    public func confirm(_ id: UUID, by caller: Caller) async throws(GatewayError) -> ListedUpload {
        let upload = try await records.upload(id)
        // An issuance of another caller gets the same answer as one that does not exist.
        guard let upload, upload.record.principal.isSameBytes(as: caller.principal.rawValue) else {
            throw .notFound(.issuance)
        }
        return try await confirm(upload, for: caller.principal)
    }

    /// Confirms an upload issued to any principal.
    public func confirm(_ id: UUID) async throws(GatewayError) -> ListedUpload {
        guard let upload = try await records.upload(id) else { throw .notFound(.issuance) }
        return try await confirm(upload, for: nil)
    }

    /// Lists uploads with their known results.
    public func list(_ query: UploadQuery) async throws(GatewayError) -> LedgerPage<ListedUpload> {
        try await records.uploads(query)
    }

    private func confirm(
        _ upload: ListedUpload, for principal: Principal?
    ) async throws(GatewayError) -> ListedUpload {
        let record = upload.record
        let (bucket, key) = try record.place()
        if upload.state == .landed, upload.finding?.source == .confirmation { return upload }
        // What the store shows would be recorded as its object, and would stay so.
        if record.isUncompleted { return upload }
        let object = try await gate.pass(for: principal) { () async throws(GatewayError) in
            try await objects.object(key, in: bucket, withSHA256: record.contentSHA256 != nil)
        }
        let found = record.finding(of: object, tolerance: Self.tolerance)
        // What landed did so, even if it is gone by now, or if another object has replaced what the store completed.
        let isReplaced = upload.finding?.source == .completion && found.mismatches.contains(.md5)
        if upload.state == .landed, found.kind == .absent || isReplaced { return upload }
        let finding = try await records.note(found, on: record.id)
        return ListedUpload(record: record, state: record.state(after: finding), finding: finding)
    }
}

extension UploadRecord {
    /// Returns bucket and key of the one object that this upload creates.
    fileprivate func place() throws(GatewayError) -> (BucketName, ObjectKey) {
        guard action == Action.putObject.rawValue else {
            throw .conflict(reason: "The issuance does not permit an upload, so there is nothing to confirm.")
        }
        switch Delivery(rawValue: delivery) {
        case .presignedURL?, .postPolicy?, .multipartStart?: break
        case .remoteSignature? where method == "PUT": break
        case .multipartPart?, .multipartComplete?:
            throw .conflict(
                reason: "This is a step of an upload in parts; confirm the upload by its own identifier, if it has one."
            )
        case .sts?:
            throw .conflict(reason: "Temporary credentials permit many objects; there is no single object to confirm.")
        default:
            throw .conflict(
                reason: "The issuance does not create an object by itself; there is nothing to confirm.")
        }
        guard let bucket = try? BucketName(bucket), let key = try? ObjectKey(key) else {
            throw .conflict(
                reason: "The form left the key to the client, so the gateway does not know which object to look for.")
        }
        return (bucket, key)
    }

    /// Compares the object at the store with the bound properties.
    func finding(of object: StoredObject?, tolerance: TimeInterval) -> UploadFinding {
        guard let object, isTimely(object, tolerance: tolerance) else {
            return UploadFinding(kind: .absent, source: .confirmation)
        }
        var mismatches: [UploadFinding.Mismatch] = []
        if let contentLength {
            let isLimit = delivery == Delivery.postPolicy.rawValue || delivery == Delivery.multipartStart.rawValue
            let fits = isLimit ? object.size <= contentLength : object.size == contentLength
            if !fits { mismatches.append(.size) }
        }
        if let contentMD5, let md5 = object.md5, md5 != contentMD5 { mismatches.append(.md5) }
        // If the signature binds the SHA-256, the store verified it on upload and need not report it.
        var isVerified = true
        if let contentSHA256 {
            if let sha256 = object.sha256 {
                if sha256 != contentSHA256 { mismatches.append(.sha256) }
            } else {
                isVerified = signsPayload
            }
        }
        if let completedETag, let etag = object.etag, etag != completedETag { mismatches.append(.md5) }
        if let contentType, let type = object.contentType, !Self.isOne(type, of: contentType) {
            mismatches.append(.type)
        }
        let fitting: UploadFinding.Kind = isVerified ? .landed : .unverified
        return UploadFinding(
            kind: mismatches.isEmpty ? fitting : .mismatched, mismatches: mismatches, source: .confirmation,
            size: object.size, etag: object.etag, contentType: object.contentType)
    }

    /// Tests whether an object was last written while the upload could write it. An object from before it was
    /// permitted, or from after its end, is not its result: the caller may not even learn its size.
    private func isTimely(_ object: StoredObject, tolerance: TimeInterval) -> Bool {
        guard let modifiedAt = object.modifiedAt else { return true }
        guard modifiedAt >= begins.addingTimeInterval(-tolerance) else { return false }
        // The gateway completed the upload, however late.
        if let completedETag, object.etag == completedETag { return true }
        return modifiedAt <= lastStart.addingTimeInterval(tolerance + UploadOverrun.slack + longestTransfer(of: object))
    }

    /// The latest time at which the upload could begin or, in parts, be completed.
    private var lastStart: Date {
        hasForgottenEnd ? max(expiresAt, begins.addingTimeInterval(TimeInterval(MultipartUploads.maxLife))) : expiresAt
    }

    /// Seconds that the request that wrote an object may have taken. Some stores tell when it ended.
    private func longestTransfer(of object: StoredObject) -> TimeInterval {
        // Parts arrive before the upload is completed.
        guard delivery != Delivery.multipartStart.rawValue else { return 0 }
        return TimeInterval(min(object.size, contentLength ?? IssueRequest.maxContentLength)) / UploadOverrun.leastRate
    }

    /// The earliest time at which the upload could begin, by the gateway's clock. The issuance id contains it; for a
    /// repeated request, it is the time of the first one. The database's clock may differ. Stores tell whole seconds.
    private var begins: Date {
        let begins = max(id.version7Instant, issuedAt.addingTimeInterval(-30))
        return Date(timeIntervalSince1970: begins.timeIntervalSince1970.rounded(.down))
    }

    /// Returns the state of the upload after a finding.
    func state(after finding: UploadFinding) -> UploadState {
        switch finding.kind {
        case .landed: .landed
        case .mismatched: .mismatched
        case .unverified: .unverified
        case .absent: isDead ? .expired : .issued
        }
    }

    /// Returns whether a content type is among the bound ones, ignoring parameters such as the character set.
    private static func isOne(_ type: String, of bound: String) -> Bool {
        func essence(_ text: Substring.UTF8View) -> [UInt8] {
            text.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
                .map(\.lowercased)
        }
        return bound.utf8.split(separator: UInt8(ascii: ",")).contains { essence($0) == essence(type.utf8[...]) }
    }
}

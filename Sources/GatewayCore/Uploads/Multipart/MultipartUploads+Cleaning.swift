import Bytes
public import FoundationEssentials
import LibCrypto

extension MultipartUploads {
    /// Aborts an upload of the caller. Aborting an aborted upload succeeds.
    ///
    /// - Throws: `notFound`, `conflict` if the upload is completed, or turns out to be, `storeRefused`, `unavailable`.
    public func abort(_ id: UUID, by caller: Caller) async throws(GatewayError) {
        try await abort(try await upload(id, of: caller), by: nil)
    }

    /// Reads an upload of any principal, for admins.
    ///
    /// - Throws: `notFound`, `unavailable`.
    public func upload(_ id: UUID) async throws(GatewayError) -> MultipartUpload {
        guard let upload = try await rows.find(id) else { throw .notFound(.multipartUpload) }
        return upload
    }

    /// Reads a page of uploads of all principals, for admins.
    ///
    /// - Throws: `invalidArgument` for an unknown filter or an invalid token, `unavailable`.
    public func list(_ query: ListQuery) async throws(GatewayError) -> Page<MultipartUpload> {
        try await rows.list(query)
    }

    /// Aborts an upload of any principal, for admins. The audit log gets a row if nobody has begun to abort it before.
    ///
    /// - Throws: `notFound`, `conflict` if the upload is completed, or turns out to be, `storeRefused`, `unavailable`.
    public func abort(_ id: UUID, by change: ChangeContext) async throws(GatewayError) {
        try await abort(try await upload(id), by: change)
    }

    private func abort(_ upload: MultipartUpload, by admin: ChangeContext?) async throws(GatewayError) {
        var upload = upload
        // What was read may have changed meanwhile: a start or a refused completion that ends leaves the upload open.
        for _ in 0..<3 {
            try await clean(upload, by: admin)
            upload = try await self.upload(upload.id)
            if upload.state == .aborting || upload.state == .aborted { return }
            // A completion may have come first.
            if upload.state == .completed || upload.state == .completing { break }
        }
        throw .conflict(reason: "The upload is \(upload.state.rawValue).")
    }

    /// Makes the store discard the parts of an abandoned upload. If the object that they make is at the store, the
    /// upload is recorded as completed. The store is asked to abort it all the same: another upload may have made an
    /// equal object, and the parts of this one would stay.
    ///
    /// If the store's answer to the start was lost, nothing is asked of the store: an upload whose identifier nobody
    /// knows has no parts, and among the uploads of its key it cannot be told from those that others started. Nor can
    /// anything be asked once the row of the bucket was deleted: the upload ends, and what its parts reserved stays
    /// counted.
    ///
    /// - Throws: `storeRefused`, `unavailable`; the caller should try again later.
    public func clean(_ upload: MultipartUpload) async throws(GatewayError) {
        try await clean(upload, by: nil)
    }

    private func clean(_ upload: MultipartUpload, by admin: ChangeContext?) async throws(GatewayError) {
        guard MultipartUpload.State.unfinished.contains(upload.state) else { return }
        if let storeUploadID = upload.storeUploadID, try await cache.presentBucket(named: upload.bucket) == nil {
            _ = try await giveUp(upload, as: .aborted(as: storeUploadID, mayBeComplete: true), by: admin)
            return
        }
        if upload.state == .completing, let storeUploadID = upload.storeUploadID,
            let etag = try await store.etag(of: upload, mayBeComplete: true)
        {
            if let admin { try await rows.prove(admin) }
            let wasUnfinished = try await store.abort(storeUploadID, of: upload)
            // If the store had not completed this upload, a tag that is no digest is of another.
            let isCertain = upload.isTold(by: etag)
            if !wasUnfinished || isCertain {
                _ = try await rows.move(
                    upload.id, from: [.completing], to: .completed(upload.parts, etag: etag, isCertain: isCertain))
            } else if try await giveUp(upload, as: .aborting, by: admin) {
                _ = try await rows.move(
                    upload.id, from: [.aborting], to: .aborted(as: storeUploadID, mayBeComplete: false))
            }
            return
        }
        guard try await giveUp(upload, as: .aborting, by: admin) else { return }
        guard let storeUploadID = upload.storeUploadID else {
            _ = try await rows.move(upload.id, from: [.aborting], to: .aborted(as: nil, mayBeComplete: false))
            return
        }
        if try await store.abort(storeUploadID, of: upload) {
            // Also where another gateway asked at the same time and was told that the store does not know the upload.
            _ = try await rows.move(
                upload.id, from: [.aborting, .aborted], to: .aborted(as: storeUploadID, mayBeComplete: false))
        } else {
            _ = try await rows.move(upload.id, from: [.aborting], to: .aborted(as: storeUploadID, mayBeComplete: true))
        }
    }

    /// Changes the state of an upload that is to end, if it is still as it was read; returns whether it was. The audit
    /// log tells of an admin who is the first to have the upload aborted.
    private func giveUp(
        _ upload: MultipartUpload, as change: MultipartChange, by admin: ChangeContext?
    ) async throws(GatewayError) -> Bool {
        guard let admin, upload.state != .aborting else {
            return try await rows.move(upload.id, from: [upload.state], to: change)
        }
        return try await rows.abort(upload.id, from: upload.state, to: change, by: admin)
    }

    /// Makes the store discard the parts of an aborted upload once more. A part that was on its way during the first
    /// time may have been kept, so this is called when no part can be on its way any more.
    ///
    /// Once the row of the bucket was deleted, nobody can ask the store, and nothing is done: the ledger then supports
    /// no proof that a part of the bucket is in no object.
    ///
    /// - Throws: The reason why parts may be left; `unasked` also for an upload that is not aborted, such as one that a
    ///   late answer of the store has completed.
    /// - SeeAlso: Amazon S3 API Reference, "AbortMultipartUpload".
    public func discardAgain(_ id: UUID) async throws(StoreFailure) {
        let upload: MultipartUpload
        let hasBucket: Bool
        do throws(GatewayError) {
            upload = try await self.upload(id)
            // Memory may lack a bucket that was made since.
            hasBucket = try await cache.presentBucket(named: upload.bucket) != nil
        } catch {
            throw StoreFailure(unasked: error)
        }
        guard upload.state == .aborted, let storeUploadID = upload.storeUploadID else {
            throw .unasked("the upload is not aborted")
        }
        guard hasBucket else { return }
        try await store.discard(storeUploadID, of: upload)
    }
}

extension MultipartUpload {
    /// The entity tag that S3, Ceph and MinIO give to an object of these parts: the MD5 of the parts' MD5s, and the
    /// number of parts; `nil` if the entity tags of the parts are not MD5s.
    public var expectedETag: String? {
        var digests: [UInt8] = []
        for part in parts {
            guard let bytes = Hex.decode(part.etag), bytes.count == 16 else { return nil }
            digests += bytes
        }
        return parts.isEmpty ? nil : "\(DigestAlgorithm.md5.digest(of: digests).hex)-\(parts.count)"
    }

    /// Whether an entity tag tells that an object consists of these parts. Any other tag may be that of an object of
    /// other parts.
    func isTold(by etag: String) -> Bool { etag.lowercased() == expectedETag }
}

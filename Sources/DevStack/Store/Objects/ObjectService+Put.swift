import FoundationEssentials
import HTTPServing
import HTTPTypes
import Signing

extension ObjectService {
    /// Stores an object. If it fails, nothing is left behind.
    func put(
        _ name: ObjectName, _ fields: RequestFields, _ received: UploadContent, of request: StoreRequest,
        at instant: SigningInstant
    ) async throws -> ServerResponse {
        let put = try PutRequest(fields, maxBytes: maxObjectBytes)
        let callback = try OSSCallback(request, fields)
        try refuseOverwriting(name, put.overwriting)
        let upload = try files.beginUpload()
        defer { upload.discard() }
        let content = try await receive(received, put.claims, into: upload)
        let record = try keep(upload, name, content, put, at: instant)
        report(record, in: name.bucket, as: .put, at: instant)
        var head = HeaderFields()
        head[.eTag] = record.entityTag
        record.tellChecksums(in: &head)
        return try await answer(to: callback, record, in: name.bucket)
            ?? ServerResponse(head: ResponseHead(status: .ok, headerFields: head))
    }

    /// Receives a body, and holds it against what the client said of it.
    func receive(
        _ received: UploadContent, _ claims: ContentClaims, into upload: ObjectFiles.Upload
    ) async throws -> ContentCheck.Result {
        var check = try ContentCheck(claims, seed: received.seed)
        for try await piece in received.body.chunks { try upload.write(try check.add(piece)) }
        return try check.finish()
    }

    /// Makes received bytes the object of a key.
    func keep(
        _ upload: ObjectFiles.Upload, _ name: ObjectName, _ content: ContentCheck.Result, _ put: PutRequest,
        at instant: SigningInstant
    ) throws -> ObjectRecord {
        let record = ObjectRecord(
            key: name.key, body: UUID().uuidString.lowercased(), byteCount: content.byteCount, md5: content.md5,
            checksums: content.checksums, modifiedAt: instant.epochSeconds, fields: put.fields)
        do {
            try files.commit(upload, name.bucket, record, onlyIfAbsent: put.overwriting != .permitted)
        } catch let error as StoreError where error.code == "PreconditionFailed" && put.overwriting == .forbidden {
            throw StoreError.fileAlreadyExists
        }
        return record
    }

    /// Refuses early, before the body is read; the commit decides.
    func refuseOverwriting(_ name: ObjectName, _ overwriting: PutRequest.Overwriting) throws {
        guard overwriting != .permitted, try files.record(name.bucket, name.key) != nil else { return }
        throw overwriting == .forbidden ? StoreError.fileAlreadyExists : .preconditionFailed("If-None-Match")
    }

    /// Removes an object. The answer is the same if there was none.
    func delete(_ name: ObjectName, _ fields: RequestFields, at instant: SigningInstant) throws -> ServerResponse {
        try fields.refuseVendorHeaders(except: ["content-sha256", "date", "security-token", "user-agent"])
        try remove(name, at: instant)
        return ServerResponse(head: ResponseHead(status: .noContent))
    }

    /// Removes an object, if there is one, and reports it.
    func remove(_ name: ObjectName, at instant: SigningInstant) throws {
        if let record = try files.record(name.bucket, name.key), try files.remove(name.bucket, name.key) {
            report(record, in: name.bucket, as: .delete, at: instant)
        }
    }
}

extension ObjectRecord {
    /// Adds the checksums to the headers of an answer.
    func tellChecksums(in fields: inout HeaderFields) {
        guard let checksums, !checksums.isEmpty else { return }
        for (name, checksum) in checksums { fields.set(name, to: checksum) }
        fields.set("x-amz-checksum-type", to: "FULL_OBJECT")
    }
}

import FoundationEssentials
import HTTPServing
import HTTPTypes
import Signing

extension ObjectService {
    /// Stores an object. If it fails, nothing is left behind.
    func put(
        _ name: ObjectName, _ fields: RequestFields, _ body: RequestBody, of request: StoreRequest,
        at instant: SigningInstant
    ) async throws -> ServerResponse {
        let put = try PutRequest(fields, maxBytes: maxObjectBytes)
        let callback = try OSSCallback(request, fields)
        try refuseOverwriting(name, put.overwriting)
        let upload = try files.beginUpload()
        defer { upload.discard() }
        var check = ContentCheck(put.claims)
        for try await chunk in body.chunks {
            try check.add(chunk)
            try upload.write(chunk)
        }
        let content = try check.finish()
        let record = try keep(upload, name, content, put, at: instant)
        report(record, in: name.bucket, as: .put, at: instant)
        var head = HeaderFields()
        head[.eTag] = record.entityTag
        if fields.dialect == .s3 { head.set("x-amz-checksum-sha256", to: record.sha256) }
        return try await answer(to: callback, record, in: name.bucket)
            ?? ServerResponse(head: ResponseHead(status: .ok, headerFields: head))
    }

    /// Makes received bytes the object of a key.
    func keep(
        _ upload: ObjectFiles.Upload, _ name: ObjectName, _ content: ContentCheck.Result, _ put: PutRequest,
        at instant: SigningInstant
    ) throws -> ObjectRecord {
        let record = ObjectRecord(
            key: name.key, body: UUID().uuidString.lowercased(), byteCount: content.byteCount, md5: content.md5,
            sha256: content.sha256, modifiedAt: instant.epochSeconds, fields: put.fields)
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
        if let record = try files.record(name.bucket, name.key), try files.remove(name.bucket, name.key) {
            report(record, in: name.bucket, as: .delete, at: instant)
        }
        return ServerResponse(head: ResponseHead(status: .noContent))
    }
}

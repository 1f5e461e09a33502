import Foundation
import HTTPServing
import HTTPTypes
import LibCrypto
import Signing

extension EmbeddedStore {
    /// Stores an object. If it fails, nothing is left behind.
    func put(
        _ name: ObjectName, _ request: PutRequest, _ body: RequestBody, at instant: SigningInstant
    ) async throws -> ServerResponse {
        if request.onlyIfAbsent, try files.record(name.bucket, name.key) != nil {
            throw StoreError.preconditionFailed("If-None-Match")
        }
        let upload = try files.beginUpload()
        defer { upload.discard() }
        let digests = try await receive(body, of: request, into: upload)
        let record = ObjectRecord(
            key: name.key,
            body: UUID().uuidString.lowercased(),
            byteCount: request.byteCount,
            md5: digests.md5.hex,
            sha256: digests.sha256?.base64,
            modifiedAt: instant.epochSeconds,
            fields: request.fields
        )
        try files.commit(upload, name.bucket, record, onlyIfAbsent: request.onlyIfAbsent)
        var fields: HeaderFields = [.eTag: record.entityTag]
        fields.set("x-amz-checksum-sha256", to: record.sha256)
        return ServerResponse(head: ResponseHead(status: .ok, headerFields: fields))
    }

    private func receive(
        _ body: RequestBody, of request: PutRequest, into upload: ObjectFiles.Upload
    ) async throws -> (md5: Digest, sha256: Digest?) {
        var md5 = IncrementalDigest(.md5)
        var sha256 = IncrementalDigest(.sha256)
        var received: Int64 = 0
        func take(_ chunk: [UInt8]) throws {
            received += Int64(chunk.count)
            guard received <= request.byteCount else { throw StoreError.incompleteBody }
            md5.update(chunk)
            if request.sha256 != nil { sha256.update(chunk) }
            try upload.write(chunk)
        }
        switch body {
        case .collected(let bytes):
            try take(bytes)
        case .stream(let chunks):
            for try await chunk in chunks { try take(chunk) }
        }
        guard received == request.byteCount else { throw StoreError.incompleteBody }
        let digest = md5.finalize()
        guard request.md5 == nil || request.md5 == digest.bytes else { throw StoreError.badDigest("Content-MD5") }
        guard let expected = request.sha256 else { return (digest, nil) }
        let checksum = sha256.finalize()
        guard checksum.bytes == expected else { throw StoreError.badDigest("SHA256") }
        return (digest, checksum)
    }
}

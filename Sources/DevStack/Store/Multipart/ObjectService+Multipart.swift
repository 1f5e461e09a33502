import Bytes
import FoundationEssentials
import HTTPServing
import HTTPTypes
import LibCrypto
import LocalFiles
import Signing

extension ObjectService {
    /// Starts an upload in parts.
    func startUpload(
        _ name: ObjectName, _ fields: RequestFields, at instant: SigningInstant
    ) throws -> ServerResponse {
        let put = try PutRequest(startOf: fields)
        try refuseOverwriting(name, put.overwriting)
        let id = Hex.encode(try randomBytes(count: 16))
        let upload = PartsUpload(id: id, key: name.key, startedAt: instant.epochSeconds, fields: put.fields)
        try files.startUpload(upload, in: name.bucket)
        return StoreXML(
            "InitiateMultipartUploadResult", namespace: fields.dialect.namespace,
            [StoreXML("Bucket", name.bucket), StoreXML("Key", name.key), StoreXML("UploadId", id)]
        ).response()
    }

    /// Receives a part.
    func putPart(
        _ name: ObjectName, _ fields: RequestFields, _ received: UploadContent, of request: StoreRequest,
        at instant: SigningInstant
    ) async throws -> ServerResponse {
        try fields.refuseVendorHeaders(
            except: ChecksumAlgorithm.names.union([
                "content-sha256", "date", "decoded-content-length", "sdk-checksum-algorithm", "security-token",
                "trailer", "user-agent",
            ]))
        let claims = try ContentClaims(fields, maxBytes: maxObjectBytes)
        try PutRequest.refuseUnknownEncodings(fields, inChunks: claims.payload.isChunked)
        guard let number = try request.parameter("partNumber").flatMap({ Int($0) }), 1...10_000 ~= number else {
            throw StoreError.invalidArgument("Part number must be an integer between 1 and 10000, inclusive")
        }
        let upload = try upload(of: request, name)
        let kept = try files.beginUpload()
        defer { kept.discard() }
        let content = try await receive(received, claims, into: kept)
        let part = PartRecord(
            number: number, body: UUID().uuidString.lowercased(), byteCount: content.byteCount, md5: content.md5,
            modifiedAt: instant.epochSeconds)
        try files.commit(kept, part, of: upload.id, in: name.bucket)
        var head: HeaderFields = [.eTag: "\"\(part.md5)\""]
        for (name, checksum) in content.checksums { head.set(name, to: checksum) }
        return ServerResponse(head: ResponseHead(status: .ok, headerFields: head))
    }

    /// Lists the parts of an upload.
    func listParts(_ name: ObjectName, _ request: StoreRequest, _ dialect: StoreDialect) throws -> ServerResponse {
        let upload = try upload(of: request, name)
        let most = try ListingQuery.count(request.parameter("max-parts"), "max-parts")
        let after = try request.parameter("part-number-marker").flatMap { Int($0) } ?? 0
        let rest = try files.parts(of: upload.id, in: name.bucket).filter { $0.number > after }
        let page = rest.prefix(most)
        var children = [
            StoreXML("Bucket", name.bucket), StoreXML("Key", name.key), StoreXML("UploadId", upload.id),
            StoreXML("PartNumberMarker", "\(after)"), StoreXML("NextPartNumberMarker", "\(page.last?.number ?? 0)"),
            StoreXML("MaxParts", "\(most)"), StoreXML("IsTruncated", "\(page.count < rest.count && most > 0)"),
        ]
        children += page.map { part in
            StoreXML(
                "Part",
                [
                    StoreXML("PartNumber", "\(part.number)"), StoreXML("LastModified", Self.time(part.modifiedAt)),
                    StoreXML("ETag", "\"\(part.md5)\""), StoreXML("Size", "\(part.byteCount)"),
                ])
        }
        return StoreXML("ListPartsResult", namespace: dialect.namespace, children).response()
    }

    /// Makes the named parts one object.
    func completeUpload(
        _ name: ObjectName, _ fields: RequestFields, _ body: RequestBody, of request: StoreRequest,
        at instant: SigningInstant
    ) async throws -> ServerResponse {
        try fields.refuseVendorHeaders(
            except: ChecksumAlgorithm.names.union([
                "callback", "callback-var", "checksum-type", "content-sha256", "date", "forbid-overwrite",
                "security-token", "user-agent",
            ]))
        let upload = try upload(of: request, name)
        let callback = try OSSCallback(request, fields)
        let bytes = try await body.bytes(atMost: Self.maxDocumentBytes)
        try checkSigned(bytes, fields)
        let parts = try chosenParts(try PartList.read(bytes), of: upload.id, in: name.bucket, fields.dialect)
        let forbids = fields.dialect == .oss && fields["x-oss-forbid-overwrite"] == "true"
        let onlyIfAbsent = forbids || fields["if-none-match"] == "*"
        let whole = try files.beginUpload()
        defer { whole.discard() }
        let content = try join(
            parts, of: upload.id, in: name.bucket, into: whole, try ContentClaims(wholeOf: fields))
        let tags = parts.flatMap { Hex.decode($0.md5) ?? [] }
        let record = ObjectRecord(
            key: name.key, body: UUID().uuidString.lowercased(), byteCount: content.byteCount, md5: content.md5,
            checksums: content.checksums, modifiedAt: instant.epochSeconds, fields: upload.fields,
            partsTag: "\(DigestAlgorithm.md5.digest(of: tags).hex)-\(parts.count)")
        do {
            try files.commit(whole, name.bucket, record, onlyIfAbsent: onlyIfAbsent, closing: upload.id)
        } catch let error as StoreError where error.code == "PreconditionFailed" && forbids {
            throw StoreError.fileAlreadyExists
        }
        report(record, in: name.bucket, as: .completeUpload, at: instant)
        if let answer = try await answer(to: callback, record, in: name.bucket) { return answer }
        return StoreXML(
            "CompleteMultipartUploadResult", namespace: fields.dialect.namespace,
            [
                StoreXML("Location", "/\(name.bucket)/\(name.key)"), StoreXML("Bucket", name.bucket),
                StoreXML("Key", name.key), StoreXML("ETag", record.entityTag),
            ]
        ).response()
    }

    /// Removes an upload and its parts.
    func abortUpload(_ name: ObjectName, _ request: StoreRequest) throws -> ServerResponse {
        let upload = try upload(of: request, name)
        guard try files.abortUpload(upload.id, in: name.bucket) else { throw StoreError.noSuchUpload }
        return ServerResponse(head: ResponseHead(status: .noContent))
    }

    /// Lists the uploads that are under way, all in one answer or none of the rest.
    func listUploads(_ bucket: String, _ request: StoreRequest, _ dialect: StoreDialect) throws -> ServerResponse {
        let prefix = try request.parameter("prefix") ?? ""
        let most = try ListingQuery.count(request.parameter("max-uploads"), "max-uploads")
        let keyMarker = try request.parameter("key-marker") ?? ""
        let idMarker = try request.parameter("upload-id-marker") ?? ""
        let rest = try files.uploads(in: bucket, prefix: prefix)
            .filter { ($0.key, $0.id) > (keyMarker, keyMarker.isEmpty ? "" : idMarker.isEmpty ? "g" : idMarker) }
        let page = rest.prefix(most)
        let isTruncated = page.count < rest.count && most > 0
        var children = [
            StoreXML("Bucket", bucket), StoreXML("KeyMarker", keyMarker), StoreXML("UploadIdMarker", idMarker),
            StoreXML("Prefix", prefix), StoreXML("MaxUploads", "\(most)"), StoreXML("IsTruncated", "\(isTruncated)"),
        ]
        if isTruncated, let last = page.last {
            children += [StoreXML("NextKeyMarker", last.key), StoreXML("NextUploadIdMarker", last.id)]
        }
        children += page.map { upload in
            StoreXML(
                "Upload",
                [
                    StoreXML("Key", upload.key), StoreXML("UploadId", upload.id),
                    StoreXML("Initiated", Self.time(upload.startedAt)),
                ])
        }
        return StoreXML("ListMultipartUploadsResult", namespace: dialect.namespace, children).response()
    }

    private func upload(of request: StoreRequest, _ name: ObjectName) throws -> PartsUpload {
        guard let id = try request.parameter("uploadId"), let upload = try files.upload(id, in: name.bucket),
            upload.key.isSameBytes(as: name.key)
        else { throw StoreError.noSuchUpload }
        return upload
    }

    /// Finds the listed parts, and checks their order, tags and sizes.
    private func chosenParts(
        _ list: [PartList.Entry], of id: String, in bucket: String, _ dialect: StoreDialect
    ) throws -> [PartRecord] {
        guard zip(list, list.dropFirst()).allSatisfy({ $0.number < $1.number }) else {
            throw StoreError.invalidPartOrder
        }
        let held = Dictionary(
            try files.parts(of: id, in: bucket).map { ($0.number, $0) }, uniquingKeysWith: { $1 })
        let parts = try list.map { entry in
            guard let part = held[entry.number], part.md5 == entry.tag else { throw StoreError.invalidPart }
            return part
        }
        guard parts.dropLast().allSatisfy({ $0.byteCount >= dialect.leastPartBytes }) else {
            throw StoreError.entityTooSmall(leastBytes: dialect.leastPartBytes)
        }
        return parts
    }

    private func join(
        _ parts: [PartRecord], of id: String, in bucket: String, into whole: ObjectFiles.Upload,
        _ claims: ContentClaims
    ) throws -> ContentCheck.Result {
        var check = try ContentCheck(claims)
        for part in parts {
            // A part that was replaced meanwhile is not the one that was listed.
            guard let bytes = try? files.open(part, of: id, in: bucket) else { throw StoreError.invalidPart }
            while case let chunk = try bytes.read(atMost: 256 << 10), !chunk.isEmpty {
                try check.add(chunk)
                try whole.write(chunk)
            }
        }
        return try check.finish()
    }

    /// Compares a small body with the digests in its headers.
    private func checkSigned(_ bytes: [UInt8], _ fields: RequestFields) throws {
        var check = try ContentCheck(try ContentClaims(documentOf: fields, holdsChecksums: false))
        try check.add(bytes)
        _ = try check.finish()
    }
}

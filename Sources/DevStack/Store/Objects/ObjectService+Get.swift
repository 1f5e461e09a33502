import Bytes
import HTTPServing
import HTTPTypes
import LocalFiles
import Signing

extension ObjectService {
    private static let chunkBytes = 64 << 10

    /// Headers of the vendors that downloads may have.
    private static let knownNames: Set<String> = [
        "checksum-mode", "content-sha256", "date", "security-token", "user-agent",
    ]

    /// Returns an object, or the requested range of it. For HEAD, and with 304, the server sends only the head of the
    /// answer.
    func get(_ name: ObjectName, _ headers: RequestFields, query: [NamedValue]) throws -> ServerResponse {
        try headers.refuseVendorHeaders(except: Self.knownNames)
        guard let (record, bytes) = try files.open(name.bucket, name.key) else { throw StoreError.noSuchKey }
        var fields = try objectFields(of: record, headers, query: query)
        var status = HTTPResponse.Status.ok
        var range = 0..<record.byteCount
        if try isUnchanged(record, headers) {
            status = .notModified
        } else if let asked = headers["range"], isRangeWanted(of: record, headers),
            let part = try ByteRange.parse(asked, byteCount: record.byteCount)
        {
            status = .partialContent
            range = part
            fields[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(record.byteCount)"
        }
        // A checksum is of the whole object.
        if status == .ok, headers["x-amz-checksum-mode"]?.lowercased() == "enabled" {
            record.tellChecksums(in: &fields)
        }
        let body = ResponseBody.stream(length: Int64(range.count)) { [range] writer in
            try bytes.seek(to: Int64(range.lowerBound))
            var left = range.count
            while left > 0, case let chunk = try bytes.read(atMost: min(left, Self.chunkBytes)), !chunk.isEmpty {
                left -= chunk.count
                try await writer.write(chunk)
            }
        }
        return ServerResponse(head: ResponseHead(status: status, headerFields: fields), body: body)
    }

    private func objectFields(
        of record: ObjectRecord, _ headers: RequestFields, query: [NamedValue]
    ) throws(StoreError) -> HeaderFields {
        var fields: HeaderFields = [
            .contentType: headers.dialect.standardType, .acceptRanges: "bytes", .eTag: record.entityTag,
        ]
        fields[.lastModified] = SigningInstant(epochSeconds: record.modifiedAt).map(\.httpDate)
        for field in record.fields {
            fields.set(headers.dialect.name(ofStored: field.name), to: field.value)
        }
        if headers.dialect == .oss {
            fields.set("x-oss-object-type", to: record.partsTag == nil ? "Normal" : "Multipart")
            if record.partsTag == nil { fields.set("content-md5", to: Hex.decode(record.md5).map(Base64.encode)) }
            // There is no image service here. The answer tells what one would have done.
            fields.set("x-oss-process", to: query.first { $0.name == "x-oss-process" }?.value)
        }
        for parameter in query where parameter.name.hasPrefix("response-") {
            let overridable: Set<String> = [
                "cache-control", "content-disposition", "content-encoding", "content-language", "content-type",
                "expires",
            ]
            let header = String(parameter.name.dropFirst("response-".count))
            guard overridable.contains(header) else {
                throw .notImplemented("This store does not know the parameter \(parameter.name).")
            }
            guard HTTPField.isValidValue(parameter.value) else {
                throw .invalidRequest("The value of \(parameter.name) cannot be a header.")
            }
            fields.set(header, to: parameter.value)
        }
        return fields
    }

    /// Returns whether the client already has the object.
    ///
    /// - Throws: ``StoreError/preconditionFailed(_:)`` if the request's preconditions exclude this version.
    /// - SeeAlso: RFC 9110, section 13.2.2, for the order.
    private func isUnchanged(_ record: ObjectRecord, _ headers: RequestFields) throws(StoreError) -> Bool {
        func date(_ name: String) -> Int64? { headers[name].flatMap(SigningInstant.init(httpDate:))?.epochSeconds }
        if let wanted = headers["if-match"] {
            guard Self.list(wanted, contains: record.entityTag) else { throw .preconditionFailed("If-Match") }
        } else if let latest = date("if-unmodified-since"), record.modifiedAt > latest {
            throw .preconditionFailed("If-Unmodified-Since")
        }
        if let known = headers["if-none-match"] { return Self.list(known, contains: record.entityTag) }
        return date("if-modified-since").map { record.modifiedAt <= $0 } ?? false
    }

    /// Returns whether the requested range is of the version that the client already has in part.
    private func isRangeWanted(of record: ObjectRecord, _ headers: RequestFields) -> Bool {
        guard let version = headers["if-range"] else { return true }
        return version == record.entityTag || SigningInstant(httpDate: version)?.epochSeconds == record.modifiedAt
    }

    private static func list(_ tags: String, contains tag: String) -> Bool {
        tags.split(separator: ",").contains { part in
            let part = part.drop { $0 == " " }.prefix { $0 != " " }
            return part == "*" || part == tag || part == "W/\(tag)"
        }
    }
}

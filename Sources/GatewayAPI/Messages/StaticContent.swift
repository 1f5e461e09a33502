import HTTPServing
import HTTPTypes
import LibCrypto
import LibZ

/// A file that is the same for everybody, as it stands and compressed.
struct StaticContent: Sendable {
    /// The media type, with its parameters.
    let type: String
    /// The content.
    let bytes: [UInt8]
    /// The content as gzip, or `nil` if that is no shorter.
    let compressed: [UInt8]?
    private let digest: String

    /// Compresses a file.
    init(_ bytes: [UInt8], type: String) {
        self.type = type
        self.bytes = bytes
        let compressed = Gzip.compressed(bytes)
        self.compressed = compressed.count < bytes.count ? compressed : nil
        digest = Self.digest(of: bytes)
    }

    /// The answer to a `GET` or `HEAD`: the file in the shortest form that the client accepts, or 304 if the client has
    /// it. Caches ask before each use.
    ///
    /// - Parameters:
    ///   - request: The request, whose `Accept-Encoding` and `If-None-Match` count.
    ///   - fields: Further header fields. The answer to a client that has the file under other fields is not 304.
    func answer(to request: APIRequest, with fields: HeaderFields = HeaderFields()) -> ServerResponse {
        let coded = request.acceptsGzip ? compressed : nil
        // Both forms have a tag of their own (RFC 9110, 8.8.3).
        let variant = fields.isEmpty ? digest : Self.digest(of: Array(digest.utf8) + fields.bytes)
        let tag = "\"\(variant)\(coded == nil ? "" : "-gzip")\""
        var fields = fields
        fields.append(.eTag, tag)
        fields.append(.cacheControl, "no-cache")
        fields.append(.vary, "Accept-Encoding")
        let body = ResponseBody.bytes(coded ?? bytes)
        guard !request.holds(tag) else {
            // The server leaves the body out and sends its length, which must be that of the file (RFC 9110, 8.6).
            return ServerResponse(head: ResponseHead(status: .notModified, headerFields: fields), body: body)
        }
        fields.append(.contentType, type)
        if coded != nil { fields.append(.contentEncoding, "gzip") }
        return ServerResponse(head: ResponseHead(status: .ok, headerFields: fields), body: body)
    }

    /// 128 bits of SHA-256, which are plenty to tell versions of a file apart.
    private static func digest(of bytes: [UInt8]) -> String {
        String(DigestAlgorithm.sha256.digest(of: bytes).hex.prefix(32))
    }
}

extension APIRequest {
    /// Whether the client decodes gzip (RFC 9110, 12.5.3).
    fileprivate var acceptsGzip: Bool {
        var isAnythingAccepted = false
        let codings = headers[values: .acceptEncoding].flatMap {
            $0.lowercased().utf8.split(separator: UInt8(ascii: ","))
        }
        for coding in codings {
            let parts = coding.split(separator: UInt8(ascii: ";")).map { part in
                Substring(part).trimming { $0 == " " || $0 == "\t" }
            }
            let isRefused = parts.dropFirst().contains { parameter in
                parameter.utf8.starts(with: "q=0".utf8)
                    && parameter.utf8.dropFirst(3).allSatisfy { ".0".utf8.contains($0) }
            }
            switch parts.first {
            case "gzip", "x-gzip": return !isRefused
            case "*": isAnythingAccepted = !isRefused
            default: continue
            }
        }
        return isAnythingAccepted
    }

    /// Whether `If-None-Match` names the tag, or any. The comparison is weak (RFC 9110, 13.1.2).
    fileprivate func holds(_ tag: String) -> Bool {
        headers[values: .ifNoneMatch].flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }.contains { piece in
            let told = Substring(piece).trimming { $0 == " " || $0 == "\t" }.utf8
            return told.elementsEqual("*".utf8)
                || (told.starts(with: "W/".utf8) ? told.dropFirst(2) : told).elementsEqual(tag.utf8)
        }
    }
}

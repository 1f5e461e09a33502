import HTTPTypes

/// Names of header fields, the usual ones ready-made so that a request need not validate and lower-case them again.
enum FieldNames {
    private static let usual: [[(bytes: [UInt8], name: HTTPField.Name)]] = {
        let ready: [HTTPField.Name] = [
            .accept, .acceptEncoding, .acceptLanguage, .authorization, .cacheControl, .connection, .contentLength,
            .contentType, .cookie, .expect, .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifUnmodifiedSince, .origin,
            .range, .referer, .te, .transferEncoding, .upgrade, .userAgent, .via,
        ]
        let texts = [
            "Host", "Content-MD5", "Forwarded", "Idempotency-Key", "X-Forwarded-For", "X-Forwarded-Proto",
            "X-Request-Id", "traceparent", "Sec-Fetch-Mode", "Sec-Fetch-Site",
        ]
        let names = ready + texts.compactMap { HTTPField.Name($0) }
        var byLength = [[(bytes: [UInt8], name: HTTPField.Name)]](repeating: [], count: 32)
        for name in names { byLength[name.canonicalName.utf8.count].append((Array(name.canonicalName.utf8), name)) }
        return byLength
    }()

    /// The name that these bytes spell; `nil` where they are no token.
    static func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        if bytes.count < usual.count {
            for candidate in usual[bytes.count] where unsafe spells(candidate.bytes, bytes) { return candidate.name }
        }
        return unsafe String(validating: bytes, as: UTF8.self).flatMap { HTTPField.Name($0) }
    }

    private static func spells(_ canonical: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
        for index in canonical.indices {
            let byte = unsafe bytes[index]
            let lower = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
            if lower != canonical[index] { return false }
        }
        return true
    }
}

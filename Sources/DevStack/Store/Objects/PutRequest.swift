import Signing

/// The parsed headers of an upload. They are checked before the first byte of the body is read.
struct PutRequest: Sendable {
    /// Maximum total length of the names and values of user metadata, in bytes.
    static let maxMetadataBytes = 2048

    /// What the client said about the bytes.
    let claims: ContentClaims
    let overwriting: Overwriting
    /// Headers that are stored with the object.
    let fields: [ObjectRecord.Field]

    /// What happens to an object that exists.
    enum Overwriting: Sendable {
        case permitted
        /// `If-None-Match: *`
        case refused
        /// OSS's `x-oss-forbid-overwrite: true`
        case forbidden
    }

    /// Parses the headers of an object's upload.
    ///
    /// - Throws: ``StoreError``; if there are several errors, the one that S3 reports first.
    init(_ headers: RequestFields, maxBytes: Int64) throws(StoreError) {
        try Self.refuseUnknown(headers)
        claims = try ContentClaims(headers, maxBytes: maxBytes)
        try Self.refuseUnknownEncodings(headers, inChunks: claims.payload.isChunked)
        overwriting = try Self.overwriting(headers)
        fields = try Self.fields(headers)
    }

    /// Parses the headers that start an upload in parts.
    init(startOf headers: RequestFields) throws(StoreError) {
        try Self.refuseUnknown(headers)
        try Self.refuseUnknownEncodings(headers, inChunks: false)
        claims = .none
        overwriting = try Self.overwriting(headers)
        fields = try Self.fields(headers)
    }

    /// Parses the fields of a form.
    init(form headers: RequestFields) throws(StoreError) {
        try headers.refuseVendorHeaders(except: Self.knownNames.union(Self.formNames))
        try Self.refuseAccessLists(headers)
        claims = .none
        overwriting = try Self.overwriting(headers)
        fields = try Self.fields(headers)
    }

    private static let keptNames: Set<String> = [
        "cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires",
    ]
    /// Headers of the vendors that request nothing, or nothing that would not be done anyway, or are handled here.
    private static let knownNames = ChecksumAlgorithm.names.union([
        "acl", "callback", "callback-var", "checksum-algorithm", "checksum-type", "content-sha256", "date",
        "decoded-content-length", "forbid-overwrite", "meta-", "object-acl", "sdk-checksum-algorithm",
        "security-token", "storage-class", "trailer", "user-agent",
    ])
    private static let formNames: Set<String> = [
        "algorithm", "content-type", "credential", "signature", "signature-version",
    ]

    private static func fields(_ headers: RequestFields) throws(StoreError) -> [ObjectRecord.Field] {
        let prefix = headers.dialect.metadataPrefix
        var fields: [ObjectRecord.Field] = []
        var metadataBytes = 0
        for header in headers.pairs {
            if header.name.hasPrefix(prefix) {
                let name = header.name.dropFirst(prefix.utf8.count)
                metadataBytes += name.utf8.count + header.value.utf8.count
                fields.append(.init(name: StoreDialect.s3.metadataPrefix + name, value: header.value))
            } else if header.name == "content-encoding", header.value.contains(chunked) {
                if let value = kept(encodings: header.value) { fields.append(.init(name: header.name, value: value)) }
            } else if keptNames.contains(header.name) {
                fields.append(.init(name: header.name, value: header.value))
            }
        }
        guard metadataBytes <= maxMetadataBytes else { throw .metadataTooLarge }
        return fields
    }

    private static func overwriting(_ headers: RequestFields) throws(StoreError) -> Overwriting {
        if let text = headers["if-none-match"] {
            guard text == "*" else { throw .notImplemented("If-None-Match takes only * in an upload.") }
            return .refused
        }
        return headers.dialect == .oss && headers["x-oss-forbid-overwrite"] == "true" ? .forbidden : .permitted
    }

    private static func refuseUnknown(_ headers: RequestFields) throws(StoreError) {
        try headers.refuseVendorHeaders(except: knownNames)
        try refuseAccessLists(headers)
        if headers["if-match"] != nil {
            throw .notImplemented("This store does not know If-Match in an upload.")
        }
    }

    /// Refuses encodings of the body, except chunks of AWS where the payload is said to be in them.
    static func refuseUnknownEncodings(_ headers: RequestFields, inChunks: Bool) throws(StoreError) {
        let saysChunks = headers["content-encoding"]?.contains(chunked) == true
        guard inChunks || (!saysChunks && headers["transfer-encoding"] == nil) else {
            throw .notImplemented("This store takes bodies as they are, with a Content-Length, or in chunks of AWS.")
        }
    }

    /// The encoding of a body that is not one of the object.
    private static let chunked = "aws-chunked"

    /// The encodings of the object.
    private static func kept(encodings: String) -> String? {
        let names = encodings.split(separator: ",").map { $0.filter { $0 != " " } }.filter { $0 != chunked }
        return names.isEmpty ? nil : names.joined(separator: ",")
    }

    /// Objects are private, and stored in one way.
    private static func refuseAccessLists(_ headers: RequestFields) throws(StoreError) {
        for name in ["acl", "object-acl"] {
            guard ["private", "default", nil].contains(headers[vendor: name]) else {
                throw .notImplemented("Objects of this store are private.")
            }
        }
        guard ["standard", nil].contains(headers[vendor: "storage-class"]?.lowercased()) else {
            throw .notImplemented("This store has one storage class.")
        }
    }
}

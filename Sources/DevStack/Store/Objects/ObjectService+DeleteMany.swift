import HTTPServing
import Signing

extension ObjectService {
    /// The most keys of one request.
    private static let maxDeleted = 1000

    /// Removes several objects. Each has an outcome of its own.
    ///
    /// - Parameter permits: Whether the caller may delete an object.
    func deleteMany(
        in bucket: String, _ fields: RequestFields, _ body: RequestBody, of request: StoreRequest,
        at instant: SigningInstant, permits: (ObjectName) -> Bool
    ) async throws -> ServerResponse {
        try fields.refuseVendorHeaders(
            except: ChecksumAlgorithm.names.union([
                "content-sha256", "date", "sdk-checksum-algorithm", "security-token", "user-agent",
            ]))
        let claims = try ContentClaims(documentOf: fields, holdsChecksums: true)
        guard claims.md5 != nil || !claims.checksums.isEmpty else {
            throw StoreError.invalidRequest("Missing required header for this request: Content-MD5")
        }
        let bytes = try await body.bytes(atMost: Self.maxDocumentBytes)
        var check = try ContentCheck(claims)
        try check.add(bytes)
        _ = try check.finish()
        let text = try XMLText.document(bytes, root: "Delete")
        let objects = XMLText.pieces(of: text, "Object")
        guard 1...Self.maxDeleted ~= objects.count else { throw StoreError.malformedXML }
        let isQuiet = XMLText.pieces(of: text, "Quiet").first == "true"
        let encodesKeys = try ListingQuery.encodesKeys(request)
        var outcomes: [StoreXML] = []
        for key in try objects.map(Self.key) {
            let name = ObjectName(bucket: bucket, key: key)
            let shown = StoreXML("Key", encodesKeys ? PercentText.encode(key.utf8, keepingSlashes: true) : key)
            if !permits(name) {
                let refusal: StoreError = .accessDenied
                outcomes.append(
                    StoreXML(
                        "Error", [shown, StoreXML("Code", refusal.code), StoreXML("Message", refusal.message)]))
                continue
            }
            try remove(name, at: instant)
            if !isQuiet { outcomes.append(StoreXML("Deleted", [shown])) }
        }
        let encoding = encodesKeys ? [StoreXML("EncodingType", "url")] : []
        return StoreXML("DeleteResult", namespace: fields.dialect.namespace, encoding + outcomes).response()
    }

    private static func key(_ object: String) throws(StoreError) -> String {
        guard let key = XMLText.pieces(of: object, "Key").first.flatMap(XMLText.unescaped), !key.isEmpty else {
            throw .malformedXML
        }
        guard key.utf8.count <= ObjectName.maxKeyBytes else { throw .keyTooLong }
        for condition in ["VersionId", "ETag", "LastModifiedTime", "Size"]
        where object.contains("<\(condition)>") {
            throw .notImplemented("This store does not know \(condition) of an object to delete.")
        }
        return key
    }
}

import FoundationEssentials

/// The data that the store keeps about an object besides its bytes.
struct ObjectRecord: Codable, Sendable, Equatable {
    /// A header that is returned with the object.
    struct Field: Codable, Sendable, Equatable {
        let name: String
        let value: String
    }

    /// The object key, for people who look at the file.
    let key: String
    /// Name of the file that contains the bytes.
    let body: String
    let byteCount: Int64
    /// MD5 of the bytes, in hexadecimal.
    let md5: String
    /// Checksums of the bytes that the upload stated, in base64, by the names of their headers.
    let checksums: [String: String]?
    /// Time of the last change, in seconds since 1970.
    let modifiedAt: Int64
    let fields: [Field]
    /// The entity tag, without quotes, of an object that was uploaded in parts.
    var partsTag: String?

    /// The entity tag, including quotes.
    var entityTag: String { "\"\(partsTag ?? md5)\"" }
}

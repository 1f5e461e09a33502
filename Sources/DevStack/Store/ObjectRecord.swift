import Foundation

/// What the store keeps about an object beside its bytes.
struct ObjectRecord: Codable, Sendable, Equatable {
    /// A header that is given back with the object.
    struct Field: Codable, Sendable, Equatable {
        let name: String
        let value: String
    }

    /// The object's key, for whoever looks at the file.
    let key: String
    /// Name of the file with the bytes.
    let body: String
    let byteCount: Int64
    /// MD5 of the bytes in hexadecimal.
    let md5: String
    /// SHA-256 of the bytes in base64, where the upload carried it.
    let sha256: String?
    /// Seconds since 1970.
    let modifiedAt: Int64
    let fields: [Field]

    /// The entity tag, quotes included.
    var entityTag: String { "\"\(md5)\"" }
}

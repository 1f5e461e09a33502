/// Bucket and key of an object.
struct ObjectName: Sendable, Equatable {
    /// Maximum length of a key, in bytes.
    static let maxKeyBytes = 1024

    let bucket: String
    let key: String

    /// Returns whether a text is a valid bucket name: 3 to 63 lower-case letters, digits, dots and hyphens, beginning
    /// and ending with a letter or digit, without two dots in a row.
    static func isValidBucket(_ name: String) -> Bool {
        let edges = Set("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        guard (3...63).contains(name.utf8.count), let first = name.utf8.first, let last = name.utf8.last else {
            return false
        }
        return edges.contains(first) && edges.contains(last) && !name.contains("..")
            && name.utf8.allSatisfy { edges.contains($0) || $0 == 0x2D || $0 == 0x2E }
    }
}

/// What the path and the host of a request name.
enum StorePlace: Sendable, Equatable {
    /// The store itself, which is also the token service.
    case service
    /// A bucket.
    case bucket(String)
    /// An object.
    case object(ObjectName)

    /// Reads a decoded path: `/bucket/key`, or `/key` if the host names the bucket.
    ///
    /// - Throws: ``StoreError`` if the path is not text, or the key is longer than any store accepts.
    init(path: [UInt8], hostBucket: String?) throws(StoreError) {
        guard !path.contains(0), let text = String(validating: path, as: UTF8.self), text.utf8.first == 0x2F else {
            throw .invalidURI("The path is not UTF-8 text, or holds a NUL.")
        }
        let rest = text.utf8.dropFirst()
        let bucket: String
        let key: Substring.UTF8View
        if let hostBucket {
            bucket = hostBucket
            key = rest
        } else {
            let end = rest.firstIndex(of: 0x2F) ?? rest.endIndex
            bucket = String(Substring(rest[..<end]))
            key = rest[end...].dropFirst()
        }
        guard !bucket.isEmpty else {
            guard key.isEmpty else { throw .invalidURI("The path names no bucket.") }
            self = .service
            return
        }
        guard !key.isEmpty else {
            self = .bucket(bucket)
            return
        }
        guard key.count <= ObjectName.maxKeyBytes else { throw .keyTooLong }
        self = .object(ObjectName(bucket: bucket, key: String(Substring(key))))
    }

    /// The bucket, unless this is the service.
    var bucket: String? {
        switch self {
        case .service: nil
        case .bucket(let name): name
        case .object(let name): name.bucket
        }
    }

    /// The key; empty for a bucket and for the service.
    var key: String {
        switch self {
        case .object(let name): name.key
        case .service, .bucket: ""
        }
    }
}

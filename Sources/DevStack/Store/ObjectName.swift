import Signing

/// Bucket and key of a request.
struct ObjectName: Sendable, Equatable {
    /// Maximum length of a key, in bytes.
    static let maxKeyBytes = 1024

    let bucket: String
    let key: String

    /// Parses a decoded path: `/bucket/key`, or `/key` if the host names the bucket.
    ///
    /// - Parameters:
    ///   - path: The decoded bytes of the path.
    ///   - authority: Host and port as the client sent them; `bucket.localhost` names a bucket.
    /// - Throws: ``StoreError`` if there is no key, or one that no store accepts.
    init(path: [UInt8], authority: String) throws(StoreError) {
        guard !path.contains(0), let text = String(validating: path, as: UTF8.self), text.utf8.first == 0x2F else {
            throw .invalidURI("The path is not UTF-8 text, or holds a NUL.")
        }
        let rest = text.utf8.dropFirst()
        let key: Substring.UTF8View
        if let bucket = Self.bucket(inHost: authority) {
            self.bucket = bucket
            key = rest
        } else {
            let end = rest.firstIndex(of: 0x2F) ?? rest.endIndex
            bucket = String(Substring(rest[..<end]))
            key = rest[end...].dropFirst()
        }
        guard !bucket.isEmpty, !key.isEmpty else {
            throw .notImplemented("This store has no operations on buckets.")
        }
        guard key.count <= Self.maxKeyBytes else { throw .keyTooLong }
        self.key = String(Substring(key))
    }

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

    private static func bucket(inHost authority: String) -> String? {
        let host = authority.split(separator: ":", maxSplits: 1).first.map { $0.lowercased() } ?? ""
        guard host.hasSuffix(".localhost") else { return nil }
        return String(host.dropLast(".localhost".count))
    }
}

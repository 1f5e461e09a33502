/// The bucket and key of an object: `photos/users/alice/cat.png`, or the same behind `sluice://`.
public struct ObjectAddress: Sendable, Hashable, CustomStringConvertible {
    /// The bucket.
    public let bucket: String
    /// The key; empty or ending with `/` where the address names a place for several objects.
    public let key: String

    /// Names an object.
    public init(bucket: String, key: String) {
        self.bucket = bucket
        self.key = key
    }

    /// Reads an address. Everything behind the first slash is the key, byte for byte.
    ///
    /// - Throws: ``ClientFailure/usage(_:)`` if there is no bucket.
    public init(_ text: String) throws(ClientFailure) {
        let rest = Self.behindScheme(text)
        let bucket = rest.prefix { $0 != UInt8(ascii: "/") }
        guard !bucket.isEmpty, bucket.count < rest.count else {
            throw .usage("'\(text)' is not an address of an object. An example: photos/users/alice/cat.png")
        }
        self.bucket = String(decoding: bucket, as: UTF8.self)
        key = String(decoding: rest.dropFirst(bucket.count + 1), as: UTF8.self)
    }

    /// Reads what keys begin with: a bucket, or a bucket and the beginning of keys behind a slash.
    ///
    /// - Throws: ``ClientFailure/usage(_:)`` if there is no bucket.
    public init(place text: String) throws(ClientFailure) {
        let isBucket = !text.isEmpty && !Self.behindScheme(text).contains(UInt8(ascii: "/"))
        try self.init(isBucket ? text + "/" : text)
    }

    private static func behindScheme(_ text: String) -> Substring.UTF8View {
        let scheme = "sluice://"
        return text.utf8.starts(with: scheme.utf8) ? text.utf8.dropFirst(scheme.utf8.count) : text.utf8[...]
    }

    /// Whether the address names a place for objects rather than one object.
    public var isPlace: Bool { key.isEmpty || key.utf8.last == UInt8(ascii: "/") }

    /// The address of an object in this place.
    public func appending(_ name: String) -> ObjectAddress { ObjectAddress(bucket: bucket, key: key + name) }

    /// The key up to its last slash, and with it; empty if there is none.
    public var folder: String {
        let end = key.utf8.lastIndex(of: UInt8(ascii: "/")).map { key.utf8.index(after: $0) }
        return String(decoding: key.utf8[..<(end ?? key.utf8.startIndex)], as: UTF8.self)
    }

    /// The last segment of the key.
    public var name: String {
        String(decoding: key.utf8.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
    }

    /// The address as ``init(_:)`` reads it.
    public var description: String { "\(bucket)/\(key)" }
}

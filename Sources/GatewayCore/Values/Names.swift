import Signing

/// The name of a bucket.
public struct BucketName: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The name.
    public let rawValue: String

    /// Reads a bucket's name.
    ///
    /// - Parameter rawValue: 3…63 of `a-z`, `0-9`, `.` and `-`, with a letter or digit at both ends and no `..`.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `bucket`.
    public init(_ rawValue: String) throws(GatewayError) {
        guard KeySyntax.isBucketName(rawValue) else {
            throw .invalidArgument(
                field: "bucket",
                reason:
                    "A bucket's name is 3 to 63 of a-z, 0-9, '.' and '-', and begins and ends with a letter or digit."
            )
        }
        self.rawValue = rawValue
    }

    /// The name.
    public var description: String { rawValue }

    /// Reads the text form.
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// The key of an object, safe to sign: no client, proxy or store on the way rewrites it.
public struct ObjectKey: ByteExact, CustomStringConvertible {
    /// The key; compared by bytes, never normalised.
    public let rawValue: String

    /// Reads a key.
    ///
    /// - Parameter rawValue: 1…1,023 UTF-8 bytes without control characters, `${`, empty segments, and segments that somebody
    ///   may read as `.` or `..`; see ``KeySyntax/flaw(inKey:)``.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `key`.
    public init(_ rawValue: String) throws(GatewayError) {
        if let reason = KeySyntax.flaw(inKey: rawValue) {
            throw .invalidArgument(field: "key", reason: reason)
        }
        self.rawValue = rawValue
    }

    /// Most `/` of a key or prefix that is asked for or granted: a decision may have to look at each place where a grant can
    /// stand, and those are as many.
    public static let maxSlashes = 64

    /// Refuses a key with more `/` than that.
    ///
    /// Keys on record, from before there was a bound, are not held to it.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for the field.
    func bounded(_ field: String = "key") throws(GatewayError) -> ObjectKey {
        guard rawValue.hasBoundedSlashes else {
            throw .invalidArgument(field: field, reason: "A key has at most \(Self.maxSlashes) '/'.")
        }
        return self
    }

    /// The key.
    public var description: String { rawValue }
}

extension String {
    /// Whether there are at most ``ObjectKey/maxSlashes`` `/`.
    var hasBoundedSlashes: Bool {
        let bytes = utf8Span.span
        guard bytes.count > ObjectKey.maxSlashes else { return true }
        var count = 0
        for index in bytes.indices where bytes[index] == UInt8(ascii: "/") { count += 1 }
        return count <= ObjectKey.maxSlashes
    }
}

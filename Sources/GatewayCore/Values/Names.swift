/// The name of a bucket.
public struct BucketName: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The name.
    public let rawValue: String

    /// Reads a bucket's name.
    ///
    /// - Parameter rawValue: 3…63 of `a-z`, `0-9`, `.` and `-`, with a letter or digit at both ends and no `..`.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `bucket`.
    public init(_ rawValue: String) throws(GatewayError) {
        let bytes = rawValue.utf8
        let isAlphanumeric = { (byte: UInt8) in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        }
        guard 3...63 ~= bytes.count,
            let first = bytes.first, let last = bytes.last, isAlphanumeric(first), isAlphanumeric(last),
            bytes.allSatisfy({ isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }),
            !zip(bytes, bytes.dropFirst()).contains(where: { $0 == UInt8(ascii: ".") && $1 == UInt8(ascii: ".") })
        else {
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
    /// - Parameter rawValue: 1…1,023 UTF-8 bytes; no leading `/` or `\`, no `.`, `..` or empty segment (a key that ends in
    ///   `/` is one with an empty last segment), no control character, no `${`.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `key`.
    public init(_ rawValue: String) throws(GatewayError) {
        if let reason = KeySyntax.flaw(inKey: rawValue) {
            throw .invalidArgument(field: "key", reason: reason)
        }
        self.rawValue = rawValue
    }

    /// The key.
    public var description: String { rawValue }
}

/// What a key may look like.
enum KeySyntax {
    /// Why a key is refused; `nil` for a good one.
    static func flaw(inKey key: String) -> String? {
        let bytes = key.utf8
        guard 1...1023 ~= bytes.count else { return "A key has 1 to 1,023 bytes of UTF-8." }
        return flaw(inSegmentsOf: bytes, mayEndInSlash: false)
            ?? (bytes.holds("${") ? "A key must not hold '${'." : nil)
    }

    /// Why the segments of a key or prefix are refused.
    static func flaw(inSegmentsOf bytes: String.UTF8View, mayEndInSlash: Bool) -> String? {
        if bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) { return "Control characters are not allowed." }
        if bytes.first == UInt8(ascii: "\\") { return "A leading '\\' is not allowed." }
        var segments = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)[...]
        if mayEndInSlash, segments.last?.isEmpty == true { segments.removeLast() }
        for segment in segments {
            if segment.isEmpty { return "Empty segments (a leading, trailing or double '/') are not allowed." }
            if segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8) {
                return "The segments '.' and '..' are not allowed."
            }
        }
        return nil
    }
}

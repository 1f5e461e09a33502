import Signing

/// The key of an object that is safe to sign: no client, proxy or store on the way rewrites it.
public struct ObjectKey: ByteExact, CustomStringConvertible {
    /// The key, compared by bytes and never normalised.
    public let rawValue: String

    /// Reads a key.
    ///
    /// - Parameter rawValue: 1…1,023 UTF-8 bytes without control characters, `${` and empty segments. No segment may be
    ///   readable as `.` or `..`; see ``KeySyntax/flaw(inKey:)``.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `key`.
    public init(_ rawValue: String) throws(GatewayError) {
        if let reason = KeySyntax.flaw(inKey: rawValue) {
            throw .invalidArgument(field: "key", reason: reason)
        }
        self.rawValue = rawValue
    }

    /// Creates a key of any text, for grants to be compared with. Nothing is signed for it.
    init(unchecked rawValue: String) {
        self.rawValue = rawValue
    }

    /// Largest number of `/` in a key or prefix that is requested or granted. A decision may have to look up a grant at
    /// each `/` of the key.
    static let maxSlashes = 64

    /// Returns the key, or refuses it if it has more than ``maxSlashes`` `/`.
    ///
    /// Do not call it for keys on record from before this limit.
    /// - Parameter field: JSON name of the field that the error names.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for the field.
    func bounded(_ field: String = "key") throws(GatewayError) -> ObjectKey {
        guard rawValue.hasBoundedSlashes else {
            throw .invalidArgument(field: field, reason: "A key must not contain more than \(Self.maxSlashes) '/'.")
        }
        return self
    }

    /// The key.
    public var description: String { rawValue }
}

extension String {
    /// Whether the text has at most ``ObjectKey/maxSlashes`` `/`.
    var hasBoundedSlashes: Bool {
        let bytes = utf8Span.span
        guard bytes.count > ObjectKey.maxSlashes else { return true }
        var count = 0
        for index in bytes.indices where bytes[index] == UInt8(ascii: "/") { count += 1 }
        return count <= ObjectKey.maxSlashes
    }
}

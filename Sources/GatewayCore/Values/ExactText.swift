import Bytes

/// Text that compares by its UTF-8 bytes. `String` would treat canonically equivalent texts as equal.
///
/// Keys, prefixes and principals use it: a user name in NFD is not the same user as that name in NFC.
public protocol ByteExact: Hashable, Sendable {
    /// The text.
    var rawValue: String { get }
}

extension ByteExact {
    /// Compares by bytes.
    public static func == (left: Self, right: Self) -> Bool {
        left.rawValue.isSameBytes(as: right.rawValue)
    }

    /// Hashes the string. Texts with equal bytes are equal strings, so the string's own hash is valid.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(rawValue)
    }
}

/// Any text that compares by its bytes.
public struct ExactText: ByteExact, CodableText {
    /// The text.
    public let rawValue: String

    /// Wraps a text.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}

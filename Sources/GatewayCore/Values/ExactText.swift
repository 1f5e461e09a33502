import LibCrypto

/// Text that compares by its UTF-8 bytes, where `String` would take canonically equivalent texts for one.
///
/// Keys, prefixes and principals are such texts: a user whose name is spelled in NFD is not the one spelled in NFC.
public protocol ByteExact: Hashable, Sendable {
    /// The text.
    var rawValue: String { get }
}

extension ByteExact {
    /// Compares by bytes.
    public static func == (left: Self, right: Self) -> Bool {
        left.rawValue.isSameBytes(as: right.rawValue)
    }

    /// Equal bytes are equal strings, so the string's own hash will do.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(rawValue)
    }
}

/// Any such text.
public struct ExactText: ByteExact {
    /// The text.
    public let rawValue: String

    /// Wraps a text.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}

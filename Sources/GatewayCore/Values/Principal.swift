/// The party that a grant or quota is for: `user:<issuer prefix><subject>`, `group:<issuer prefix><name>`, or `*` for
/// any authenticated user.
public struct Principal: ByteExact, CodableText, CustomStringConvertible {
    /// The whole text, for example `user:alice`.
    public let rawValue: String

    /// Any authenticated user.
    public static let anyone = Principal(unchecked: "*")

    /// The holder of the operator's bootstrap key. No issuer's token can have this name.
    public static let bootstrapAdmin = Principal(unchecked: "user:bootstrap-admin")

    private init(unchecked rawValue: String) {
        self.rawValue = rawValue
    }

    /// Reads a principal.
    ///
    /// - Parameter rawValue: `*`, or `user:` or `group:` followed by 1…512 UTF-8 bytes without control characters.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `principal`.
    public init(_ rawValue: String) throws(GatewayError) {
        guard rawValue != "*" else {
            self = .anyone
            return
        }
        guard let colon = rawValue.utf8.firstIndex(of: UInt8(ascii: ":")),
            ["user", "group"].contains(rawValue[..<colon]),
            case let name = rawValue[rawValue.utf8.index(after: colon)...].utf8,
            1...512 ~= name.count,
            rawValue.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else {
            throw .invalidArgument(
                field: "principal",
                reason: "A principal must be '*', or 'user:' or 'group:' followed by a name of 1 to 512 bytes."
            )
        }
        self.init(unchecked: rawValue)
    }

    /// Returns the user with a name, which includes the issuer's prefix.
    public static func user(_ name: String) throws(GatewayError) -> Principal {
        try Principal("user:" + name)
    }

    /// Returns the group with a name, which includes the issuer's prefix.
    public static func group(_ name: String) throws(GatewayError) -> Principal {
        try Principal("group:" + name)
    }

    /// Whether this is one user.
    public var isUser: Bool { rawValue.utf8.starts(with: "user:".utf8) }

    /// Whether this is a group.
    public var isGroup: Bool { rawValue.utf8.starts(with: "group:".utf8) }

    /// The whole text.
    public var description: String { rawValue }
}

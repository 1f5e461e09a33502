import Bytes

/// A part of the gateway to which a role may be limited: the keys below a prefix of a bucket, and the principals whose
/// rows are concerned.
public struct AdminScope: Sendable, Hashable {
    /// Largest number of scopes that one API key, or one entry of an issuer's roles, may have.
    public static let maxCount = 64
    /// Largest number of principals that one scope may name.
    public static let maxPrincipals = 64

    /// The bucket.
    public let bucket: BucketName
    /// The beginning of all keys and prefixes inside: empty for the whole bucket, or a text that ends in `/`.
    public let prefix: ExactText
    /// The principals inside; `nil` for all, `*` included.
    public let principals: [PrincipalPattern]?

    /// Creates a scope.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `prefix` unless it is a literal prefix that is
    ///   empty or ends in `/`, or for `principals` if there are none or too many.
    public init(
        bucket: BucketName, prefix: String, principals: [PrincipalPattern]? = nil
    ) throws(GatewayError) {
        let literal = try KeyPrefix(literal: prefix)
        try require(
            prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/"), "prefix",
            "The prefix of a scope must be empty, for the whole bucket, or end in '/'.")
        try require(
            principals.map { 1...Self.maxPrincipals ~= $0.count } ?? true, "principals",
            "A scope must name 1 to \(Self.maxPrincipals) principals; omit the member for all principals.")
        self.bucket = bucket
        self.prefix = ExactText(literal.text)
        self.principals = principals
    }

    /// Checks the number of scopes. None would not be "all", so it must not be said by accident.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `adminScopes`.
    public static func check(count: Int) throws(GatewayError) {
        try require(
            1...maxCount ~= count, "adminScopes",
            "There must be 1 to \(maxCount) scopes; omit the member for a role without limits.")
    }
}

extension AdminScope: Codable {
    private enum Member: String, CodingKey {
        case bucket
        case prefix
        case principals
    }

    /// Reads the form of the API.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        try self.init(
            bucket: members.decode(BucketName.self, forKey: .bucket),
            prefix: members.decode(String.self, forKey: .prefix),
            principals: members.decodeIfPresent([PrincipalPattern].self, forKey: .principals))
    }

    /// Writes the form of the API.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(bucket, forKey: .bucket)
        try members.encode(prefix.rawValue, forKey: .prefix)
        try members.encodeIfPresent(principals, forKey: .principals)
    }
}

/// The name of a user or a group, or with `*` at the end the beginning of such names: `user:alice`, `group:team-a`,
/// `user:team-a.*`.
///
/// A `*` at the end always stands for any rest, the empty one included. No pattern matches the principal `*`.
public struct PrincipalPattern: ByteExact, CodableText, CustomStringConvertible {
    /// The whole text.
    public let rawValue: String

    /// Reads a pattern.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `principals`.
    public init(_ rawValue: String) throws(GatewayError) {
        guard let principal = try? Principal(rawValue), principal != .anyone else {
            throw .invalidArgument(
                field: "principals",
                reason: "The value must be 'user:' or 'group:' followed by a name, "
                    + "or by the beginning of names and '*'. Omit 'principals' for all principals.")
        }
        self.rawValue = principal.rawValue
    }

    /// Whether a principal, by its text, is one of those meant.
    public func matches(_ principal: String) -> Bool {
        rawValue.utf8.last == UInt8(ascii: "*")
            ? principal.utf8.starts(with: rawValue.utf8.dropLast()) : principal.isSameBytes(as: rawValue)
    }

    /// The whole text.
    public var description: String { rawValue }
}

/// An operation on an object, in the stores' own words.
public enum Action: String, Sendable, Hashable, CaseIterable, Codable {
    /// Write an object.
    case putObject = "PutObject"
    /// Read an object or only its headers.
    case getObject = "GetObject"

    /// Reads an action. Accepts the prefixes `oss:` and `s3:`.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `action`.
    public init(parsing text: String) throws(GatewayError) {
        switch text {
        case "PutObject", "s3:PutObject", "oss:PutObject": self = .putObject
        case "GetObject", "s3:GetObject", "oss:GetObject": self = .getObject
        default: throw .invalidArgument(field: "action", reason: "The action must be 'PutObject' or 'GetObject'.")
        }
    }
}

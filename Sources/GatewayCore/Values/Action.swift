/// An operation on a bucket's objects, in the stores' own words.
public enum Action: String, Sendable, Hashable, CaseIterable, Codable {
    /// Write an object.
    case putObject = "PutObject"
    /// Read an object or only its headers.
    case getObject = "GetObject"
    /// List the keys that begin with a prefix.
    case listObjects = "ListObjects"
    /// Delete an object.
    case deleteObject = "DeleteObject"

    /// The actions that carry an object's bytes. They apply where a caller names none.
    public static let transfers: Set<Action> = [.putObject, .getObject]

    /// The words of all actions in a sentence, such as `'PutObject' or 'GetObject'`.
    public static let words =
        allCases.dropLast().map { "'\($0.rawValue)'" }.joined(separator: ", ")
        + " or '\(allCases[allCases.count - 1].rawValue)'"

    /// Reads an action. Accepts the prefixes `oss:` and `s3:`, and `s3:ListBucket` for ``listObjects``.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `action`.
    public init(parsing text: String) throws(GatewayError) {
        switch text {
        case "PutObject", "s3:PutObject", "oss:PutObject": self = .putObject
        case "GetObject", "s3:GetObject", "oss:GetObject": self = .getObject
        case "ListObjects", "s3:ListObjects", "s3:ListBucket", "oss:ListObjects": self = .listObjects
        case "DeleteObject", "s3:DeleteObject", "oss:DeleteObject": self = .deleteObject
        default: throw .invalidArgument(field: "action", reason: "The action must be \(Self.words).")
        }
    }
}

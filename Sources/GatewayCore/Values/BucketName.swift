import Signing

/// The name of a bucket.
public struct BucketName: Hashable, Sendable, CodableText, CustomStringConvertible {
    /// The name.
    public let rawValue: String

    /// Reads a bucket's name.
    ///
    /// - Parameter rawValue: 3…63 of `a-z`, `0-9`, `.`, `-` and `_`, with a letter or digit at both ends and no `..`.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `bucket`.
    public init(_ rawValue: String) throws(GatewayError) {
        guard KeySyntax.isBucketName(rawValue) else {
            throw .invalidArgument(
                field: "bucket",
                reason: """
                    A bucket name must be 3 to 63 characters of a-z, 0-9, '.', '-' and '_' without '..', and begin and \
                    end with a letter or digit.
                    """)
        }
        self.rawValue = rawValue
    }

    /// The name.
    public var description: String { rawValue }
}

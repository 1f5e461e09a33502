/// The identifier of one version of an object, as the store assigned it.
public struct ObjectVersion: Sendable, Equatable {
    /// The identifier.
    public let text: String

    /// Validates an identifier.
    ///
    /// - Parameter text: 1 to 1,024 letters, digits and `-._~+/=`.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `versionID`.
    public init(_ text: String) throws(GatewayError) {
        guard 1...1024 ~= text.utf8.count,
            text.utf8.allSatisfy({ ASCII.isAlphanumeric($0) || "-._~+/=".utf8.contains($0) })
        else {
            throw .invalidArgument(
                field: "versionID", reason: "The version must be 1 to 1,024 letters, digits and '-._~+/='.")
        }
        self.text = text
    }
}

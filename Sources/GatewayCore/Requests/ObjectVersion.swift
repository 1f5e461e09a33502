import Bytes

/// The identifier of one version of an object, as the store assigned it.
public struct ObjectVersion: Sendable, Equatable {
    /// The identifier.
    public let text: String

    /// Validates an identifier.
    ///
    /// - Parameter text: 1 to 1,024 letters, digits and `-._~+/=`.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `versionID`.
    public init(_ text: String) throws(GatewayError) {
        guard text.consists(of: .unreserved.union("+/="), count: 1...1024) else {
            throw .invalidArgument(
                field: "versionID", reason: "The version must be 1 to 1,024 letters, digits and '-._~+/='.")
        }
        self.text = text
    }
}

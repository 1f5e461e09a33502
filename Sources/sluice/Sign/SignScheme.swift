import Signing

/// A scheme of `sluice sign`: its name, and how it signs the inputs of a line.
struct SignScheme: Sendable {
    let name: String
    let sign: @Sendable (SignInput.Inputs, SigningKeyCache) throws -> SignOutput

    /// All schemes, in the order of the help.
    static let all = version4 + version2 + securityTokens

    /// The scheme of a name.
    static func named(_ name: String) throws(SignFailure) -> SignScheme {
        guard let scheme = all.first(where: { $0.name == name }) else {
            throw SignFailure(
                code: "UnsupportedScheme",
                detail: "'\(name)' is none of the known schemes: \(all.map(\.name).joined(separator: ", "))."
            )
        }
        return scheme
    }
}

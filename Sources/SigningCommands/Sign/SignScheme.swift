/// A scheme of `sluice sign`: its name, and the function that signs a line's inputs.
struct SignScheme: Sendable {
    let name: String
    let sign: @Sendable (SignInput.Inputs) throws -> SignOutput

    /// All schemes, in the order of the help.
    static let all = version4 + version2 + cdn + securityTokens

    /// Finds a scheme by its name.
    static func named(_ name: String) throws(LineFailure) -> SignScheme {
        guard let scheme = all.first(where: { $0.name == name }) else {
            throw LineFailure(
                code: "UnsupportedScheme",
                detail: "'\(name)' is not a known scheme. The schemes are: \(all.map(\.name).joined(separator: ", "))."
            )
        }
        return scheme
    }
}

/// The words in which the vendors of "version 4" signatures differ.
struct V4Dialect: Sendable {
    /// Name of the algorithm, first line of the string to sign.
    let algorithm: String
    /// What goes before the secret when a key is derived.
    let secretPrefix: String
    /// Last part of the credential scope.
    let terminator: String
    /// What the names of the signature's own query parameters begin with.
    let parameterPrefix: String
    /// Header whose value, when signed, stands for the body.
    let payloadHeader: String
    /// What the names of the vendor's own headers begin with; such a header must be signed when sent.
    let headerPrefix: String

    /// AWS Signature Version 4.
    static let aws = V4Dialect(
        algorithm: "AWS4-HMAC-SHA256",
        secretPrefix: "AWS4",
        terminator: "aws4_request",
        parameterPrefix: "X-Amz-",
        payloadHeader: "x-amz-content-sha256",
        headerPrefix: "x-amz-"
    )

    /// Whether a query parameter is one that the signer writes, in whatever case: some stores do not tell cases apart.
    func isOwnParameter(_ name: String) -> Bool {
        guard name.utf8.count > parameterPrefix.utf8.count else { return false }
        let name = name.lowercased()
        return Self.ownParameters.contains { name == (parameterPrefix + $0).lowercased() }
    }

    private static let ownParameters = [
        "Algorithm", "Credential", "Date", "Expires", "Security-Token", "SignedHeaders", "Signature",
    ]

    /// Stands for a body that the signature leaves open.
    static let unsignedPayload = "UNSIGNED-PAYLOAD"

    /// Seconds that a URL may live.
    static let expiryRange = 1...604_800
}

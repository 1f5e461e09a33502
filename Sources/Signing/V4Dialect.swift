/// The words in which the vendors of "version 4" signatures differ.
struct V4Dialect: Sendable {
    /// Names of the query parameters that a signer writes.
    struct Parameters: Sendable {
        let algorithm: String
        let credential: String
        let date: String
        let expires: String
        let securityToken: String
        let signedHeaders: String
        let signature: String

        /// Whether a parameter is one of these, in whatever case: some stores do not tell cases apart.
        func contain(_ name: String) -> Bool {
            // Of the names that requests bring, few are as long as the shortest of these.
            guard name.utf8.count >= date.utf8.count else { return false }
            let name = name.lowercased()
            return [algorithm, credential, date, expires, securityToken, signedHeaders, signature].contains {
                $0.lowercased() == name
            }
        }
    }

    /// Name of the algorithm, first line of the string to sign.
    let algorithm: String
    /// What goes before the secret when a key is derived.
    let secretPrefix: String
    /// Last part of the credential scope.
    let terminator: String
    /// The signer's own parameters.
    let parameters: Parameters
    /// Header whose value, when signed, stands for the body.
    let payloadHeader: String
    /// What the names of the vendor's own headers begin with; such a header must be signed when sent.
    let headerPrefix: String

    /// AWS Signature Version 4.
    static let aws = V4Dialect(
        algorithm: "AWS4-HMAC-SHA256",
        secretPrefix: "AWS4",
        terminator: "aws4_request",
        parameters: Parameters(
            algorithm: "X-Amz-Algorithm",
            credential: "X-Amz-Credential",
            date: "X-Amz-Date",
            expires: "X-Amz-Expires",
            securityToken: "X-Amz-Security-Token",
            signedHeaders: "X-Amz-SignedHeaders",
            signature: "X-Amz-Signature"
        ),
        payloadHeader: "x-amz-content-sha256",
        headerPrefix: "x-amz-"
    )

    /// Stands for a body that the signature leaves open.
    static let unsignedPayload = "UNSIGNED-PAYLOAD"

    /// Seconds that a URL may live.
    static let expiryRange = 1...604_800
}

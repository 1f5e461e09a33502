import LibCrypto

/// A credential prepared for "version 2" signatures with HMAC-SHA1: the hash state after the secret, and the texts that go
/// into each URL. It has no end of its own, so one can be kept as long as the credential.
public struct SigningKeyV2: Sendable {
    let hmac: HMACKey
    let signer: V2Signer

    /// Prepares a credential.
    ///
    /// - Throws: ``SigningError/invalidCredential(_:)`` when the access key id is empty, or when it or the token holds
    ///   what would end it early in a header.
    public init(_ credential: SigningCredential) throws(SigningError) {
        signer = try V2Signer(accessKeyID: credential.accessKeyID, securityToken: credential.securityToken)
        hmac = HMACKey(Array(credential.secretAccessKey.utf8), algorithm: .sha1)
    }

    /// The signature of a text, in base64: 28 characters.
    func signature(of text: [UInt8]) -> String {
        hmac.authenticationCode(for: text).base64
    }
}

/// Who signs, as it is written into URLs and headers.
struct V2Signer: Sendable {
    let accessKeyID: String
    let encodedAccessKeyID: [UInt8]
    let securityToken: String?

    init(accessKeyID: String, securityToken: String?) throws(SigningError) {
        guard !accessKeyID.isEmpty else { throw .invalidCredential("the access key id is empty") }
        guard accessKeyID.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }) else {
            throw .invalidCredential("the access key id holds a colon, white space or a control character")
        }
        if let securityToken {
            guard !securityToken.isEmpty, securityToken.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
                throw .invalidCredential("the security token is empty or holds white space or a control character")
            }
        }
        self.accessKeyID = accessKeyID
        self.securityToken = securityToken
        encodedAccessKeyID = PercentEncoding.encode(accessKeyID, keeping: PercentEncoding.unreserved)
    }
}

import LibCrypto

/// The signing key of a credential for one day and scope, with the constant texts of its signatures.
///
/// - SeeAlso: AWS, "Create a signed AWS API request", step 4.
public final class SigningKeyV4: Sendable {
    /// The day that the key is for, in days since 1970.
    public let dayNumber: Int
    /// `day/region/service/terminator`.
    public let scope: String

    let dialect: V4Dialect
    let signer: V4Signer
    let accessKeyID: String
    let securityToken: String?
    /// The parameters that the signer writes into a URL, except the signature, in the order in which they are signed.
    let parameters: [SignerParameter]
    /// The text between the signed query of a URL and the signature.
    let signatureParameter: [UInt8]
    /// The text before and after the time of day in a string to sign. The hash follows.
    let stringToSignStart: [UInt8]
    let stringToSignEnd: [UInt8]

    /// Derives the key by HMAC over day, region, service and terminator in turn, or reads the private key of the
    /// credential.
    ///
    /// - Parameters:
    ///   - credential: Whose key.
    ///   - scope: Scheme, region and service.
    ///   - instant: Any instant of the day, in UTC.
    /// - Throws: ``SigningError/invalidScope(_:)`` when the access key id, region or service is empty or would be
    ///   ambiguous in the scope; ``SigningError/invalidCredential(_:)``; ``SigningError/invalidPrivateKey(_:)``.
    public init(
        _ credential: SigningCredential, scope: CredentialScope, at instant: SigningInstant
    ) throws(SigningError) {
        try Self.check(credential, scope: scope)
        let day = instant.day
        dialect = scope.dialect
        dayNumber = instant.dayNumber
        self.scope = "\(day)/\(scope.region)/\(scope.service)/\(dialect.terminator)"
        switch dialect.secret {
        case .derivedKey(let prefix):
            var key = Array((prefix + credential.secretAccessKey).utf8)
            for part in [day, scope.region, scope.service, dialect.terminator] {
                key = HMACKey(key, algorithm: .sha256).authenticationCode(for: Array(part.utf8)).bytes
            }
            signer = .hmac(HMACKey(key, algorithm: .sha256))
        case .privateKey:
            do {
                signer = .rsa(try RSAPrivateKey(pem: credential.secretAccessKey), prefix: [])
            } catch {
                throw .invalidPrivateKey("it is no RSA key in PEM, unencrypted and of 2048 bits or more")
            }
        }
        accessKeyID = credential.accessKeyID
        securityToken = credential.securityToken
        parameters = SignerParameter.all(
            of: dialect, credential: "\(credential.accessKeyID)/\(self.scope)", day: day, token: securityToken)
        signatureParameter = Array("&\(dialect.parameters.signature)=".utf8)
        stringToSignStart = Array("\(dialect.algorithm)\n\(day)T".utf8)
        stringToSignEnd = Array("\n\(self.scope)\n".utf8)
    }

    /// `access key id/scope`.
    var credentialText: String { "\(accessKeyID)/\(scope)" }

    /// Second stage: algorithm, time, scope and hash of the canonical request.
    func stringToSign(_ canonicalRequest: [UInt8], at instant: SigningInstant) -> [UInt8] {
        stringToSignStart + instant.time + stringToSignEnd
            + DigestAlgorithm.sha256.digest(of: canonicalRequest).hex.utf8
    }

    /// Refuses a key of another vendor's scheme or another day.
    func check(vendor: StoreVendor, at instant: SigningInstant) throws(SigningError) {
        guard dialect.vendor == vendor else { throw .keyOfAnotherScheme }
        guard dayNumber == instant.dayNumber else { throw .keyOfAnotherDay }
    }

    private static func check(_ credential: SigningCredential, scope: CredentialScope) throws(SigningError) {
        let parts = [
            ("access key id", credential.accessKeyID), ("region", scope.region), ("service", scope.service),
        ]
        for (label, text) in parts {
            guard !text.isEmpty else { throw .invalidScope("the \(label) is empty") }
            guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }) else {
                throw .invalidScope("the \(label) holds a slash, white space or a control character")
            }
        }
        guard credential.securityToken == nil || scope.dialect.parameters.securityToken != nil else {
            throw .invalidCredential("the scheme has no place for a security token")
        }
    }
}

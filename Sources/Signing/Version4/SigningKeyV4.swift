import LibCrypto

/// A credential narrowed to one day and scope: the key, and the texts that go with it into each signature.
///
/// - SeeAlso: AWS, "Create a signed AWS API request", step 4.
public struct SigningKeyV4: Sendable {
    /// What makes signatures.
    enum Signer: Sendable {
        case hmac(HMACKey)
        case rsa(RSAPrivateKey)
    }

    /// Days since 1970 of the day that the key is for.
    public let dayNumber: Int
    /// `day/region/service/terminator`.
    public let scope: String

    let dialect: V4Dialect
    let signer: Signer
    let accessKeyID: String
    /// Percent-encoded `access key id/scope`.
    let encodedCredential: [UInt8]
    let securityToken: String?
    /// Percent-encoded token of temporary credentials.
    let encodedSecurityToken: [UInt8]?

    /// Makes the key: HMAC over day, region, service and terminator in turn, or the private key of the credential.
    ///
    /// - Parameters:
    ///   - credential: Whose key.
    ///   - scope: Of which scheme, region and service.
    ///   - instant: Any instant of the day, in UTC.
    /// - Throws: ``SigningError/invalidScope(_:)`` when the access key id, region or service is empty, or would be read as
    ///   something else between the slashes of the scope; ``SigningError/invalidCredential(_:)``;
    ///   ``SigningError/invalidPrivateKey(_:)``.
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
                signer = .rsa(try RSAPrivateKey(pem: credential.secretAccessKey))
            } catch {
                throw .invalidPrivateKey("it is no RSA key in PEM, unencrypted and of 2048 bits or more")
            }
        }
        accessKeyID = credential.accessKeyID
        encodedCredential = PercentEncoding.encode(
            "\(credential.accessKeyID)/\(self.scope)", keeping: PercentEncoding.unreserved
        )
        securityToken = credential.securityToken
        encodedSecurityToken = credential.securityToken.map {
            PercentEncoding.encode($0, keeping: PercentEncoding.unreserved)
        }
    }

    /// `access key id/scope`.
    var credentialText: String { "\(accessKeyID)/\(scope)" }

    /// Signs a text.
    ///
    /// - Throws: ``SigningError/invalidPrivateKey(_:)`` when the numbers of a private key do not fit together.
    func signature(of text: [UInt8]) throws(SigningError) -> V4Signature {
        switch signer {
        case .hmac(let key):
            return .code(key.authenticationCode(for: text))
        case .rsa(let key):
            do {
                return .rsa(try key.signature(of: text))
            } catch {
                throw .invalidPrivateKey("its numbers do not fit together")
            }
        }
    }

    /// Refuses a key of another vendor's scheme or another day.
    func check(vendor: V4Dialect.Vendor, at instant: SigningInstant) throws(SigningError) {
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

/// A signature of a "version 4" scheme, which writes it in lower-case hexadecimal.
enum V4Signature {
    case code(Digest)
    case rsa([UInt8])

    var hex: String {
        switch self {
        case .code(let digest): digest.hex
        case .rsa(let bytes): Hex.encode(bytes)
        }
    }

    var hexByteCount: Int {
        switch self {
        case .code(let digest): digest.byteCount * 2
        case .rsa(let bytes): bytes.count * 2
        }
    }

    func appendHex(to buffer: inout [UInt8]) {
        switch self {
        case .code(let digest): digest.appendHex(to: &buffer)
        case .rsa(let bytes): Hex.append(bytes.span, to: &buffer)
        }
    }
}

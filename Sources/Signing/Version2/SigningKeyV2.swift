import Bytes
import LibCrypto
import Synchronization

/// A credential prepared for "version 2" signatures: the hash state after the secret, or the private key, and the
/// constant texts of its URLs. It does not expire, so it can be kept as long as the credential. It keeps what its URLs
/// have in common.
public final class SigningKeyV2: Sendable {
    /// The key, by kind.
    private enum Secret: Sendable {
        case hmac(HMACKey)
        case rsa(RSAPrivateKey)
    }

    let accessKeyID: String
    let encodedAccessKeyID: [UInt8]
    let securityToken: String?
    private let secret: Secret
    private let templates = Mutex<[V2Template]>([])

    private static let maxTemplates = 16

    /// Prepares a credential that signs with HMAC-SHA1.
    ///
    /// - Throws: ``SigningError/invalidCredential(_:)`` when the access key id is empty, or when the id or the token
    ///   contains a character that would end it early in a header.
    public convenience init(_ credential: SigningCredential) throws(SigningError) {
        try self.init(credential, secret: .hmac(HMACKey(Array(credential.secretAccessKey.utf8), algorithm: .sha1)))
    }

    /// Prepares a service account of Google Cloud: its access key id is its e-mail address, its secret the private key
    /// in PEM.
    ///
    /// - Throws: ``SigningError/invalidPrivateKey(_:)``, or ``SigningError/invalidCredential(_:)``.
    public convenience init(serviceAccount credential: SigningCredential) throws(SigningError) {
        let key: RSAPrivateKey
        do {
            key = try RSAPrivateKey(pem: credential.secretAccessKey)
        } catch {
            throw .invalidPrivateKey("it is no RSA key in PEM, unencrypted and of 2048 bits or more")
        }
        try self.init(credential, secret: .rsa(key))
    }

    private init(_ credential: SigningCredential, secret: Secret) throws(SigningError) {
        let isVisible = { (byte: UInt8) in byte > 0x20 && byte != 0x7F }
        guard !credential.accessKeyID.isEmpty else { throw .invalidCredential("the access key id is empty") }
        guard credential.accessKeyID.utf8.allSatisfy(isVisible) else {
            throw .invalidCredential("the access key id holds white space or a control character")
        }
        if let token = credential.securityToken {
            guard !token.isEmpty, token.utf8.allSatisfy(isVisible) else {
                throw .invalidCredential("the security token is empty or holds white space or a control character")
            }
        }
        accessKeyID = credential.accessKeyID
        encodedAccessKeyID = PercentEncoding.encode(accessKeyID, keeping: .unreserved)
        securityToken = credential.securityToken
        self.secret = secret
    }

    /// The value of the `Authorization` header that goes with a signature.
    ///
    /// - Throws: ``SigningError/invalidCredential(_:)`` for an id with a colon at Alibaba OSS, whose clients split
    ///   there. Other stores accept ids such as `account:user`.
    func authorization(_ signature: String, dialect: V2Dialect) throws(SigningError) -> String {
        if case .raw = dialect.resourceForm, accessKeyID.utf8.contains(UInt8(ascii: ":")) {
            throw .invalidCredential("the access key id holds a colon")
        }
        return "\(dialect.authorizationScheme) \(accessKeyID):\(signature)"
    }

    /// Whether it signs with RSA.
    var usesPrivateKey: Bool {
        switch secret {
        case .hmac: false
        case .rsa: true
        }
    }

    /// Length of a signature in base64.
    var signatureByteCount: Int {
        switch secret {
        case .hmac: 28
        case .rsa(let key): (key.signatureByteCount + 2) / 3 * 4
        }
    }

    /// What a request has in common with others, prepared unless it is cached.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    func template(
        for request: borrowing PresignRequest, dialect: V2Dialect
    ) throws(SigningError) -> V2Template {
        let isHeld = request.query.isEmpty
        if isHeld, let held = heldTemplate(for: request, dialect: dialect) { return held }
        let template = try V2Template(
            copy request, dialect: dialect, encodedAccessKeyID: encodedAccessKeyID, securityToken: securityToken)
        guard isHeld else { return template }
        templates.withLock { templates in
            if templates.count >= Self.maxTemplates { templates.removeFirst() }
            templates.append(template)
        }
        return template
    }

    private func heldTemplate(for request: borrowing PresignRequest, dialect: V2Dialect) -> V2Template? {
        templates.withLock { templates in
            for place in templates.indices where templates[place].fits(request, dialect: dialect) {
                return templates[place]
            }
            return nil
        }
    }

    /// The signature of a text, in base64.
    ///
    /// - Throws: ``SigningError/keyOfAnotherScheme``, or ``SigningError/invalidPrivateKey(_:)`` when the numbers of a
    ///   private key do not fit together.
    func signature(of text: [UInt8], dialect: V2Dialect) throws(SigningError) -> String {
        guard usesPrivateKey == dialect.usesPrivateKey else { throw .keyOfAnotherScheme }
        return try signature(of: text.span).base64
    }

    /// The signature of a text.
    ///
    /// - Throws: ``SigningError/invalidPrivateKey(_:)`` when the numbers of a private key do not fit together.
    func signature(of text: Span<UInt8>) throws(SigningError) -> V2Signature {
        switch secret {
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
}

/// A "version 2" signature, written in base64.
enum V2Signature {
    case code(Digest)
    case rsa([UInt8])

    var base64: String {
        switch self {
        case .code(let digest): digest.base64
        case .rsa(let bytes): Base64.encode(bytes)
        }
    }

    /// Appends the signature. The output needs room for ``SigningKeyV2/signatureByteCount`` bytes.
    func appendBase64(to output: inout OutputSpan<UInt8>) {
        switch self {
        case .code(let digest): digest.withSpan { Base64.append($0, to: &output) }
        case .rsa(let bytes): Base64.append(bytes.span, to: &output)
        }
    }
}

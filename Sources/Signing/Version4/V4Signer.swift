import LibCrypto

/// What makes signatures of a "version 4" scheme.
enum V4Signer: Sendable {
    case hmac(HMACKey)
    /// Behind bytes that all texts begin with.
    case rsa(RSAPrivateKey, prefix: [UInt8])

    /// Signs texts that begin with some bytes, which then are left out of them.
    func beginning(with prefix: [UInt8]) -> V4Signer {
        switch self {
        case .hmac(let key): .hmac(HMACKey(key, messagesBeginningWith: prefix.span))
        case .rsa(let key, let first): .rsa(key, prefix: first + prefix)
        }
    }

    /// Signs a text.
    ///
    /// - Throws: ``SigningError/invalidPrivateKey(_:)`` when the numbers of a private key do not fit together.
    func signature(of text: Span<UInt8>) throws(SigningError) -> V4Signature {
        switch self {
        case .hmac(let key):
            return .code(key.authenticationCode(for: text))
        case .rsa(let key, let prefix):
            var whole = prefix
            whole.append(addingCapacity: text.count) { $0.append(copying: text) }
            do {
                return .rsa(try key.signature(of: whole))
            } catch {
                throw .invalidPrivateKey("its numbers do not fit together")
            }
        }
    }

    /// Room that a signature takes in hexadecimal.
    var hexByteCount: Int {
        switch self {
        case .hmac: 64
        case .rsa(let key, _): key.signatureByteCount * 2
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
}

import Bytes
import LibCrypto

/// The key of a "version 4" scheme, by kind.
enum V4Signer: Sendable {
    case hmac(HMACKey)
    /// The prefix is prepended to every text.
    case rsa(RSAPrivateKey, prefix: [UInt8])

    /// A signer for texts that begin with a prefix. The prefix is then left out of the texts.
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

    /// Length of a signature in hexadecimal.
    var hexByteCount: Int {
        switch self {
        case .hmac: 64
        case .rsa(let key, _): key.signatureByteCount * 2
        }
    }
}

/// A "version 4" signature, written in lower-case hexadecimal.
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

import CLibCrypto

/// A 256-bit key of AES in Galois/Counter Mode (NIST SP 800-38D).
///
/// Sealed bytes are `nonce (12) ‖ ciphertext ‖ tag (16)`. The nonce is random, so a key should seal at most 2³²
/// messages.
public struct AESGCMKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// Length of a key in bytes.
    public static let byteCount = 32
    /// Length of the nonce that sealed bytes begin with.
    public static let nonceByteCount = 12
    /// Length of the tag that sealed bytes end with.
    public static let tagByteCount = 16

    private let key: [UInt8]

    /// Makes a key from 32 bytes.
    ///
    /// - Throws: ``CryptoError/invalidKeyLength(expected:actual:)`` for any other length.
    public init(_ key: [UInt8]) throws(CryptoError) {
        guard key.count == Self.byteCount else {
            throw .invalidKeyLength(expected: Self.byteCount, actual: key.count)
        }
        self.key = key
    }

    /// A fixed text that hides the key.
    public var description: String { "«redacted»" }

    /// Has no children, so that `dump` does not show the key.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Encrypts and authenticates a message, and authenticates associated data.
    ///
    /// - Parameters:
    ///   - message: Any number of bytes, including none.
    ///   - associatedData: Data that is not part of the result. The same bytes are needed to open it.
    /// - Throws: ``CryptoError/randomUnavailable``.
    public func seal(_ message: [UInt8], authenticating associatedData: [UInt8]) throws(CryptoError) -> [UInt8] {
        seal(message, authenticating: associatedData, nonce: try randomBytes(count: Self.nonceByteCount))
    }

    func seal(_ message: [UInt8], authenticating associatedData: [UInt8], nonce: [UInt8]) -> [UInt8] {
        precondition(nonce.count == Self.nonceByteCount)
        let cipher = CipherContext()
        unsafe mustSucceed(EVP_EncryptInit_ex2(cipher.pointer, FetchedCipher.aes256GCM.pointer, key, nonce, nil))
        var written: Int32 = 0
        if !associatedData.isEmpty {
            unsafe mustSucceed(
                EVP_EncryptUpdate(cipher.pointer, nil, &written, associatedData, Int32(associatedData.count))
            )
        }
        var ciphertext = [UInt8](repeating: 0, count: message.count)
        if !message.isEmpty {
            unsafe mustSucceed(
                EVP_EncryptUpdate(cipher.pointer, &ciphertext, &written, message, Int32(message.count))
            )
        }
        var tag = [UInt8](repeating: 0, count: Self.tagByteCount)
        unsafe mustSucceed(EVP_EncryptFinal_ex(cipher.pointer, &tag, &written))
        unsafe mustSucceed(
            EVP_CIPHER_CTX_ctrl(cipher.pointer, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag)
        )
        return nonce + ciphertext + tag
    }

    /// Decrypts the result of ``seal(_:authenticating:)``.
    ///
    /// - Throws: ``CryptoError/sealedBytesTooShort``, or ``CryptoError/authenticationFailed`` when the sealed bytes,
    ///   the associated data or the key differ.
    public func open(_ sealed: [UInt8], authenticating associatedData: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard sealed.count >= Self.nonceByteCount + Self.tagByteCount else { throw .sealedBytesTooShort }
        let nonce = Array(sealed.prefix(Self.nonceByteCount))
        let ciphertext = Array(sealed.dropFirst(Self.nonceByteCount).dropLast(Self.tagByteCount))
        var tag = Array(sealed.suffix(Self.tagByteCount))
        let cipher = CipherContext()
        unsafe mustSucceed(EVP_DecryptInit_ex2(cipher.pointer, FetchedCipher.aes256GCM.pointer, key, nonce, nil))
        var written: Int32 = 0
        if !associatedData.isEmpty {
            unsafe mustSucceed(
                EVP_DecryptUpdate(cipher.pointer, nil, &written, associatedData, Int32(associatedData.count))
            )
        }
        var message = [UInt8](repeating: 0, count: ciphertext.count)
        if !ciphertext.isEmpty {
            unsafe mustSucceed(
                EVP_DecryptUpdate(cipher.pointer, &message, &written, ciphertext, Int32(ciphertext.count))
            )
        }
        unsafe mustSucceed(
            EVP_CIPHER_CTX_ctrl(cipher.pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag)
        )
        var rest = [UInt8](repeating: 0, count: Self.tagByteCount)
        guard unsafe EVP_DecryptFinal_ex(cipher.pointer, &rest, &written) == 1 else { throw .authenticationFailed }
        return message
    }
}

/// Owns one `EVP_CIPHER_CTX`.
@safe private struct CipherContext: ~Copyable {
    let pointer: OpaquePointer

    init() {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("Out of memory") }
        unsafe pointer = context
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(pointer)
    }
}

/// A cipher implementation of libcrypto, looked up once.
///
/// - Invariant: The first caller sets the pointer; all others wait and then only read it. Only the reference count of
///   what it points to changes, which libcrypto does atomically. It is never freed.
@safe private struct FetchedCipher: @unchecked Sendable {
    static let aes256GCM = FetchedCipher(named: "AES-256-GCM")

    let pointer: OpaquePointer

    private init(named name: String) {
        guard let fetched = unsafe EVP_CIPHER_fetch(nil, name, nil) else {
            preconditionFailure("This libcrypto offers no \(name)")
        }
        unsafe pointer = fetched
    }
}

/// Stops the program if a call fails. Such a call can fail only without memory or through a bug of this wrapper.
private func mustSucceed(_ status: Int32, _ function: StaticString = #function) {
    precondition(status == 1, "libcrypto failed in \(function)")
}

import CLibCrypto

/// A key of HMAC (RFC 2104) that has already gone through the hash function.
///
/// The state after the padded key is kept for the inner and the outer hash, so that each message costs only its own blocks.
///
/// - Invariant: `init` alone writes the two contexts, before anybody else has the key. After that any thread copies from them,
///   which only reads them, into its own one; `deinit` frees them once nobody has the key.
@safe public final class HMACKey: @unchecked Sendable {
    private let algorithm: DigestAlgorithm
    private let inner: OpaquePointer
    private let outer: OpaquePointer

    /// Prepares a key of any length for a hash function.
    public init(_ key: Span<UInt8>, algorithm: DigestAlgorithm) {
        self.algorithm = algorithm
        var block = [UInt8](repeating: 0, count: algorithm.blockByteCount)
        if key.count > block.count {
            let digest = algorithm.digest(of: key).bytes
            block.replaceSubrange(0..<digest.count, with: digest)
        } else {
            for index in 0..<key.count { block[index] = key[index] }
        }
        unsafe inner = Self.state(after: block.map { $0 ^ 0x36 }, algorithm: algorithm)
        unsafe outer = Self.state(after: block.map { $0 ^ 0x5C }, algorithm: algorithm)
    }

    /// Prepares a key of any length for a hash function.
    public convenience init(_ key: [UInt8], algorithm: DigestAlgorithm) {
        self.init(key.span, algorithm: algorithm)
    }

    deinit {
        unsafe EVP_MD_CTX_free(inner)
        unsafe EVP_MD_CTX_free(outer)
    }

    /// The authentication code of a message.
    public func authenticationCode(for message: Span<UInt8>) -> Digest {
        let context = unsafe algorithm.implementation.threadContext()
        unsafe mustSucceed(EVP_MD_CTX_copy_ex(context, inner))
        let digest = unsafe algorithm.finish(context, with: message)
        unsafe mustSucceed(EVP_MD_CTX_copy_ex(context, outer))
        return digest.withSpan { unsafe algorithm.finish(context, with: $0) }
    }

    /// The authentication code of a message.
    public func authenticationCode(for message: [UInt8]) -> Digest {
        authenticationCode(for: message.span)
    }

    private static func state(after block: [UInt8], algorithm: DigestAlgorithm) -> OpaquePointer {
        let context = unsafe newDigestContext()
        unsafe mustSucceed(EVP_DigestInit_ex2(context, algorithm.implementation.pointer, nil))
        unsafe mustSucceed(EVP_DigestUpdate(context, block, block.count))
        return unsafe context
    }
}

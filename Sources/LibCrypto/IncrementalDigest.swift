import CLibCrypto

/// A digest of bytes that arrive piece by piece.
///
/// - Invariant: Nobody touches the context but the one owner of this value, in calls that exclude each other; another thread
///   does only after the value was moved to it.
@safe public struct IncrementalDigest: ~Copyable, @unchecked Sendable {
    private let context: OpaquePointer
    private let algorithm: DigestAlgorithm

    /// Starts an empty message.
    public init(_ algorithm: DigestAlgorithm) {
        self.algorithm = algorithm
        unsafe context = newDigestContext()
        restart()
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
    }

    /// Adds the next bytes of the message.
    public mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe mustSucceed(EVP_DigestUpdate(context, base, buffer.count))
        }
    }

    /// Adds the next bytes of the message.
    public mutating func update(_ bytes: [UInt8]) {
        update(bytes.span)
    }

    /// The digest of everything added; the next ``update(_:)-([UInt8])`` begins a new message.
    public mutating func finalize() -> Digest {
        let digest = unsafe Digest(algorithm: algorithm) { output in
            unsafe mustSucceed(EVP_DigestFinal_ex(context, output, nil))
        }
        restart()
        return digest
    }

    private func restart() {
        unsafe mustSucceed(EVP_DigestInit_ex2(context, algorithm.implementation.pointer, nil))
    }
}

/// A fresh digest context; libcrypto fails here only when memory is gone.
func newDigestContext() -> OpaquePointer {
    guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("Out of memory") }
    return unsafe context
}

/// Stops the program when a call fails that can only fail for want of memory or by a fault of this wrapper.
func mustSucceed(_ status: Int32, _ function: StaticString = #function) {
    precondition(status == 1, "libcrypto failed in \(function)")
}

import CLibCrypto
import Glibc

/// A digest implementation of libcrypto, looked up once, and a context of it for each thread: to look the one up and to make
/// the other anew for each message costs more than a short message.
///
/// - Invariant: The first caller sets the pointer and the slot, all others wait for that and only read them. Behind the pointer
///   nothing changes but the count of references, which libcrypto keeps atomically; it is never freed. What lies in the slot
///   is the thread's own: it is made, used and, as the thread ends, freed there.
@safe struct FetchedDigest: @unchecked Sendable {
    static let sha256 = FetchedDigest(named: "SHA2-256")
    static let sha1 = FetchedDigest(named: "SHA1")
    static let md5 = FetchedDigest(named: "MD5")

    let pointer: OpaquePointer
    private let slot: pthread_key_t

    private init(named name: String) {
        guard let fetched = unsafe EVP_MD_fetch(nil, name, nil) else {
            preconditionFailure("This libcrypto offers no \(name)")
        }
        unsafe pointer = fetched
        var slot = pthread_key_t()
        let status = unsafe pthread_key_create(&slot) { unsafe EVP_MD_CTX_free(OpaquePointer($0)) }
        precondition(status == 0, "Out of thread-specific slots")
        self.slot = slot
    }

    /// The thread's context, in any state; nobody else may use it until the digest of a message is taken from it.
    func threadContext() -> OpaquePointer {
        unsafe pthread_getspecific(slot).map { OpaquePointer($0) } ?? makeThreadContext()
    }

    private func makeThreadContext() -> OpaquePointer {
        let context = unsafe newDigestContext()
        let status = unsafe pthread_setspecific(slot, UnsafeRawPointer(context))
        precondition(status == 0, "Out of memory")
        return unsafe context
    }
}

extension DigestAlgorithm {
    var implementation: FetchedDigest {
        switch self {
        case .sha256: .sha256
        case .sha1: .sha1
        case .md5: .md5
        }
    }

    /// The digest of a whole message.
    public func digest(of message: Span<UInt8>) -> Digest {
        let implementation = implementation
        let context = unsafe implementation.threadContext()
        unsafe mustSucceed(EVP_DigestInit_ex2(context, implementation.pointer, nil))
        return unsafe finish(context, with: message)
    }

    /// The digest of a whole message.
    public func digest(of message: [UInt8]) -> Digest {
        digest(of: message.span)
    }

    /// The digest of what a context has hashed so far and of the rest of its message.
    func finish(_ context: OpaquePointer, with rest: Span<UInt8>) -> Digest {
        unsafe rest.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe mustSucceed(EVP_DigestUpdate(context, base, buffer.count))
        }
        return unsafe Digest(algorithm: self) { output in
            unsafe mustSucceed(EVP_DigestFinal_ex(context, output, nil))
        }
    }
}

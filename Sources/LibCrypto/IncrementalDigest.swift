import CLibCrypto

/// A digest of bytes that arrive in pieces.
public struct IncrementalDigest: Sendable {
    private enum State {
        case sha256(SHA256_CTX)
        case sha1(SHA_CTX)
        case md5(MD5_CTX)

        init(_ algorithm: DigestAlgorithm) {
            self =
                switch algorithm {
                case .sha256: .sha256(.begin())
                case .sha1: .sha1(.begin())
                case .md5: .md5(.begin())
                }
        }
    }

    private let algorithm: DigestAlgorithm
    private var state: State

    /// Starts an empty message.
    public init(_ algorithm: DigestAlgorithm) {
        self.algorithm = algorithm
        state = State(algorithm)
    }

    /// Adds the next bytes of the message.
    public mutating func update(_ bytes: Span<UInt8>) {
        switch state {
        case .sha256(var hash):
            hash.update(bytes)
            state = .sha256(hash)
        case .sha1(var hash):
            hash.update(bytes)
            state = .sha1(hash)
        case .md5(var hash):
            hash.update(bytes)
            state = .md5(hash)
        }
    }

    /// Adds the next bytes of the message.
    public mutating func update(_ bytes: [UInt8]) {
        update(bytes.span)
    }

    /// The digest of all added bytes. The next ``update(_:)-([UInt8])`` begins a new message.
    public mutating func finalize() -> Digest {
        var digest = Digest()
        switch state {
        case .sha256(var hash): hash.finalize(into: &digest)
        case .sha1(var hash): hash.finalize(into: &digest)
        case .md5(var hash): hash.finalize(into: &digest)
        }
        state = State(algorithm)
        return digest
    }
}

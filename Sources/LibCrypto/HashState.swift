import CLibCrypto

/// The state of a hash function within a message: a plain structure of libcrypto that can be copied like a number.
protocol HashState {
    /// The state before the first byte.
    static func begin() -> Self
    /// Adds the next bytes of the message.
    mutating func update(_ bytes: Span<UInt8>)
    /// Returns the digest of all added bytes. The state cannot be used after that.
    mutating func finalize(into digest: inout Digest)
}

extension HashState {
    /// Returns the digest of a whole message.
    @inline(__always)
    static func hash(_ message: Span<UInt8>, into digest: inout Digest) {
        var state = begin()
        state.update(message)
        state.finalize(into: &digest)
    }
}

// None of these functions can fail. They return a number only because related functions can.
extension SHA256_CTX: HashState {
    static func begin() -> SHA256_CTX {
        var state = SHA256_CTX()
        unsafe SHA256_Init(&state)
        return state
    }

    mutating func update(_ bytes: Span<UInt8>) {
        _ = unsafe bytes.withUnsafeBufferPointer { unsafe SHA256_Update(&self, $0.baseAddress, $0.count) }
    }

    mutating func finalize(into digest: inout Digest) {
        unsafe digest.fill(byteCount: 32) { unsafe SHA256_Final($0, &self) }
    }
}

extension SHA_CTX: HashState {
    static func begin() -> SHA_CTX {
        var state = SHA_CTX()
        unsafe SHA1_Init(&state)
        return state
    }

    mutating func update(_ bytes: Span<UInt8>) {
        _ = unsafe bytes.withUnsafeBufferPointer { unsafe SHA1_Update(&self, $0.baseAddress, $0.count) }
    }

    mutating func finalize(into digest: inout Digest) {
        unsafe digest.fill(byteCount: 20) { unsafe SHA1_Final($0, &self) }
    }
}

extension MD5_CTX: HashState {
    static func begin() -> MD5_CTX {
        var state = MD5_CTX()
        unsafe MD5_Init(&state)
        return state
    }

    mutating func update(_ bytes: Span<UInt8>) {
        _ = unsafe bytes.withUnsafeBufferPointer { unsafe MD5_Update(&self, $0.baseAddress, $0.count) }
    }

    mutating func finalize(into digest: inout Digest) {
        unsafe digest.fill(byteCount: 16) { unsafe MD5_Final($0, &self) }
    }
}

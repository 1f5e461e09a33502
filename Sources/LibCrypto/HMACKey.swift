import CLibCrypto

/// An HMAC key (RFC 2104) that is already hashed.
///
/// The inner and the outer hash state after the padded key are kept, so that each message costs only its own blocks.
///
/// - Invariant: Only `init` writes the states, before any other code has the key. After that, threads only copy from
///   them. `deinit` wipes and frees them once nobody uses the key.
@safe public final class HMACKey: @unchecked Sendable {
    /// The state of the inner hash, followed by that of the outer one.
    @unsafe private enum States {
        case sha256(UnsafeMutablePointer<SHA256_CTX>)
        case sha1(UnsafeMutablePointer<SHA_CTX>)
        case md5(UnsafeMutablePointer<MD5_CTX>)
    }

    private let states: States

    /// Prepares a key of any length for a hash function.
    public init(_ key: Span<UInt8>, algorithm: DigestAlgorithm) {
        switch algorithm {
        case .sha256: unsafe states = .sha256(Self.states(after: key))
        case .sha1: unsafe states = .sha1(Self.states(after: key))
        case .md5: unsafe states = .md5(Self.states(after: key))
        }
    }

    /// Prepares a key of any length for a hash function.
    public convenience init(_ key: [UInt8], algorithm: DigestAlgorithm) {
        self.init(key.span, algorithm: algorithm)
    }

    /// Prepares a key for messages that all begin with the same bytes. These bytes are then left out of the messages.
    public init(_ key: HMACKey, messagesBeginningWith prefix: Span<UInt8>) {
        switch unsafe key.states {
        case .sha256(let states): unsafe self.states = .sha256(Self.states(states, after: prefix))
        case .sha1(let states): unsafe self.states = .sha1(Self.states(states, after: prefix))
        case .md5(let states): unsafe self.states = .md5(Self.states(states, after: prefix))
        }
    }

    deinit {
        switch unsafe states {
        case .sha256(let states): unsafe Self.free(states)
        case .sha1(let states): unsafe Self.free(states)
        case .md5(let states): unsafe Self.free(states)
        }
    }

    /// Overwrites a digest with the authentication code of a message, which is the fastest way.
    public func authenticate(_ message: Span<UInt8>, into code: inout Digest) {
        switch unsafe states {
        case .sha256(let states): unsafe Self.authenticate(message, after: states, into: &code)
        case .sha1(let states): unsafe Self.authenticate(message, after: states, into: &code)
        case .md5(let states): unsafe Self.authenticate(message, after: states, into: &code)
        }
    }

    /// The authentication code of a message.
    public func authenticationCode(for message: Span<UInt8>) -> Digest {
        var code = Digest()
        authenticate(message, into: &code)
        return code
    }

    /// The authentication code of a message.
    public func authenticationCode(for message: [UInt8]) -> Digest {
        authenticationCode(for: message.span)
    }

    // The result overwrites the copy of each state, so the copy is wiped as soon as it is used.
    @inline(__always)
    private static func authenticate<State: HashState>(
        _ message: Span<UInt8>, after states: UnsafeMutablePointer<State>, into code: inout Digest
    ) {
        var inner = unsafe states[0]
        inner.update(message)
        inner.finalize(into: &code)
        var outer = unsafe states[1]
        code.withSpan { outer.update($0) }
        outer.finalize(into: &code)
    }

    private static func states<State: HashState>(after key: Span<UInt8>) -> UnsafeMutablePointer<State> {
        let states = UnsafeMutablePointer<State>.allocate(capacity: 2)
        // All three functions work on blocks of 64 bytes.
        var block = InlineArray<64, UInt8>(repeating: 0)
        if key.count > block.count {
            var digest = Digest()
            State.hash(key, into: &digest)
            digest.withSpan { for index in $0.indices { block[index] = $0[index] } }
            wipe(&digest)
        } else {
            for index in key.indices { block[index] = key[index] }
        }
        for (place, padding) in [UInt8(0x36), 0x5C].enumerated() {
            var padded = block
            for index in padded.indices { padded[index] ^= padding }
            var state = State.begin()
            state.update(padded.span)
            unsafe (states + place).initialize(to: state)
            wipe(&padded)
            wipe(&state)
        }
        wipe(&block)
        return unsafe states
    }

    private static func states<State: HashState>(
        _ states: UnsafeMutablePointer<State>, after prefix: Span<UInt8>
    ) -> UnsafeMutablePointer<State> {
        let copies = UnsafeMutablePointer<State>.allocate(capacity: 2)
        unsafe copies.initialize(from: states, count: 2)
        unsafe copies[0].update(prefix)
        return unsafe copies
    }

    private static func free<State: HashState>(_ states: UnsafeMutablePointer<State>) {
        unsafe OPENSSL_cleanse(states, 2 * MemoryLayout<State>.stride)
        unsafe states.deallocate()
    }

    /// Overwrites data that could reveal the key.
    private static func wipe<Value>(_ value: inout Value) {
        unsafe withUnsafeMutableBytes(of: &value) { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}

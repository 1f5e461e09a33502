/// The value of a hash function or of an HMAC.
///
/// Held in place, so that making one allocates nothing.
public struct Digest: Sendable, Equatable {
    private var storage: InlineArray<32, UInt8>
    /// Number of bytes: 32, 20 or 16.
    public let byteCount: Int

    init(algorithm: DigestAlgorithm, fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        storage = InlineArray(repeating: 0)
        byteCount = algorithm.byteCount
        var span = storage.mutableSpan
        unsafe span.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe fill(base)
        }
    }

    /// Lends the bytes, in place.
    public func withSpan<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(storage.span.extracting(first: byteCount))
    }

    /// The bytes, copied.
    public var bytes: [UInt8] {
        (0..<byteCount).map { storage[$0] }
    }

    /// The bytes as lower-case hexadecimal text.
    public var hex: String {
        Hex.encode(bytes)
    }

    /// Appends the bytes as lower-case hexadecimal text, for which there must be room.
    public func appendHex(to output: inout OutputSpan<UInt8>) {
        Hex.append(storage.span.extracting(first: byteCount), to: &output)
    }

    /// The bytes in base64 with padding.
    public var base64: String {
        Base64.encode(bytes)
    }

    /// Compares in a time that does not depend on the content.
    public static func == (left: Digest, right: Digest) -> Bool {
        left.withSpan { left in right.withSpan { right in constantTimeEqual(left, right) } }
    }
}

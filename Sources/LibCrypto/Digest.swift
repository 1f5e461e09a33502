import Bytes

/// The result of a hash function or of an HMAC.
///
/// It is stored in place, so that making one allocates nothing.
public struct Digest: Sendable, Equatable {
    @usableFromInline var storage: InlineArray<32, UInt8>
    /// Number of bytes: 32, 20 or 16; 0 before the first result.
    public private(set) var byteCount: Int

    /// Makes an empty digest, to be filled later.
    public init() {
        storage = InlineArray(repeating: 0)
        byteCount = 0
    }

    /// Takes over the bytes of a digest; `nil` if there are more than 32.
    public init?(_ bytes: [UInt8]) {
        self.init()
        guard bytes.count <= storage.count else { return nil }
        for (place, byte) in bytes.enumerated() { storage[place] = byte }
        byteCount = bytes.count
    }

    @inline(__always)
    mutating func fill(byteCount: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        self.byteCount = byteCount
        var span = storage.mutableSpan
        unsafe span.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe fill(base)
        }
    }

    /// The bytes, without a copy.
    @inlinable
    @inline(__always)
    public func withSpan<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(storage.span.extracting(first: byteCount))
    }

    /// A copy of the bytes.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: byteCount) { output in withSpan { output.append(copying: $0) } }
        return bytes
    }

    /// The bytes as lower-case hexadecimal text.
    public var hex: String {
        String(room: 2 * byteCount) { appendHex(to: &$0) }
    }

    /// Appends the bytes as lower-case hexadecimal text. The output needs room for it.
    public func appendHex(to output: inout OutputSpan<UInt8>) {
        Hex.append(storage.span.extracting(first: byteCount), to: &output)
    }

    /// The bytes in base64 with padding.
    public var base64: String {
        withSpan { Base64.encode($0) }
    }

    /// Compares in constant time.
    public static func == (left: Digest, right: Digest) -> Bool {
        left.withSpan { left in right.withSpan { right in constantTimeEqual(left, right) } }
    }

    /// Whether the digest consists of these bytes. The time of the comparison depends only on their number.
    public func isSame(as bytes: [UInt8]) -> Bool {
        withSpan { constantTimeEqual($0, bytes.span) }
    }
}

/// The value of a hash function or of an HMAC.
///
/// Held in place, so that making one allocates nothing.
public struct Digest: Sendable, Equatable {
    @usableFromInline var storage: InlineArray<32, UInt8>
    /// Number of bytes: 32, 20 or 16; of none yet, 0.
    public private(set) var byteCount: Int

    /// Makes room for one.
    public init() {
        storage = InlineArray(repeating: 0)
        byteCount = 0
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

    /// Lends the bytes, in place.
    @inlinable
    @inline(__always)
    public func withSpan<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(storage.span.extracting(first: byteCount))
    }

    /// The bytes, copied.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: byteCount) { output in withSpan { output.append(copying: $0) } }
        return bytes
    }

    /// The bytes as lower-case hexadecimal text.
    public var hex: String {
        String(room: 2 * byteCount) { appendHex(to: &$0) }
    }

    /// Appends the bytes as lower-case hexadecimal text, for which there must be room.
    public func appendHex(to output: inout OutputSpan<UInt8>) {
        Hex.append(storage.span.extracting(first: byteCount), to: &output)
    }

    /// The bytes in base64 with padding.
    public var base64: String {
        withSpan { Base64.encode($0) }
    }

    /// Compares in a time that does not depend on the content.
    public static func == (left: Digest, right: Digest) -> Bool {
        left.withSpan { left in right.withSpan { right in constantTimeEqual(left, right) } }
    }

    /// Whether these are the bytes, in a time that depends on their number alone.
    public func isSame(as bytes: [UInt8]) -> Bool {
        withSpan { constantTimeEqual($0, bytes.span) }
    }
}

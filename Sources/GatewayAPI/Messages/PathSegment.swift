import Bytes

/// Encodes text as one segment of a path.
enum PathSegment {
    private static let kept = ByteSet.unreserved.union(":")

    /// Escapes everything but the unreserved bytes of RFC 3986 and `:`.
    static func encoded(_ text: String) -> String {
        String(decoding: PercentEncoding.encode(text, keeping: kept), as: UTF8.self)
    }
}

@testable import Signing
import Bytes

/// A request target, split and decoded.
struct ReceivedTarget {
    /// The path, beginning with `/`.
    let path: [UInt8]
    /// The parameters of the query in their order.
    let query: [NamedValue]

    /// Splits and decodes `path[?query]`.
    ///
    /// - Throws: ``VerificationError/malformed(_:)`` for a bad escape, an empty parameter, a query that is no UTF-8, or
    ///   bytes that a target cannot hold.
    init(_ target: String) throws(VerificationError) {
        let bytes = Array(target.utf8)
        guard bytes.first == UInt8(ascii: "/"),
            bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
        else { throw .malformed("the target is no path of printable ASCII") }
        let pathEnd = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        guard let path = PercentEncoding.decode(bytes[..<pathEnd], plusIsSpace: false) else {
            throw .malformed("the path has a bad escape")
        }
        guard let query = ReceivedQuery.pairs(in: bytes[pathEnd...].dropFirst()) else {
            throw .malformed("the query has a bad escape, an empty parameter or no UTF-8")
        }
        self.path = path
        self.query = query
    }
}

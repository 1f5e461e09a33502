import Bytes
package import FoundationEssentials
import LibCrypto

/// The text form of a place in a list, opaque to clients and not secret. A token continues only the same list with the
/// same filters.
package struct PageToken: Sendable {
    /// Names, prefixes and identifiers contain no control characters.
    private static let separator = "\u{1f}"

    /// The values at the start of every token of the list.
    private let heading: [String]

    /// Creates the token format for a list.
    ///
    /// - Parameters:
    ///   - list: Name of the list.
    ///   - filters: Filters that narrow the list, by name.
    package init(of list: String, filters: [String: String]) {
        let text = filters.sorted { $0.key < $1.key }.map { "\($0.key)\0\($0.value)\0" }.joined()
        heading = [list, String(DigestAlgorithm.sha256.digest(of: text).hex.prefix(16))]
    }

    /// Encodes the values of the last row of a page, in base64url.
    package func text(after values: [String]) -> String {
        Base64URL.encode(Array((heading + values).joined(separator: Self.separator).utf8))
    }

    /// Decodes the values in a token.
    ///
    /// - Parameters:
    ///   - text: The token.
    ///   - count: Expected number of values.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` if the token was not made for this list and these
    ///   filters.
    package func values(in text: String, count: Int) throws(GatewayError) -> [String] {
        guard let bytes = Base64URL.decode(text.utf8), !bytes.contains(0),
            let plain = String(validating: bytes, as: UTF8.self)
        else { throw Self.foreign }
        let parts = plain.utf8.split(separator: 0x1f, omittingEmptySubsequences: false).map { String(Substring($0)) }
        guard parts.count == heading.count + count, parts.first == heading.first else { throw Self.foreign }
        guard parts[1] == heading[1] else {
            throw .invalidArgument(field: "pageToken", reason: "The token belongs to a list with other filters.")
        }
        return Array(parts.dropFirst(heading.count))
    }

    /// The value of a token for an instant: microseconds since 1970.
    package static func text(of instant: Date) -> String {
        let microseconds = (instant.timeIntervalSince1970 * 1_000_000).rounded()
        let value: Int64 = Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)
        return String(value)
    }

    /// Reads the value of a token for an instant.
    ///
    /// - Throws: ``foreign``.
    package static func instant(_ text: String) throws(GatewayError) -> Date {
        try Date(timeIntervalSince1970: Double(microseconds(text)) / 1_000_000)
    }

    /// Reads the value of a token for an instant, in microseconds since 1970. It is not later than the year 9999, so
    /// that arithmetic and databases can represent it.
    ///
    /// - Throws: ``foreign``.
    package static func microseconds(_ text: String) throws(GatewayError) -> Int64 {
        guard let microseconds = Int64(text), 0...253_402_300_800_000_000 ~= microseconds else { throw foreign }
        return microseconds
    }

    /// The error for a token that does not belong to a list.
    package static var foreign: GatewayError {
        .invalidArgument(field: "pageToken", reason: "The token does not belong to this list.")
    }
}

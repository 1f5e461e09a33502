import LibCrypto

/// The text form of a place in a list: opaque to clients, and no secret. It goes on with that list under the same filters only.
package struct PageToken: Sendable {
    /// Neither names, prefixes nor identifiers hold control characters.
    private static let separator = "\u{1f}"

    /// What every token of the list begins with.
    private let heading: [String]

    /// Tokens of a list.
    ///
    /// - Parameters:
    ///   - list: Its name.
    ///   - filters: What narrows it.
    package init(of list: String, filters: [String: String]) {
        let text = filters.sorted { $0.key < $1.key }.map { "\($0.key)\0\($0.value)\0" }.joined()
        heading = [list, String(DigestAlgorithm.sha256.digest(of: text).hex.prefix(16))]
    }

    /// Tokens of a list of rows.
    package init(of kind: ResourceKind, filters: [String: String]) {
        self.init(of: kind.rawValue, filters: filters)
    }

    /// Writes the values of the row that a page ended with, in base64url.
    package func text(after values: [String]) -> String {
        Base64URL.encode(Array((heading + values).joined(separator: Self.separator).utf8))
    }

    /// Reads the values.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for a text that was not written for this list and these filters.
    package func values(in text: String, count: Int) throws(GatewayError) -> [String] {
        guard let bytes = Base64URL.decode(text.utf8), !bytes.contains(0),
            let plain = String(validating: bytes, as: UTF8.self)
        else { throw Self.foreign }
        let parts = plain.utf8.split(separator: 0x1f, omittingEmptySubsequences: false).map { String(Substring($0)) }
        guard parts.count == heading.count + count, parts.first == heading.first else { throw Self.foreign }
        guard parts[1] == heading[1] else {
            throw .invalidArgument(field: "pageToken", reason: "The token is of a page with other filters.")
        }
        return Array(parts.dropFirst(heading.count))
    }

    /// Says that a token is not of a list.
    package static var foreign: GatewayError {
        .invalidArgument(field: "pageToken", reason: "The token is not of a page of this list.")
    }
}

import GatewayCore
import LibCrypto

/// The text form of a place in a list: opaque to clients, and no secret.
enum PageToken {
    /// Neither names, prefixes nor identifiers hold control characters.
    private static let separator = "\u{1f}"

    /// Writes the values of the row that a page ended with, in base64url.
    static func write(_ values: [String], kind: ResourceKind) -> String {
        let text = ([kind.rawValue] + values).joined(separator: separator)
        let bytes = Base64.encode(Array(text.utf8)).utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads the values; `nil` for a text that was not written for this kind.
    static func read(_ token: String, kind: ResourceKind) -> [String]? {
        var bytes = token.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        while !bytes.count.isMultiple(of: 4) { bytes.append(UInt8(ascii: "=")) }
        guard let decoded = Base64.decode(String(decoding: bytes, as: UTF8.self)),
            let text = String(validating: decoded, as: UTF8.self)
        else { return nil }
        let parts = text.utf8.split(separator: 0x1f, omittingEmptySubsequences: false).map { String(Substring($0)) }
        return parts.first == kind.rawValue ? Array(parts.dropFirst()) : nil
    }
}

import Bytes
public import StrictJSON

/// A signed token in compact form (RFC 7515, section 7.1), parsed but not yet verified.
public struct CompactToken: Sendable {
    /// The algorithm that the header claims.
    public let algorithm: String
    /// The identifier (`kid`) of the key that signed the token.
    public let keyID: String?
    /// The claims. They prove nothing before the signature is verified.
    public let payload: JSONValue
    /// The bytes that are signed: header and payload as sent, with the dot between them.
    public let signedBytes: ArraySlice<UInt8>
    /// The signature.
    public let signature: [UInt8]

    /// Parses a token; `nil` where it does not have exactly this form, or uses an extension that is not supported here.
    ///
    /// Parameters that point to keys (`jku`, `jwk`, `x5u`, `x5c`) are ignored.
    public init?(_ text: [UInt8]) {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]), !signature.isEmpty,
            let header = Self.object(in: parts[0]), let payload = Self.object(in: parts[1])
        else { return nil }
        // `crit` lists extensions that must be understood, and none is. An unencoded payload (RFC 7797) would be read
        // differently.
        guard header["crit"] == nil, header["b64"] == nil, Self.isType(header["typ"]),
            case .string(let algorithm)? = header["alg"]
        else { return nil }
        switch header["kid"] {
        case nil: keyID = nil
        case .string(let text)?: keyID = text
        default: return nil
        }
        self.algorithm = algorithm
        self.payload = payload
        self.signature = signature
        signedBytes = text[..<parts[1].endIndex]
    }

    private static func object(in part: ArraySlice<UInt8>) -> JSONValue? {
        guard let bytes = Base64URL.decode(part.span), let value = try? JSONReader.read(bytes), case .object = value
        else { return nil }
        return value
    }

    /// Whether a token of this type is accepted. Tokens of other types, for example logout tokens, may be signed with
    /// the same key.
    private static func isType(_ type: JSONValue?) -> Bool {
        switch type {
        case nil: true
        case .string(let text)?:
            ["jwt", "at+jwt", "application/jwt", "application/at+jwt"].contains(text.lowercased())
        default: false
        }
    }
}

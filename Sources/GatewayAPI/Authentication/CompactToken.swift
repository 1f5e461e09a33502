import GatewayCore
import LibCrypto
import StrictJSON

/// A signed token in compact form (RFC 7515, section 7.1), parsed but not yet verified.
struct CompactToken {
    /// The algorithm that the header claims.
    let algorithm: String
    /// The identifier (`kid`) of the key that signed the token.
    let keyID: String?
    /// The claims. They prove nothing before the signature is verified.
    let payload: JSONValue
    /// The bytes that are signed: header and payload as sent, with the dot between them.
    let signedBytes: ArraySlice<UInt8>
    /// The signature.
    let signature: [UInt8]

    /// Parses a token; `nil` where it does not have exactly this form, or uses an extension that is not supported here.
    ///
    /// Parameters that point to keys (`jku`, `jwk`, `x5u`, `x5c`) are ignored.
    init?(_ text: [UInt8]) {
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
        guard let bytes = Base64URL.decode(part), let value = try? JSONReader.read(bytes), case .object = value else {
            return nil
        }
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

extension JSONValue {
    /// The member with exactly this name; `nil` where there is none, or where this value is not an object.
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { ExactText($0.name) == ExactText(name) }?.value
    }

    /// The value of a claim; `nil` where it is absent or null.
    ///
    /// - Parameter path: A member's whole name. If no member has that name, the path is read as names with dots between
    ///   them that lead into nested objects.
    subscript(claim path: String) -> JSONValue? {
        let found: JSONValue? =
            self[path]
            ?? path.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).reduce(self) {
                value, name in
                value?[String(Substring(name))]
            }
        return found == .null ? nil : found
    }

    /// The strings of an array of strings, or of one string; `nil` for anything else.
    var strings: [String]? {
        switch self {
        case .string(let text): return [text]
        case .array(let items):
            var texts: [String] = []
            for item in items {
                guard case .string(let text) = item else { return nil }
                texts.append(text)
            }
            return texts
        default: return nil
        }
    }

    /// Seconds since 1970, the form of times in claims (RFC 7519, section 2); `nil` for anything else, and for years
    /// after 9999.
    var numericDate: Double? {
        guard case .number(let digits) = self, let seconds = Double(digits), 0..<253_402_300_800 ~= seconds else {
            return nil
        }
        return seconds
    }
}

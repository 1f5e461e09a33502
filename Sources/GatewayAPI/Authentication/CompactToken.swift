import GatewayCore
import LibCrypto
import StrictJSON

/// A signed token in compact form (RFC 7515, section 7.1), taken apart and not yet believed.
struct CompactToken {
    /// The algorithm that the header claims.
    let algorithm: String
    /// Names the key that signed.
    let keyID: String?
    /// The claims. They prove nothing before the signature is checked.
    let payload: JSONValue
    /// What is signed: header and payload as they were sent, with the dot between.
    let signedBytes: ArraySlice<UInt8>
    /// The signature.
    let signature: [UInt8]

    /// Takes a token apart; `nil` where it is not exactly of the form, or asks for more than is understood here.
    ///
    /// Parameters that point to keys (`jku`, `jwk`, `x5u`, `x5c`) are not looked at.
    init?(_ text: [UInt8]) {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]), !signature.isEmpty,
            let header = Self.object(in: parts[0]), let payload = Self.object(in: parts[1])
        else { return nil }
        // An extension that must be understood is not; an unencoded payload (RFC 7797) would be read another way.
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

    /// Tokens of other types, for example to log somebody out, may be signed with the same key.
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
    /// The member of exactly this name; `nil` where there is none, or where this is not an object.
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { ExactText($0.name) == ExactText(name) }?.value
    }

    /// The value of a claim; `nil` where it is absent or null.
    ///
    /// - Parameter path: A member's whole name or, where there is none, names with dots between that lead into objects.
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

    /// Seconds since 1970, as claims tell times (RFC 7519, section 2); `nil` for anything else, and for years past
    /// 9999.
    var numericDate: Double? {
        guard case .number(let digits) = self, let seconds = Double(digits), 0..<253_402_300_800 ~= seconds else {
            return nil
        }
        return seconds
    }
}

/// The key file of a service account of Google Cloud: who signs, and the private key.
public struct ServiceAccount: Sendable {
    /// The e-mail address as access key id, and the private key in PEM as secret.
    public let credential: SigningCredential

    /// Reads the JSON that Google issues, an object of strings.
    ///
    /// The private key itself is parsed when a signing key is made from it.
    ///
    /// - Throws: ``SigningError/invalidPrivateKey(_:)`` for any other JSON, and for the key files of other kinds of
    ///   accounts.
    public init(json: String) throws(SigningError) {
        var reader = StringObjectReader(json)
        guard let fields = reader.read() else {
            throw .invalidPrivateKey("the key file is not a JSON object of strings")
        }
        guard fields["type"] == "service_account" else {
            throw .invalidPrivateKey("the key file is not of type service_account")
        }
        guard let email = fields["client_email"], let privateKey = fields["private_key"] else {
            throw .invalidPrivateKey("the key file lacks client_email or private_key")
        }
        credential = SigningCredential(accessKeyID: email, secretAccessKey: privateKey)
    }
}

/// Reads JSON that is one object whose values are all strings (RFC 8259).
private struct StringObjectReader {
    private var rest: Substring.UnicodeScalarView

    init(_ text: String) {
        rest = Substring(text).unicodeScalars
    }

    /// The members of the object; `nil` for anything else, and when a name occurs twice.
    mutating func read() -> [String: String]? {
        var members: [String: String] = [:]
        guard take("{") else { return nil }
        if !take("}") {
            repeat {
                guard let name = string(), take(":"), let value = string(),
                    members.updateValue(value, forKey: name) == nil
                else { return nil }
            } while take(",")
            guard take("}") else { return nil }
        }
        skipBlanks()
        return rest.isEmpty ? members : nil
    }

    private mutating func skipBlanks() {
        rest = rest.drop { " \t\n\r".unicodeScalars.contains($0) }
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard rest.first == scalar else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func string() -> String? {
        guard take("\"") else { return nil }
        var units: [UInt16] = []
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\"": return String(validating: units, as: UTF16.self)
            case "\\":
                guard let unit = escape() else { return nil }
                units.append(unit)
            case "\u{0}"..<" ": return nil
            default: units += UTF16.encode(scalar).map(Array.init) ?? []
            }
        }
        return nil
    }

    private mutating func escape() -> UInt16? {
        switch rest.popFirst() {
        case "\"": return 0x22
        case "\\": return 0x5C
        case "/": return 0x2F
        case "b": return 0x08
        case "f": return 0x0C
        case "n": return 0x0A
        case "r": return 0x0D
        case "t": return 0x09
        case "u":
            let digits = rest.prefix(4)
            rest = rest.dropFirst(4)
            guard digits.count == 4, digits.allSatisfy(\.properties.isASCIIHexDigit) else { return nil }
            return UInt16(String(digits), radix: 16)
        default: return nil
        }
    }
}

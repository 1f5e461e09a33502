import StrictJSON

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
        guard let fields = try? JSONReader.read(Array(json.utf8), allowsNUL: true).textMembers else {
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

extension JSONValue {
    /// The members of an object whose values are all strings; `nil` for anything else.
    fileprivate var textMembers: [String: String]? {
        guard case .object(let members) = self else { return nil }
        var texts: [String: String] = [:]
        for member in members {
            guard case .string(let text) = member.value else { return nil }
            texts[member.name] = text
        }
        return texts
    }
}

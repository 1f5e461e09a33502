/// How headers are written in a canonical request, as far as the vendors differ.
struct CanonicalHeaderForm: Sendable {
    /// Header whose value, if it is bound, represents the body.
    let payloadHeader: String
    /// Whether white space inside a value becomes one space.
    let collapsesWhiteSpace: Bool
    /// Prefix of the headers that are not listed, because the store binds them whenever they are sent. The type and the
    /// MD5 are then not listed either. `nil` if all headers are listed.
    let unlistedPrefix: String?

    /// Whether a name, in lower case, is listed beside the signature.
    func lists(_ name: String) -> Bool {
        guard let unlistedPrefix else { return true }
        return !(name.utf8.starts(with: unlistedPrefix.utf8) || name == "content-type" || name == "content-md5")
    }
}

/// How headers stand in a canonical request: what differs between the vendors.
struct CanonicalHeaderForm: Sendable {
    /// Header whose value, when bound, stands for the body.
    let payloadHeader: String
    /// Whether white space inside a value becomes one space.
    let collapsesWhiteSpace: Bool
    /// What the names of headers begin with that are not listed, because the store binds them whenever they are sent, as it then
    /// does type and MD5; `nil` where all are listed.
    let unlistedPrefix: String?

    /// Whether a name, in lower case, is listed beside the signature.
    func lists(_ name: String) -> Bool {
        guard let unlistedPrefix else { return true }
        return !(name.utf8.starts(with: unlistedPrefix.utf8) || name == "content-type" || name == "content-md5")
    }
}

import JOSE

extension KeySet {
    /// Whether a text is a token that a key of the set signed.
    func accepts(_ text: [UInt8]) -> Bool {
        guard let token = CompactToken(text) else { return false }
        return keys(for: token).contains { $0.verifies(token.signature, of: token.signedBytes) }
    }
}

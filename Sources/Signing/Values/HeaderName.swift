import Bytes

/// Names of header fields.
enum HeaderName {
    /// The name in lower case.
    ///
    /// - Throws: ``SigningError/invalidHeaderName(_:)`` unless the name is a token (RFC 9110, section 5.6.2). Google's
    ///   conformance tests sign names with a slash too.
    static func lowerCased(_ name: String, allowingSlash: Bool = false) throws(SigningError) -> String {
        let allowed = allowingSlash ? tokenWithSlash : .token
        guard !name.isEmpty, name.utf8.allSatisfy(allowed.contains) else { throw .invalidHeaderName(name) }
        return name.lowercased()
    }

    private static let tokenWithSlash = ByteSet.token.union("/")
}

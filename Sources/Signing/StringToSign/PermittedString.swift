/// A string that has passed all rules and may be signed if grants permit it.
///
/// Only the rules can make a value of this type, so that no text of a client is signed unchecked.
public struct PermittedString: Sendable, Hashable {
    /// The kind of key that may sign it.
    public enum Scheme: Sendable, Hashable {
        /// A "version 2" key, in the dialect of a vendor.
        case version2(StoreVendor)
        /// The key of one scope, in the dialect of a vendor. `headerNames` are the listed headers, as the
        /// `Authorization` header states them.
        case version4(StoreVendor, scope: String, headerNames: String)
    }

    /// What the signature allows.
    public let permission: StringPermission
    /// The string, rewritten from its parsed parts.
    public let text: String

    /// The kind of key that may sign it.
    public let scheme: Scheme

    /// Signs the string with a key of its own "version 2" scheme.
    ///
    /// - Returns: Signature, and the value of the `Authorization` header that goes with it, `OSS id:signature`.
    /// - Throws: ``SigningError/keyOfAnotherScheme``.
    public func sign(with key: SigningKeyV2) throws(SigningError) -> (signature: String, authorization: String) {
        guard case .version2(let vendor) = scheme else { throw .keyOfAnotherScheme }
        let dialect = vendor.version2
        let signature = try key.signature(of: Array(text.utf8), dialect: dialect)
        return (signature, try key.authorization(signature, dialect: dialect))
    }

    /// Signs the string with a key of its own "version 4" scheme and scope.
    ///
    /// - Returns: Signature in lower-case hexadecimal.
    /// - Throws: ``SigningError/keyOfAnotherScheme``.
    public func sign(with key: SigningKeyV4) throws(SigningError) -> String {
        guard case .version4(_, let scope, _) = scheme, key.scope == scope else { throw .keyOfAnotherScheme }
        return try key.signer.signature(of: text.utf8Span.span).hex
    }

    /// Signs the string of a request to Amazon S3 or a compatible store with a key of its own scope.
    ///
    /// - Returns: The signature, and the value of the `Authorization` header that goes with it.
    /// - Throws: ``SigningError/keyOfAnotherScheme``.
    public func authorization(
        with key: SigningKeyV4
    ) throws(SigningError) -> (signature: String, authorization: String) {
        guard case .version4(.amazon, _, let names) = scheme else { throw .keyOfAnotherScheme }
        let signature = try sign(with: key)
        return (
            signature,
            "\(key.dialect.algorithm) Credential=\(key.credentialText), SignedHeaders=\(names), Signature=\(signature)"
        )
    }
}

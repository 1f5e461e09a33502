import Bytes

/// A "version 4" signature of the policy of a browser form.
enum V4PostSigning {
    /// Writes the form's policy and signs it.
    ///
    /// - Throws: ``SigningError`` for a form that the scheme cannot express.
    static func sign(
        _ form: PostForm, vendor: StoreVendor, key: SigningKeyV4, instant: SigningInstant
    ) throws(SigningError) -> SignedPostForm {
        let policy = try form.policy(
            signerFields: signerFields(key: key, instant: instant), at: instant, life: V4Dialect.expiryRange,
            lists: key.dialect.hasListConditions
        )
        let json = policy.json(expiration: key.dialect.expirationForm)
        return try sign(checked: Base64.encode(Array(json.utf8)), for: form, vendor: vendor, key: key, instant: instant)
    }

    /// Signs a policy in base64 unchanged. Its content is not checked, but anything other than base64 is refused, so
    /// that the signature serves no other purpose.
    ///
    /// - Throws: ``SigningError``.
    static func sign(
        _ policyBase64: String, for form: PostForm, vendor: StoreVendor, key: SigningKeyV4, instant: SigningInstant
    ) throws(SigningError) -> SignedPostForm {
        guard !policyBase64.isEmpty, Base64.decode(policyBase64) != nil else { throw .invalidPolicy }
        return try sign(checked: policyBase64, for: form, vendor: vendor, key: key, instant: instant)
    }

    private static func sign(
        checked policyBase64: String, for form: PostForm, vendor: StoreVendor, key: SigningKeyV4,
        instant: SigningInstant
    ) throws(SigningError) -> SignedPostForm {
        try key.check(vendor: vendor, at: instant)
        let signature = try key.signer.signature(of: policyBase64.utf8Span.span).hex
        let fields = try form.fields(
            followedBy: signerFields(key: key, instant: instant) + [
                NamedValue("policy", policyBase64),
                NamedValue(key.dialect.parameters.signature.lowercased(), signature),
            ]
        )
        return SignedPostForm(
            url: "\(form.address.origin)\(form.address.path)/", path: "\(form.address.path)/", fields: fields,
            policyBase64: policyBase64,
            signature: signature
        )
    }

    /// The fields that the policy must name.
    private static func signerFields(key: SigningKeyV4, instant: SigningInstant) -> [NamedValue] {
        let names = key.dialect.parameters
        var fields = [
            NamedValue(names.algorithm.lowercased(), key.dialect.algorithm),
            NamedValue(names.credential.lowercased(), key.credentialText),
            NamedValue(names.date.lowercased(), instant.basic),
        ]
        if let name = names.securityToken, let token = key.securityToken {
            fields.append(NamedValue(name.lowercased(), token))
        }
        return fields
    }
}

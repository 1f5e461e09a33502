import LibCrypto
import Signing

extension StoreVerifier {
    /// Verifies the signature of a form, which signs the text of its policy.
    ///
    /// - Parameter fields: The fields before the file, names in lower case.
    /// - Throws: ``StoreError``; a form without a signature is refused as anonymous.
    func verify(form fields: [String: String], at now: SigningInstant) throws(StoreError) -> VerifiedCaller {
        guard let policy = fields["policy"] else { throw .accessDenied }
        if fields["x-amz-signature"] != nil || fields["x-oss-signature"] != nil {
            return try verifyV4(fields, policy, at: now)
        }
        guard let signature = fields["signature"] else { throw .accessDenied }
        let scheme: StoreScheme = fields["ossaccesskeyid"] != nil ? .ossV1 : .awsV2
        guard let id = fields[scheme == .ossV1 ? "ossaccesskeyid" : "awsaccesskeyid"] else { throw .accessDenied }
        let key = try keys.key(id, token: fields[scheme.dialect.headerPrefix + "security-token"], at: now)
        let expected = V2Signature.authenticate(policy, key.secret)
        guard constantTimeEqual(Array(expected.utf8), Array(signature.utf8)) else { throw .signatureMismatch }
        return VerifiedCaller(scheme: scheme, session: key.session)
    }

    private func verifyV4(
        _ fields: [String: String], _ policy: String, at now: SigningInstant
    ) throws(StoreError) -> VerifiedCaller {
        let scheme: StoreScheme = fields["x-oss-signature"] != nil ? .ossV4 : .awsV4
        let rules = rules(of: scheme.dialect)
        func field(_ name: String) throws(StoreError) -> String {
            guard let value = fields[rules.headerPrefix + name] else {
                throw .invalidArgument("The form lacks the field \(rules.headerPrefix)\(name).")
            }
            return value
        }
        guard try field(scheme == .awsV4 ? "algorithm" : "signature-version") == rules.algorithm else {
            throw .invalidArgument("The algorithm is not \(rules.algorithm).")
        }
        guard let (id, scope) = V4Claim.credential(try field("credential")),
            let date = SigningInstant(basic: try field("date"))
        else { throw .invalidArgument("The credential or the date of the form is malformed.") }
        try Self.check(scope: scope, day: date.day, isPresigned: true, rules)
        let key = try keys.key(id, token: fields[rules.headerPrefix + "security-token"], at: now)
        let expected = V4Signature(rules: rules).expected(for: policy, on: date, secret: key.secret)
        guard constantTimeEqual(Array(expected.utf8), Array(try field("signature").utf8)) else {
            throw .signatureMismatch
        }
        return VerifiedCaller(scheme: scheme, session: key.session)
    }
}

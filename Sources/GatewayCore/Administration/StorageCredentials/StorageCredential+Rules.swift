import Bytes
import LibCrypto

extension StorageCredential: ValidatedRow {
    /// Validates a credential before it is created.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated() throws(GatewayError) -> StorageCredential {
        try require(name.isLine(1...128), "name", "The name must be one line of 1 to 128 bytes.")
        switch kind {
        case .accessKey: try checkAccessKey()
        case .serviceAccount: try checkServiceAccount()
        case .keyPair: try checkKeyPair()
        }
        try require(
            sessionToken?.reveal().consists(of: .visible, count: 1...8192) ?? true, "sessionToken",
            "The session token must be 1 to 8,192 visible ASCII characters."
        )
        try require(
            expiresAt == nil || sessionToken != nil, "expiresAt", "Only credentials with a session token can expire."
        )
        try require(
            sessionRole == nil || kind == .accessKey, "sessionRole",
            "Only an access key can have a session role."
        )
        var credential = self
        credential.sessionRole = try sessionRole?.validated()
        return credential
    }

    private func checkAccessKey() throws(GatewayError) {
        // A slash would end the access key id within the credential scope.
        try require(
            accessKeyID.consists(of: .visible, count: 1...128) && !accessKeyID.utf8.contains(UInt8(ascii: "/")),
            "accessKeyID",
            "The access key must be 1 to 128 visible ASCII characters without '/'."
        )
        try require(
            secretAccessKey.reveal().consists(of: .visible, count: 1...1024), "secretAccessKey",
            "The secret must be 1 to 1,024 visible ASCII characters."
        )
    }

    private func checkServiceAccount() throws(GatewayError) {
        try require(
            accessKeyID.consists(of: .visible, count: 3...254)
                && accessKeyID.utf8.count { $0 == UInt8(ascii: "@") } == 1
                && !accessKeyID.utf8.contains(where: "/:".utf8.contains),
            "serviceAccount.client_email", "The value must be the e-mail address of a service account."
        )
        try checkPrivateKey("serviceAccount.private_key")
        try require(sessionToken == nil, "sessionToken", "A service account has no session token.")
    }

    private func checkKeyPair() throws(GatewayError) {
        try require(
            accessKeyID.consists(of: .alphanumeric, count: 1...64), "keyPair.id",
            "The identifier of the public key must be 1 to 64 letters and digits, for example, 'K2JCJMDEHXQW5F'."
        )
        try checkPrivateKey("keyPair.privateKey")
        try require(sessionToken == nil, "sessionToken", "A key pair has no session token.")
    }

    private func checkPrivateKey(_ field: String) throws(GatewayError) {
        let pem = secretAccessKey.reveal()
        try require(
            pem.utf8.count <= 16_384 && (try? RSAPrivateKey(pem: pem)) != nil, field,
            "The value must be an RSA key of at least 2,048 bits in PEM, without a password."
        )
    }
}

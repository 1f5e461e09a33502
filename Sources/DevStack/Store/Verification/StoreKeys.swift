import Bytes
import Signing

/// The access keys that the store accepts: its own, and those of sessions.
struct StoreKeys: Sendable {
    let credential: SigningCredential
    let tokens: SessionTokens

    /// Prepares the keys of a store with one credential.
    init(_ credential: SigningCredential) {
        self.credential = credential
        tokens = SessionTokens(secret: credential.secretAccessKey)
    }

    /// Finds the secret of an access key, and the session that it belongs to.
    ///
    /// - Throws: ``StoreError`` for an unknown key, and for a token that is missing, forged, of another key or ended.
    func key(
        _ accessKeyID: String, token: String?, at now: SigningInstant
    ) throws(StoreError) -> (secret: String, session: StoreSession?) {
        if accessKeyID.isSameBytes(as: credential.accessKeyID) {
            guard (token ?? "").isSameBytes(as: credential.securityToken ?? "") else { throw .invalidToken }
            return (credential.secretAccessKey, nil)
        }
        guard let token else { throw .invalidAccessKey }
        guard let session = tokens.session(of: token), session.accessKeyID.isSameBytes(as: accessKeyID) else {
            throw .invalidToken
        }
        guard now.epochSeconds < session.end else { throw .expiredToken }
        return (tokens.secret(of: token), session)
    }
}

import Foundation
import GatewayCore
import LibCrypto

/// Lets a credential sign for another endpoint only where somebody shows its secret: whoever may change rows could otherwise
/// have requests signed with it sent to a host of their own.
///
/// Shown it is also by a bucket at that endpoint that the credential signs for already, and, as long as the credential has signed
/// for no bucket, by the one admin who entered it.
struct EndpointChange: Sendable {
    let credentials: any AdminStore<StorageCredential>
    let dependency: any CredentialDependency

    /// Takes `secretAccessKey` and compares it where the credential comes to sign for an endpoint.
    @Sendable func confirm(_ change: RowChange<Bucket>, _ body: inout JSONObject) async throws {
        let secret = try body.string("secretAccessKey")
        let (old, new) = (change.old, change.new)
        if let old, old.endpoint == new.endpoint, old.credentialID == new.credentialID { return }
        do throws(GatewayError) {
            if let secret {
                let known = try await credentials.get(new.credentialID.lowercaseText).secretAccessKey
                guard constantTimeEqual(Array(secret.utf8), Array(known.reveal().utf8)) else {
                    throw body.invalid("secretAccessKey", "This is not the secret of the credential.")
                }
                return
            }
            let use = try await dependency.use(of: new.credentialID, at: new.endpoint)
            guard use.signsForEndpoint || use.soleMaker == change.caller.principal else {
                throw body.invalid(
                    "secretAccessKey", "The credential does not sign for this endpoint yet: its secret is needed.")
            }
        } catch {
            guard case .notFound = error else { throw error }
            // A new row without its credential is refused by whoever keeps the rows.
            if old != nil { throw GatewayError.conflict(reason: "The credential does not exist.") }
        }
    }
}

import GatewayCore
import LibCrypto

/// Lets a bucket move to another endpoint only for those who know its credential's secret: whoever may change rows could
/// otherwise have requests signed with it sent to a host of their own.
struct EndpointChange: Sendable {
    let credentials: any AdminStore<StorageCredential>

    /// Takes `secretAccessKey` and compares it where the endpoint changes.
    @Sendable func confirm(_ change: RowChange<Bucket>, _ body: inout JSONObject) async throws {
        let secret = try body.string("secretAccessKey")
        guard change.new.endpoint != change.old.endpoint else { return }
        let known = try await secretAccessKey(of: change.new)
        guard let secret else {
            throw body.invalid("secretAccessKey", "A new endpoint needs the secret of the credential again.")
        }
        guard constantTimeEqual(Array(secret.utf8), Array(known.reveal().utf8)) else {
            throw body.invalid("secretAccessKey", "This is not the secret of the credential.")
        }
    }

    private func secretAccessKey(of bucket: Bucket) async throws(GatewayError) -> Secret<String> {
        do throws(GatewayError) {
            return try await credentials.get(bucket.credentialID.lowercaseText).secretAccessKey
        } catch .notFound {
            throw .conflict(reason: "The credential does not exist.")
        }
    }
}

/// Deletes objects.
public struct ObjectDeletion: Sendable {
    private let client: GatewayClient
    private let transfer: LinkTransfer

    /// Prepares deletions.
    public init(client: GatewayClient, stop: StopFlag) {
        self.client = client
        transfer = LinkTransfer(timeout: client.timeout, stop: stop, meter: TransferMeter())
    }

    /// Deletes an object. An object that does not exist counts as deleted.
    ///
    /// - Returns: What identifies the issuance in the ledger.
    public func delete(_ address: ObjectAddress) async throws(ClientFailure) -> String {
        try await client.use(LinkRequest(deleting: address)) { (link) async throws(ClientFailure) -> String in
            do throws(ClientFailure) {
                _ = try await transfer.answer(to: link)
            } catch {
                // Most stores answer 204 in either case. Google Cloud Storage says that there is no object.
                guard case .store(let refusal, _) = error, refusal.status == 404, refusal.code == "NoSuchKey" else {
                    throw error
                }
            }
            return link.id
        }
    }
}

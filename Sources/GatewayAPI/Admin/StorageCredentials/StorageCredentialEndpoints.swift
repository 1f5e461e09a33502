import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/admin/v1/storage-credentials`: the rows, and the rows that depend on each.
struct StorageCredentialEndpoints: Sendable {
    let rows: AdminEndpoints<StorageCredential>
    let dependency: any CredentialDependency

    /// `GET /admin/v1/storage-credentials/{id}/dependents`: what would stop working without the credential, and without
    /// its former key.
    @Sendable func dependents(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let id = try request.rowID(of: .storageCredential)
        let credential = try await rows.store.get(id.lowercaseText).row
        let found = try await dependency.dependents(of: id)
        return .json(.ok) { json in
            json.member("accessKeyID", credential.accessKeyID)
            json.member("buckets", found.buckets.map(\.rawValue))
            json.object("alive") { found.alive.write(to: &$0) }
            guard let previous = credential.previousKey, let former = found.aliveOfPreviousKey else { return }
            json.object("previousKey") { json in
                json.member("accessKeyID", previous.accessKeyID)
                json.member("removableAt", previous.neededUntil)
                json.object("alive") { former.write(to: &$0) }
                json.member("isRemovable", former.count == 0)
            }
        }
    }
}

extension CredentialDependents.Alive {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("count", count)
        json.member("lastExpiresAt", until)
    }
}

import GatewayCore
import HTTPServing
import HTTPTypes

/// `/admin/v1/uploads`.
extension UploadEndpoints {
    /// Asks the store whether an upload of any user arrived.
    @Sendable func adminConfirm(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        try request.jsonObjectIfAny().end()
        let upload = try await useCase.confirm(request.rowID(of: .issuance))
        return .json(.ok) { upload.writeForAdmins(to: &$0) }
    }

    /// Lists uploads and their known state, newest first.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["state", "bucket", "principal", "from", "to", "pageSize", "pageToken"])
        let page = try request.listQuery([:], for: caller)
        let query = UploadQuery(
            state: try request.word("state", UploadState.self),
            bucket: try request.parsed("bucket") { text throws(GatewayError) in try BucketName(text) },
            principal: try request.parsed("principal") { text throws(GatewayError) in try Principal(text) },
            from: try request.instant("from"), to: try request.instant("to"), pageSize: page.pageSize,
            pageToken: page.pageToken, reach: page.reach)
        let found = try await useCase.list(query)
        return .json(.ok, capacity: 512 * (found.items.count + 1)) { json in
            found.write(to: &json) { $0.writeForAdmins(to: &$1) }
        }
    }
}

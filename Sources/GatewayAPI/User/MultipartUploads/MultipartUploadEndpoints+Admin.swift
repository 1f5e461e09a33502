import GatewayCore
import HTTPServing
import HTTPTypes

/// `/admin/v1/multipart-uploads`.
extension MultipartUploadEndpoints {
    /// Lists the uploads of all users.
    @Sendable func adminList(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let filters = try request.listFilters([.text("state"), .text("bucket"), .principal("principal")])
        let page = try await useCase.list(request.listQuery(filters, for: caller))
        return .json(.ok) { json in page.write(to: &json) { $0.writeForAdmins(to: &$1) } }
    }

    /// Shows an upload of any user.
    @Sendable func adminGet(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let upload = try await useCase.upload(request.rowID(of: .multipartUpload))
        return .json(.ok) { upload.writeForAdmins(to: &$0) }
    }

    /// Aborts an upload of any user.
    @Sendable func adminAbort(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        try await useCase.abort(request.rowID(of: .multipartUpload), by: caller.change(in: request))
        return .noContent
    }
}

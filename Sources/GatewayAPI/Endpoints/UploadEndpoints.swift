import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/v1/issuances/{id}:confirm` and `/admin/v1/uploads`.
struct UploadEndpoints: Sendable {
    let useCase: UploadConfirmation

    /// Has the store asked what became of an upload of the caller.
    @Sendable func confirm(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        try request.jsonObjectIfAny().end()
        let upload = try await useCase.confirm(id(in: request), by: caller)
        return .json(.ok) { upload.write(to: &$0) }
    }

    /// Has the store asked what became of anybody's upload.
    @Sendable func adminConfirm(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        try request.jsonObjectIfAny().end()
        let upload = try await useCase.confirm(id(in: request))
        return .json(.ok) { upload.writeForAdmins(to: &$0) }
    }

    /// Lists uploads with what is known of them, the newest first.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["state", "bucket", "principal", "from", "to", "pageSize", "pageToken"])
        let page = try request.listQuery([:])
        let query = UploadQuery(
            state: try request.word("state", UploadState.self),
            bucket: try request.parsed("bucket") { text throws(GatewayError) in try BucketName(text) },
            principal: try request.parsed("principal") { text throws(GatewayError) in try Principal(text) },
            from: try request.instant("from"), to: try request.instant("to"), pageSize: page.pageSize,
            pageToken: page.pageToken)
        let found = try await useCase.list(query)
        return .json(.ok, capacity: 512 * (found.items.count + 1)) { json in
            found.write(to: &json) { $0.writeForAdmins(to: &$1) }
        }
    }

    private func id(in request: APIRequest) throws(GatewayError) -> UUID {
        guard let id = UUID(uuidString: request.parameter(0)) else { throw .notFound(.issuance) }
        return id
    }
}

extension ListedUpload {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", record.id)
        json.member("bucket", record.bucket)
        json.member("key", record.key)
        json.member("state", state.rawValue)
        if let finding, finding.kind != .absent {
            if !finding.mismatches.isEmpty { json.member("mismatches", finding.mismatches.map(\.rawValue)) }
            if let size = finding.size { json.member("size", size) }
            json.member("etag", finding.etag)
            json.member("contentType", finding.contentType)
        }
        json.member("source", finding?.source.rawValue)
        json.member("foundAt", finding?.foundAt)
        json.member("issuedAt", record.issuedAt)
        json.member("expiresAt", record.expiresAt)
    }

    fileprivate func writeForAdmins(to json: inout JSONWriter) {
        write(to: &json)
        json.member("principal", record.principal)
        json.member("delivery", record.delivery)
    }
}

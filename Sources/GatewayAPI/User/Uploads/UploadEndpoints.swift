import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes

/// `/v1/issuances/{id}:confirm` and `/admin/v1/uploads`.
struct UploadEndpoints: Sendable {
    let useCase: UploadConfirmation

    /// Asks the store whether one of the caller's uploads arrived.
    @Sendable func confirm(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        try request.jsonObjectIfAny().end()
        let upload = try await useCase.confirm(request.rowID(of: .issuance), by: caller)
        return .json(.ok) { upload.write(to: &$0) }
    }
}
